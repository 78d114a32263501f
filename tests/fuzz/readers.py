"""Each kind of stored file: a whole one, and how the package reads it back."""

import argparse
import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

import autoloader
from autoloader.cli import build_parser
from autoloader.commands.repeating import flags_again
from autoloader.commands.study_file import flags_of
from autoloader.errors import StoredFileError
from autoloader.export.baseline import read_baseline, read_request
from autoloader.export.config_file import settings_text
from autoloader.export.contract_file import read_contract, write_contract
from autoloader.export.history import add_night, history_of, history_path
from autoloader.export.origin import fingerprint_of
from autoloader.export.recommendation import Recommendation, load
from autoloader.search.folder import StudyFolder, StudyKey, StudyState
from autoloader.search.record import Record
from autoloader.search.space import Space, SpaceRequest
from autoloader.values.config import LoaderConfig
from autoloader.values.contract import Rules
from autoloader.values.gate import GatePolicy
from autoloader.values.machine import Accelerator
from autoloader.values.scope import ScopeRequest, SourceSpec
from tests.export.test_baseline import a_file
from tests.export.test_history import NIGHT
from tests.fakes import a_machine, a_scope
from tests.fuzz.spoiling import as_json, as_json_lines, as_yaml
from tests.report.fakes import FACTS, crashed, measured, reading, refused
from tests.whole_contract import CONTRACT as WHOLE

TWO = LoaderConfig.canonical(num_workers=2, batch_size=8, persistent_workers=True)

TUNE: argparse.ArgumentParser = (
    build_parser().parse_args(["tune", "--dataset", "x:y"]).parser
)

CONTRACT = replace(WHOLE, rules=Rules(shapes="free", incomplete="allow", filtered=True))

GPU = Accelerator(name="Test GPU", kind="cuda", memory_bytes=2**34, driver="1.2")

RECOMMENDATION: dict[str, Any] = {
    "schema": 1,
    "dataset": "mypackage.data:train_set",
    "dataloader": TWO.dataloader_kwargs(),
    "target": {"examples_per_s": 2000.0, "met": True, "ranks": 1},
    "measured": {
        "epoch_rate": {"low": 1987.6, "high": 2.5e-07},
        "readings": [1.0, 2.0],
    },
    "machine": {**a_machine().to_dict(), "accelerators": [GPU.to_dict()]},
    "study": {"name": "train-12"},
}

STUDY_FILE: dict[str, Any] = {
    "dataset": "data.py:photos",
    "batch-size": [32, 64],
    "num-workers": "0:16",
    "best-effort": True,
    "fresh": False,
    "arg": {"root": "/data", "size": 8, "names": ["a", "b"]},
    "unit": {"tokens": "data.py:count"},
    "on-epoch": "data.py:begin",
    "allow": ["missing_ids"],
    "target": "95%",
    "budget": "3m",
    "memory": "8GiB",
    "seed": 3,
    "order": "as-is",
    "examples": "all",
    "pin-memory": "search",
    "label": "1",
    "hang-after": 30,
}

STATE = StudyState(
    finished=False,
    spent_s=12.5,
    scope=a_scope(),
    facts=FACTS,
    space=Space(
        num_workers=(0, 2),
        prefetch_factor=(2,),
        pin_memory=(False,),
        persistent_workers=(False, True),
        batch_size=(32, None),
    ),
    memory_bytes=2**32,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One kind of stored file."""

    file: str
    """Its name."""
    write: Callable[[Any], bytes]
    """How it is written down."""
    whole: Callable[[Path], Any]
    """What the package wrote into a file in this folder, as plain values."""
    read: Callable[[Path], object]
    """Reads the file back, and uses what it says."""


def _contract(folder: Path) -> Any:
    path = folder / "whole.yaml"
    write_contract(path, CONTRACT, dataset="mypackage.data:train_set", replace=True)
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _recommendation(folder: Path) -> Any:
    path = folder / "whole.yaml"
    Recommendation(RECOMMENDATION).write(path)
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _use_recommendation(path: Path) -> object:
    found = load(path)
    return found.config, found.settings, found.is_met


def _use_config(path: Path) -> object:
    return LoaderConfig.parse(settings_text(str(path)), batch_size=8)


def _use_study_file(path: Path) -> object:
    return TUNE.parse_args(flags_of(path, TUNE))


def _outcomes(folder: Path) -> Any:
    within = folder / "whole"
    with Record(within) as record:
        record.begin_anew()
        record.add(measured(0, TWO, [100.0]))
        record.add(refused(1, TWO))
        record.add(crashed(2, TWO, "a worker left"))
        record.add_reading(0, reading(110.0, "race"))
    lines = (within / "outcomes.jsonl").read_bytes().splitlines()
    return [json.loads(line) for line in lines]


def _use_outcomes(path: Path) -> object:
    return autoloader.readings(path)


def _use_record(path: Path) -> object:
    with Record(path.parent) as record:
        return record.outcomes


def _study(folder: Path) -> StudyFolder:
    key = StudyKey.of(
        source=SourceSpec(spec="data.py:photos"),
        scope=ScopeRequest(contract=CONTRACT),
        space=SpaceRequest(num_workers=(0, 16)),
        machine=a_machine(),
        ranks=1,
        isolation="auto",
        policy=GatePolicy(),
        memory_bytes=2**33,
    )
    return StudyFolder(folder, key)


def _state(folder: Path) -> Any:
    study = _study(folder)
    study.make()
    study.write(STATE)
    return json.loads((study.path / "study.json").read_bytes())


def _use_state(path: Path) -> object:
    study = _study(path.parent.parent)
    state, cautions = study.read(), study.cautions()
    if cautions:  # what a tune says before it begins anew; judged here as errors are
        raise StoredFileError(cautions[0][0])
    return state


def _nights(folder: Path) -> Any:
    file = folder / "autoloader.yaml"
    add_night(file, NIGHT)
    add_night(file, replace(NIGHT, verdict="undecided", rate=None, pace=None))
    lines = history_path(file).read_bytes().splitlines()
    history_path(file).unlink()
    return [json.loads(line) for line in lines]


def _use_baseline(path: Path) -> object:
    found = load(path)
    _, flags = read_request(found, path)
    baseline = read_baseline(found, path)
    fingerprint_of(found.data)
    return baseline, TUNE.parse_args(flags_again(flags, TUNE, path=path, given=()))


READERS = {
    "contract": Reader(
        file="contract.yaml", write=as_yaml, whole=_contract, read=read_contract
    ),
    "recommendation": Reader(
        file="autoloader.yaml",
        write=as_yaml,
        whole=_recommendation,
        read=_use_recommendation,
    ),
    "baseline": Reader(
        file="autoloader.yaml",
        write=as_yaml,
        whole=lambda _folder: json.loads(json.dumps(a_file().data)),
        read=_use_baseline,
    ),
    "history": Reader(
        file="autoloader.yaml.history.jsonl",
        write=as_json_lines,
        whole=_nights,
        read=history_of,
    ),
    "config": Reader(
        file="config.yaml",
        write=as_yaml,
        whole=lambda folder: {"dataloader": TWO.to_dict()},
        read=_use_config,
    ),
    "study file": Reader(
        file="study.yaml",
        write=as_yaml,
        whole=lambda folder: copy.deepcopy(STUDY_FILE),
        read=_use_study_file,
    ),
    "outcomes": Reader(
        file="outcomes.jsonl", write=as_json_lines, whole=_outcomes, read=_use_outcomes
    ),
    "record": Reader(
        file="outcomes.jsonl", write=as_json_lines, whole=_outcomes, read=_use_record
    ),
    "state": Reader(
        file=f"{_study(Path()).path.name}/study.json",
        write=as_json,
        whole=_state,
        read=_use_state,
    ),
}
"""All of them, by what they hold."""

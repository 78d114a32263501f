"""The file: settings that work as they stand, evidence that survives, nothing run."""

import dataclasses
import json
import os
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from torch.utils.data import BatchSampler, DataLoader, SequentialSampler, TensorDataset

from autoloader.errors import AutoloaderError, StoredFileError, UsageError
from autoloader.export.recommendation import (
    OtherMachineWarning,
    Recommendation,
    load,
)
from autoloader.measure import machine as machine_module
from autoloader.values.config import LoaderConfig
from autoloader.values.machine import Machine

GOLDEN = Path(__file__).with_name("autoloader.yaml")

DATASET = TensorDataset(torch.arange(10))

MACHINE = Machine(
    cpu_model="AMD EPYC 7B13",
    logical_cpus=4,
    affinity_cpus=4,
    quota_cpus=4 / 3,
    effective_cpus=4 / 3,
    memory_total_bytes=2**34,
    memory_limit_bytes=2**33,
    memory_available_bytes=2**32,
    shm_total_bytes=2**26,
    shm_free_bytes=2**26,
    open_files_limit=1024,
    accelerators=(),
    accelerator_note="the NVIDIA driver is not loaded",
    system="Linux x86_64",
    kernel="6.1.0",
    python="3.12.4",
)


def data(**sections: Any) -> dict[str, Any]:
    """Return the sections of a recommendation, some of them replaced."""
    whole = {
        "schema": 1,
        "dataset": "mypackage.data:train_set",
        "dataloader": {
            "batch_size": 4,
            "num_workers": 2,
            "pin_memory": False,
            "persistent_workers": True,
            "prefetch_factor": 2,
        },
        "target": {
            "examples_per_s": 2000.0,
            "share_of_best": None,
            "met": True,
            "ranks": 1,
        },
        "measured": {
            "epoch_rate": {"low": 1987.6543, "high": 2.5e-07, "median": 1234567.8},
            "readings": [2000.0, 2001.5, 1e22],
            "first_batch_s": 0.1,
        },
        "verified": {"fixed_fields": ["0", "1"], "random_fields": [], "label": "1"},
        "machine": MACHINE.to_dict(),
        "study": {"name": "größe: 3", "date": "2026-01-02T03:04:05+00:00"},
    }
    return {**whole, **sections}


def written(folder: Path, **sections: Any) -> Path:
    """Write a recommendation as YAML, checked by nobody."""
    path = folder / "autoloader.yaml"
    path.write_text(yaml.safe_dump(data(**sections)), encoding="utf-8")
    return path


def error_of(path: Path) -> AutoloaderError:
    """Return the error that loading ends in."""
    with pytest.raises(AutoloaderError) as caught:
        load(path)
    return caught.value


@pytest.fixture
def this_machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Make the machine of the recommendation the one that runs."""
    monkeypatch.setattr(machine_module, "read_machine", lambda: MACHINE)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    return MACHINE


def test_the_file_is_the_golden_one() -> None:
    """Settings first, one reading a line at most, floats of six digits."""
    text = Recommendation(data()).to_yaml()

    assert text == GOLDEN.read_text(encoding="utf-8")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """To six digits, which no reading is exact to."""
    path = tmp_path / "autoloader.yaml"
    before = Recommendation(data())

    before.write(path)
    after = load(path)

    assert after.settings == before.settings
    assert after.config == before.config
    assert after.data["study"] == before.data["study"]
    assert after.data["verified"] == before.data["verified"]
    assert after.data["measured"]["epoch_rate"] == {
        "low": 1987.65,
        "high": 2.5e-07,
        "median": 1234570.0,
    }
    assert after.data["measured"]["readings"] == [2000.0, 2001.5, 1e22]
    assert Machine.from_dict(after.data["machine"]).key == MACHINE.key


def test_the_settings_work_without_this_package(tmp_path: Path) -> None:
    """`DataLoader(dataset, **yaml["dataloader"])`, as the file's head says."""
    path = written(tmp_path)
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))["dataloader"]

    loader = DataLoader(DATASET, **settings)

    assert (loader.num_workers, loader.batch_size) == (2, 4)
    assert (loader.prefetch_factor, loader.persistent_workers) == (2, True)


def test_the_head_of_the_file_says_how_it_is_used() -> None:
    """Under its own name, however odd that is."""
    text = Recommendation(data()).to_yaml('my "best"\n.yaml')

    head = [line for line in text.splitlines() if line.startswith("#")]
    assert len(head) == 3
    assert text.splitlines()[3] == "schema: 1"
    assert 'autoloader.load("my \\"best\\"\\n.yaml").dataloader(dataset)' in head[2]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_never_written(value: float) -> None:
    """What was not measured is None."""
    recommendation = Recommendation(data(measured={"rate": value}))

    sentence = f"a recommendation holds finite numbers only, got {value}"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        recommendation.to_yaml()


@pytest.mark.usefixtures("this_machine")
def test_a_loader_is_built_with_the_settings(tmp_path: Path) -> None:
    """One call in a training script, without a warning on the same machine."""
    loader = load(written(tmp_path)).dataloader(DATASET)

    assert (loader.num_workers, loader.batch_size) == (2, 4)
    assert loader.persistent_workers


@pytest.mark.usefixtures("this_machine")
def test_further_arguments_are_handed_on(tmp_path: Path) -> None:
    """What the settings do not name is the script's."""
    loader = load(written(tmp_path)).dataloader(DATASET, shuffle=True, drop_last=True)

    assert loader.drop_last
    assert sum(len(batch) for (batch,) in loader) == 8


@pytest.mark.usefixtures("this_machine")
def test_no_workers_leave_out_what_needs_them(tmp_path: Path) -> None:
    """A script is debugged with `num_workers=0` and nothing else changed."""
    loader = load(written(tmp_path)).dataloader(
        DATASET, num_workers=0, timeout=30, multiprocessing_context="spawn"
    )

    assert sum(len(batch) for (batch,) in loader) == 10


@pytest.mark.usefixtures("this_machine")
def test_workers_can_be_asked_for_where_none_were_recommended(tmp_path: Path) -> None:
    """PyTorch's own prefetch_factor holds then."""
    path = written(tmp_path, dataloader={"num_workers": 0, "batch_size": 4})

    loader = load(path).dataloader(DATASET, num_workers=1)

    assert (loader.num_workers, loader.prefetch_factor) == (1, 2)


@pytest.mark.usefixtures("this_machine")
def test_a_batch_sampler_takes_the_place_of_the_batch_size(tmp_path: Path) -> None:
    """PyTorch refuses both together."""
    sampler = BatchSampler(SequentialSampler(DATASET), batch_size=5, drop_last=False)

    loader = load(written(tmp_path)).dataloader(
        DATASET, num_workers=0, batch_sampler=sampler
    )

    assert [len(batch) for (batch,) in loader] == [5, 5]


def test_a_loader_with_batches_of_its_own_is_read_back(tmp_path: Path) -> None:
    """Its file names no batch size, and there is none to check."""
    sampler = BatchSampler(SequentialSampler(DATASET), batch_size=5, drop_last=False)
    path = written(tmp_path, dataloader={"num_workers": 0, "pin_memory": False})

    recommendation = load(path)

    assert recommendation.config.batch_size is None
    assert "batch_size" not in recommendation.settings
    kwargs = recommendation.kwargs()
    loader = DataLoader(DATASET, batch_sampler=sampler, **kwargs)
    assert [len(batch) for (batch,) in loader] == [5, 5]


def test_settings_are_given_under_a_frameworks_keys(tmp_path: Path) -> None:
    """As `autoloader export` writes them."""
    recommendation = load(written(tmp_path))

    found = recommendation.kwargs("transformers")

    assert found == {
        "dataloader_num_workers": 2,
        "dataloader_prefetch_factor": 2,
        "dataloader_pin_memory": False,
        "dataloader_persistent_workers": True,
    }


def test_the_settings_are_the_callers_own(tmp_path: Path) -> None:
    """Changing them does not change the recommendation."""
    recommendation = load(written(tmp_path))

    recommendation.settings["num_workers"] = 99

    assert recommendation.settings["num_workers"] == 2
    assert recommendation.config == LoaderConfig(
        num_workers=2, prefetch_factor=2, persistent_workers=True, batch_size=4
    )


def test_a_file_without_a_batch_size_is_that_of_a_batch_sampler(tmp_path: Path) -> None:
    """Beside one, DataLoader takes none."""
    found = load(written(tmp_path, dataloader={"num_workers": 2}))

    assert found.config == LoaderConfig.canonical(num_workers=2, batch_size=None)
    assert found.settings == {"num_workers": 2}


@pytest.mark.parametrize("met", [True, False])
def test_whether_the_target_is_met_is_told(tmp_path: Path, met: bool) -> None:
    """A best effort is not taken for a success."""
    path = written(tmp_path, target={"met": met})

    assert load(path).is_met is met


def test_another_machine_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The warning names both kinds, the way out, and the caller's own line."""
    here = dataclasses.replace(MACHINE, cpu_model="Intel(R) Xeon(R) CPU")
    monkeypatch.setattr(machine_module, "read_machine", lambda: here)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    recommendation = load(written(tmp_path))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OtherMachineWarning)
        recommendation.dataloader(DATASET, num_workers=0)

    (warning,) = caught
    assert warning.category is OtherMachineWarning
    assert warning.filename == __file__
    assert str(warning.message) == (
        "the settings were measured on amd-epyc-7b13-1_33cpu-none, this machine is "
        "intel-xeon-1_33cpu-none; "
        "run `autoloader tune --dataset mypackage.data:train_set` here"
    )


@pytest.mark.usefixtures("this_machine")
@pytest.mark.parametrize(
    ("target", "ranks", "warns"),
    [
        ({"met": True, "ranks": 1}, "8", True),
        ({"met": True}, "8", True),
        ({"met": True, "ranks": 8}, "8", False),
        ({"met": True, "ranks": 1}, "1", False),
    ],
)
def test_another_number_of_ranks_is_warned_of(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    target: dict[str, Any],
    ranks: str,
    warns: bool,
) -> None:
    """Eight ranks share the CPUs that one was measured on."""
    monkeypatch.setitem(os.environ, "LOCAL_WORLD_SIZE", ranks)
    recommendation = load(written(tmp_path, target=target))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OtherMachineWarning)
        recommendation.dataloader(DATASET, num_workers=0)

    assert [str(item.message) for item in caught] == (
        [
            "the settings were measured for ranks=1, LOCAL_WORLD_SIZE is 8; run "
            "`autoloader tune --dataset mypackage.data:train_set --ranks 8`"
        ]
        if warns
        else []
    )


def test_a_live_object_is_tuned_again_by_the_api(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no SPEC that a command could take."""
    here = dataclasses.replace(MACHINE, cpu_model="Intel(R) Xeon(R) CPU")
    monkeypatch.setattr(machine_module, "read_machine", lambda: here)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
    recommendation = load(written(tmp_path, dataset="__main__.Photos object"))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OtherMachineWarning)
        recommendation.dataloader(DATASET, num_workers=0)

    elsewhere, ranks = (str(item.message) for item in caught)
    assert elsewhere.endswith("; run `autoloader.tune(dataset)` here")
    assert ranks.endswith("; run `autoloader.tune(dataset, ranks=8)`")


@pytest.mark.parametrize("name", ["none.yaml", ".", "file/none.yaml"])
def test_a_missing_file_is_wrong_use(tmp_path: Path, name: str) -> None:
    """The command that writes one is named."""
    (tmp_path / "file").touch()

    error = error_of(tmp_path / name)

    assert isinstance(error, UsageError)
    assert str(error) == f"there is no recommendation at {tmp_path / name}"
    assert error.hint == "`autoloader tune --dataset SPEC` writes one"


def test_a_file_that_cannot_be_read_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root reads every file, so that a stand-in refuses."""

    def refuse(*_arguments: object, **_keywords: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("autoloader.export.recommendation.read_text", refuse)

    error = error_of(tmp_path / "x.yaml")

    assert isinstance(error, StoredFileError)
    assert str(error) == f"{tmp_path / 'x.yaml'} cannot be read: Permission denied"


def test_a_file_of_bytes_is_damaged(tmp_path: Path) -> None:
    """It is no text."""
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xff\xfe\x00")

    error = error_of(path)

    assert isinstance(error, StoredFileError)
    why = "it is no UTF-8 text, invalid start byte at byte 0"
    assert str(error) == f"{path} cannot be read: {why}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [1, 2", "line 1: expected ',' or ']', but got"),
        ("- a\nb: 1", "line 2: expected <block end>, but found"),
        ("a: 2026-13-45", "line 1: '2026-13-45' is no timestamp"),
        ("[" * 5000, "line 1: values are nested more than 40 deep"),
        ("--- 1\n--- 2\n", "line 2: expected a single document in the stream"),
    ],
)
def test_what_is_no_yaml_is_damaged(tmp_path: Path, text: str, words: str) -> None:
    """The parser's first line says where."""
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")

    error = error_of(path)

    assert isinstance(error, StoredFileError)
    assert str(error).startswith(f"{path} is no YAML in {words}")


def test_nothing_in_a_file_is_ever_run(tmp_path: Path) -> None:
    """A tag that makes Python objects is refused with exit code 5."""
    made = tmp_path / "made"
    path = tmp_path / "x.yaml"
    path.write_text(
        f"schema: !!python/object/apply:os.mkdir ['{made}']\n", encoding="utf-8"
    )

    error = error_of(path)

    assert error.exit_code == 5
    assert str(error) == (
        f"{path} is no YAML in line 1: could not determine a constructor for the tag "
        "'tag:yaml.org,2002:python/object/apply:os.mkdir'"
    )
    assert not made.exists()


@pytest.mark.parametrize(
    ("text", "kind"), [("", "NoneType"), ("- 1\n", "list"), ("text", "str")]
)
def test_what_is_no_mapping_is_no_recommendation(
    tmp_path: Path, text: str, kind: str
) -> None:
    """Another program's file."""
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")

    assert str(error_of(path)) == (
        f"{path} is no recommendation: a mapping is needed, not {kind}"
    )


@pytest.mark.parametrize(
    "section", ["schema", "dataset", "dataloader", "target", "machine"]
)
def test_a_section_that_is_needed_is_named(tmp_path: Path, section: str) -> None:
    """What was cut off is said."""
    path = tmp_path / "x.yaml"
    left = {name: value for name, value in data().items() if name != section}
    path.write_text(json.dumps(left), encoding="utf-8")

    assert str(error_of(path)) == f"{path} is no recommendation: it lacks {section!r}"


@pytest.mark.parametrize("schema", [2, "1", None])
def test_another_schema_is_refused_before_all_else(
    tmp_path: Path, schema: object
) -> None:
    """A later version may have other sections."""
    path = tmp_path / "x.yaml"
    path.write_text(json.dumps({"schema": schema, "settings": {}}), encoding="utf-8")

    error = error_of(path)

    assert isinstance(error, StoredFileError)
    assert str(error) == f"{path} has schema {schema!r}, this version reads 1"
    assert error.hint == "upgrade the package, or tune again"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("measurred", "did you mean 'measured'?"), ("qqqq", None), (7, None)],
)
def test_an_unknown_section_is_refused_with_the_closest_one(
    tmp_path: Path, name: object, hint: str | None
) -> None:
    """A misspelt section is never ignored."""
    path = tmp_path / "x.yaml"
    sections: dict[Any, Any] = {**data(), name: {}}
    path.write_text(yaml.safe_dump(sections), encoding="utf-8")

    error = error_of(path)

    assert isinstance(error, StoredFileError)
    assert str(error) == f"{path} has an unknown section {name!r}"
    assert error.hint == hint


@pytest.mark.parametrize(
    ("settings", "words", "hint"),
    [
        (None, "dataloader must be a mapping, got NoneType", None),
        (
            {"num_workers": 2, "batch_size": 4, "num_worker": 2},
            "dataloader has no field 'num_worker'",
            "did you mean 'num_workers'?",
        ),
        ({"batch_size": 4}, "dataloader lacks the field 'num_workers'", None),
        (
            {"num_workers": "two", "batch_size": 4},
            "dataloader.num_workers must be int, got 'two'",
            None,
        ),
        (
            {"num_workers": 0, "batch_size": 4, "prefetch_factor": 2},
            "dataloader cannot be used: prefetch_factor needs num_workers of at "
            "least 1, got prefetch_factor=2 with num_workers=0",
            None,
        ),
        (
            {"num_workers": 1, "batch_size": 4, "prefetch_factor": 0},
            "dataloader cannot be used: prefetch_factor must be a whole number of "
            "at least 1, got 0",
            None,
        ),
        (
            {"num_workers": 1, "batch_size": 4, "pin_memory": "no"},
            "dataloader.pin_memory must be bool, got 'no'",
            None,
        ),
    ],
)
def test_settings_that_dataloader_would_refuse_are_damaged(
    tmp_path: Path, settings: object, words: str, hint: str | None
) -> None:
    """Before a training script is started with them."""
    path = written(tmp_path, dataloader=settings)

    error = error_of(path)

    assert isinstance(error, StoredFileError)
    assert str(error) == f"{path}: {words}"
    assert error.hint == hint


@pytest.mark.parametrize("settings", [{}, {"prefetch_factor": None}])
def test_workers_without_a_prefetch_factor_have_pytorchs(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    """Whoever edits the file need not name it."""
    path = written(tmp_path, dataloader={"num_workers": 1, "batch_size": 4, **settings})

    assert load(path).config.prefetch_factor == 2


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (None, "target must say whether it is met, yes or no"),
        ({}, "target must say whether it is met, yes or no"),
        ({"met": "yes, surely"}, "target.met must be true or false, got 'yes, surely'"),
    ],
)
def test_a_target_that_does_not_say_whether_it_is_met_is_damaged(
    tmp_path: Path, target: object, words: str
) -> None:
    """Nothing is taken for met by default."""
    path = written(tmp_path, target=target)

    error = error_of(path)

    assert isinstance(error, StoredFileError)
    assert str(error) == f"{path}: {words}"


def test_a_machine_that_cannot_be_read_is_damaged(tmp_path: Path) -> None:
    """Whether it is this one could not be told."""
    path = written(tmp_path, machine={**MACHINE.to_dict(), "kernel": 6.1})

    error = error_of(path)

    assert isinstance(error, StoredFileError)
    assert str(error) == f"{path}: machine.kernel must be str, got 6.1"


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"dataset": ["x"]}, "dataset must be str, got ['x']"),
        (
            {"target": {"met": True, "ranks": "2"}},
            "target.ranks must be a whole number of at least 1, got '2'",
        ),
        (
            {"target": {"met": True, "ranks": True}},
            "target.ranks must be a whole number of at least 1, got True",
        ),
        (
            {"machine": {**MACHINE.to_dict(), "effective_cpus": float("nan")}},
            "machine.effective_cpus must be a finite number, got nan",
        ),
    ],
)
def test_what_a_warning_would_say_is_checked_before(
    tmp_path: Path, sections: dict[str, Any], words: str
) -> None:
    """The field is named by its place in the file."""
    path = written(tmp_path, **sections)

    error = error_of(path)

    assert isinstance(error, StoredFileError)
    assert str(error) == f"{path}: {words}"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """A recommendation that cannot be said leaves the old file alone."""
    path = tmp_path / "autoloader.yaml"
    path.write_text("old", encoding="utf-8")

    with pytest.raises(ValueError, match="finite numbers"):
        Recommendation(data(measured={"rate": float("nan")})).write(path)

    assert path.read_text(encoding="utf-8") == "old"

"""Tables of the search bench: simulated ones, kept from run to run, and recorded ones.

A simulated table takes up to a quarter of a minute of a core. Its answers are kept in a
folder, under a name that changes with the workload and with the code that simulates it.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from autoloader.files import write_whole
from autoloader.measure.machine import read_machine
from autoloader.search import events, simulated, simulated_answers, tables
from autoloader.search.record import Record
from autoloader.search.space import Space
from autoloader.search.tables import Answer, Table
from autoloader.search.workloads import WORKLOADS
from autoloader.values.config import LoaderConfig
from autoloader.values.scope import DatasetFacts, Scope

if TYPE_CHECKING:
    from autoloader.search.workload import Workload

_CODE = (events, simulated, simulated_answers, tables)
"""What an answer depends on beside its workload."""


def kept_folder() -> Path | None:
    """Return the folder of answers in the user's cache; None for one without a home."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if Path(cache).is_absolute():
        return Path(cache, "autoloader", "replay")
    try:
        return Path.home() / ".cache" / "autoloader" / "replay"
    except RuntimeError:  # neither HOME nor an entry in the user database
        return None


def simulated_table(name: str, budget_s: float, kept: Path | None) -> Table:
    """Return the table of a workload; what is not kept is simulated, and kept then.

    Args:
        name: of the workload.
        budget_s: of the studies that are replayed.
        kept: folder of answers; None: nothing is kept.
    """
    workload = next(item for item in WORKLOADS if item.name == name)
    if kept is None:
        return workload.table(budget_s=budget_s)
    kept.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = kept / f"{name}-{_digest(workload)}.json"
    known = _read(path) if path.exists() else {}
    table = workload.table(budget_s=budget_s, known=known)
    answers = {**known, **table.answers}
    if len(answers) > len(known):
        rows = [[key.to_dict(), asdict(value)] for key, value in answers.items()]
        write_whole(path, json.dumps(rows) + "\n")
    return table


def recorded_table(folder: Path) -> Table:
    """Return the table of a study of this machine that read each config often.

    Args:
        folder: of the study, with `study.json` and `outcomes.jsonl`.

    Raises:
        UsageError: a config of its space was not read, or too few times.
    """
    state = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    with Record(folder) as record:
        return Table.of(
            record.outcomes,
            name=folder.name,
            facts=DatasetFacts.from_dict(state["facts"]),
            scope=Scope.from_dict(state["scope"]),
            space=Space.from_dict(state["space"]),
            machine=read_machine(),
        )


def _digest(workload: Workload) -> str:
    found = hashlib.sha256(repr(workload).encode())
    for module in _CODE:
        found.update(Path(module.__file__ or "").read_bytes())
    return found.hexdigest()[:12]


def _read(path: Path) -> dict[LoaderConfig, Answer]:
    rows = json.loads(path.read_text(encoding="utf-8"))
    return {LoaderConfig.from_dict(key): Answer(**value) for key, value in rows}

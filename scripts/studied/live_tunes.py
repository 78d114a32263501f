"""Tune studies live, as users do, and keep what came of each tune.

A tune is a process of its own in an empty folder. Each result is stored before the next
begins; a tune that was killed is made again.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scripts.peers.advice import Advice, key_of
from scripts.peers.contestants import tune
from scripts.studied.conditions import go_on_with, store
from scripts.studied.grids import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TUNES = 3
BUDGET = "3m"


def tune_live(
    names: Sequence[str],
    *,
    into: Path,
    conditions: dict[str, Any],
    tunes: int = TUNES,
    budget: str = BUDGET,
    fresh: bool = False,
) -> None:
    """Tune each study as often as is missing, in turns.

    Args:
        names: of the studies.
        into: folder whose folders are the studies'.
        conditions: of this run.
        tunes: how many results each study is to have.
        budget: time of a tune.
        fresh: whether earlier results are given up.

    Raises:
        UsageError: there are results of other conditions.
        StoredFileError: a file cannot be read or written.
    """
    files = {name: tunes_file(into, name) for name in names}
    found = {
        name: go_on_with(file, conditions, fresh=fresh) for name, file in files.items()
    }
    for number in range(tunes):
        for name, data in found.items():
            done = data.setdefault("tunes", [])
            if len(done) > number:
                continue
            flags = [str(ROOT / "studies" / name / "study.yaml")]
            tuned = tune(flags, budget)
            done.append({**asdict(tuned), "budget": budget})
            store(files[name], data)
            said = _said(tuned.advice)
            print(
                f"    {name}: tune {number + 1} of {tunes}: {said}, "
                f"{tuned.readings} readings, {tuned.advice.seconds:.0f} s",
                file=sys.stderr,
                flush=True,
            )


def tunes_file(into: Path, name: str) -> Path:
    """Return the file of a study's live tunes."""
    return into / name / "measured" / "tunes.json"


def advice_of(data: dict[str, Any]) -> list[Advice]:
    """Return what the stored tunes of a study recommend, in their order."""
    return [Advice(**item["advice"]) for item in data.get("tunes", [])]


def _said(advice: Advice) -> str:
    chosen = "nothing" if advice.settings is None else key_of(advice.settings)
    return f"{chosen} ({advice.words})"

"""The parts of the search bench that need an idle machine: grids, and live tunes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.studied.attempts import attempt
from scripts.studied.conditions import ROOT, conditions_now, read_stored, store
from scripts.studied.grid_file import is_complete, rounds_read
from scripts.studied.grid_recording import (
    PASS_S,
    REFERENCE_S,
    GridOrder,
    record_grid,
)
from scripts.studied.grid_replays import SEEDS, replay_grid, row_of
from scripts.studied.grids import (
    GRID_READINGS,
    LIVE,
    STUDIES,
    StudyAsked,
    workers_of,
)
from scripts.studied.live_tunes import BUDGET, TUNES, tune_live, tunes_file
from scripts.studied.pages import search_table, tunes_table

if TYPE_CHECKING:
    import argparse

    from scripts.studied.attempts import Step
    from scripts.studied.conditions import Stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """What the flags ask for."""

    record: tuple[str, ...]
    """Studies whose grids are read."""
    live: tuple[str, ...]
    """Studies that are tuned live."""
    into: Path
    """Folder whose folders are the studies'."""
    work: Path
    """Folder of the records."""
    workers: tuple[int, ...] | None
    """Numbers of workers of each grid; None: the study's own."""
    rounds: int
    pass_s: float
    reference_s: float
    seeds: int
    tunes: int
    tune_budget: str
    fresh: bool

    @classmethod
    def of(cls, options: argparse.Namespace) -> Measuring | None:
        """Return what is asked for; None where that is a replay alone."""
        if options.record is None and options.live is None:
            return None
        return cls(
            record=_named(options.record, STUDIES),
            live=_named(options.live, LIVE),
            into=options.into,
            work=options.work,
            workers=tuple(sorted(options.workers)) if options.workers else None,
            rounds=options.rounds,
            pass_s=options.pass_s,
            reference_s=options.reference_s,
            seeds=options.replayed,
            tunes=options.tunes,
            tune_budget=options.tune_budget,
            fresh=options.fresh,
        )


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of grids and live tunes."""
    group = parser.add_argument_group("grids and live tunes")
    add = group.add_argument
    add("--record", nargs="*", choices=STUDIES, metavar="NAME", help="read grids")
    add("--live", nargs="*", choices=STUDIES, metavar="NAME", help="tune live")
    add("--into", type=Path, default=ROOT / "studies", metavar="FOLDER")
    add("--work", type=Path, default=ROOT / ".autoloader" / "grids", metavar="FOLDER")
    add("--workers", type=int, nargs="+", metavar="N", help="of the grid")
    add("--rounds", type=int, default=GRID_READINGS, help="readings of each config")
    add("--pass-s", type=float, default=PASS_S, metavar="SECONDS", help="of a reading")
    add("--reference-s", type=float, default=REFERENCE_S, metavar="SECONDS")
    add("--replayed", type=int, default=SEEDS, metavar="N", help="tunes on each grid")
    add("--tunes", type=int, default=TUNES, metavar="N", help="live, of each study")
    add("--tune-budget", default=BUDGET, metavar="TIME", help="of a live tune")
    add("--fresh", action="store_true", help="give up what was recorded")


def run(asked: Measuring) -> int:
    """Record, replay and tune what is asked for; return the exit code."""
    conditions = conditions_now()
    steps: list[Step] = [
        partial(_record, name, asked, conditions) for name in asked.record
    ]
    if asked.live:
        steps.append(partial(_tune, asked, conditions))
    return attempt(steps)


def _named(names: list[str] | None, all_of_them: tuple[str, ...]) -> tuple[str, ...]:
    """Return the studies of a flag: none without it, all where it names none."""
    if names is None:
        return ()
    return tuple(names) or all_of_them


def _record(name: str, asked: Measuring, conditions: dict[str, Any]) -> None:
    """Read what is missing of a grid, and replay tunes on it."""
    file = asked.into / name / "measured" / "grid.json"
    if asked.fresh or not _has(read_stored(file), asked.rounds):
        record_grid(
            GridOrder(
                asked=StudyAsked.read(name),
                workers=asked.workers or workers_of(name),
                rounds=asked.rounds,
                pass_s=asked.pass_s,
                reference_s=asked.reference_s,
                work=asked.work / name,
                stored=file,
                conditions=conditions,
                fresh=asked.fresh,
            )
        )
    data = read_stored(file)
    if data is None or not is_complete(data):
        print(f"    {name}: too few readings to replay", file=sys.stderr)
        return
    data["replays"] = replay_grid(data, seeds=asked.seeds)
    store(file, data)
    row = row_of(data)
    print("\n".join(search_table([] if row is None else [row])), flush=True)


def _has(data: Stored | None, rounds: int) -> bool:
    """Whether a grid has all the readings that are asked for, on whatever machine."""
    return data is not None and rounds_read(data) >= rounds


def _tune(asked: Measuring, conditions: dict[str, Any]) -> None:
    tune_live(
        asked.live,
        into=asked.into,
        conditions=conditions,
        tunes=asked.tunes,
        budget=asked.tune_budget,
        fresh=asked.fresh,
    )
    found = {name: read_stored(tunes_file(asked.into, name)) for name in asked.live}
    known = {name: (data, None) for name, data in found.items() if data is not None}
    print("\n".join(tunes_table(known)), flush=True)

"""Stored figures of a small grid, for tests of what is made of them."""

from dataclasses import replace
from typing import Any

from autoloader.search.space import Space
from autoloader.values.outcome import Failure, Outcome, Status
from scripts.studied.grid_file import GridState, grid_data
from scripts.studied.grids import GridSpace
from tests.fakes import a_machine, a_scope, some_facts
from tests.search.replayed import NARROW, an_outcome, config

CONDITIONS: dict[str, Any] = {
    "schema": 1,
    "cpu": "A Processor",
    "cpus": 2.0,
    "memory_bytes": 8 << 30,
    "system": "Linux x86_64",
    "kernel": "6.1.0-13-cloud",
    "python": "3.12.4",
    "torch": "2.13.0",
    "autoloader": "0.1.0",
    "commit": "abc1234",
    "date": "2026-01-02",
}

GRID = GridSpace(
    **{name: getattr(NARROW, name) for name in Space.__dataclass_fields__},
    workers=(0, 2),
)
"""Two configs of a batch size of 64: no worker, and two."""

STATE = GridState(
    study="photos",
    conditions=CONDITIONS,
    pass_s=1.2,
    reference_s=5.0,
    spent_s=300.0,
    facts=some_facts(),
    scope=a_scope(1600),
    space=GRID,
    machine=a_machine(),
)


def read(workers: int, rates: tuple[float, ...]) -> Outcome:
    """Return a config that was read at these rates."""
    whole = an_outcome(workers, rates)
    return replace(whole, readings=whole.readings[1:])


def a_grid(*outcomes: Outcome) -> dict[str, Any]:
    """Return what is stored of these; without any, a whole grid."""
    known = outcomes or (
        read(0, (100.0, 105.0, 95.0, 110.0, 90.0)),
        read(2, (200.0, 210.0, 190.0, 220.0, 180.0)),
    )
    return grid_data(STATE, known)


def crashed(workers: int) -> Outcome:
    """Return a config that ended by a crash, in a folder of this machine."""
    failure = Failure(
        kind="crashed", phase="gate", message="it died", log="/a/place/of/mine"
    )
    return replace(
        an_outcome(workers, (1.0,) * 5),
        status=Status.CRASHED,
        readings=(),
        verdict=None,
        failure=failure,
    )


def advice(who: str, workers: int | None, words: str = "") -> dict[str, Any]:
    """Return stored advice of so many workers; None: nothing is recommended."""
    settings = None if workers is None else config(workers).dataloader_kwargs()
    return {"who": who, "settings": settings, "seconds": 90.0, "words": words}

"""The stored table of a grid: readings of each config, and what replays need of them.

`grid.json` beside a study is all that a replay of it takes, on any machine.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from autoloader.measure.throughput import epoch_rate
from autoloader.search.disturbance import LEAST_ROUNDS
from autoloader.search.tables import Answer, Table
from autoloader.values.config import LoaderConfig
from autoloader.values.machine import Machine
from autoloader.values.outcome import Failure, Outcome, Status, Verdict
from autoloader.values.scope import DatasetFacts, Scope
from scripts.studied.grids import GridSpace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scripts.studied.conditions import Stored


@dataclass(frozen=True, slots=True, kw_only=True)
class GridState:
    """What all readings of a grid have in common."""

    study: str
    conditions: dict[str, Any]
    """Machine, versions and date."""
    pass_s: float
    """Seconds that a timed pass should not exceed."""
    reference_s: float
    """What the reference took."""
    spent_s: float
    """What gates, weighings and timed passes took, the time between them too."""
    facts: DatasetFacts
    scope: Scope
    space: GridSpace
    machine: Machine

    @classmethod
    def from_dict(cls, data: Stored) -> GridState:
        """Return the state that a stored table begins with."""
        return cls(
            study=data["study"],
            conditions=data["conditions"],
            pass_s=data["pass_s"],
            reference_s=data["reference_s"],
            spent_s=data["spent_s"],
            facts=DatasetFacts.from_dict(data["facts"]),
            scope=Scope.from_dict(data["scope"]),
            space=GridSpace.from_dict(data["space"]),
            machine=Machine.from_dict(data["machine"]),
        )

    def to_dict(self) -> Stored:
        """Return the fields by name."""
        return {
            "conditions": self.conditions,
            "study": self.study,
            "pass_s": self.pass_s,
            "reference_s": round(self.reference_s, 2),
            "spent_s": round(self.spent_s, 1),
            "facts": self.facts.to_dict(),
            "scope": self.scope.to_dict(),
            "space": self.space.to_dict(),
            "machine": self.machine.to_dict(),
        }


def grid_data(state: GridState, outcomes: Sequence[Outcome]) -> Stored:
    """Return what is stored: the state, and a row for each config that was tried."""
    answers = _answers(state, outcomes)
    rows = [_row(item, answers.get(item.config)) for item in outcomes]
    return {**state.to_dict(), "configs": rows}


def rounds_read(data: Stored) -> int:
    """Return how many readings every config has that can be read; 0: some are untried.

    A config that failed or was refused needs none.
    """
    state, rows = GridState.from_dict(data), data["configs"]
    if len(rows) < len(state.space.configs()):
        return 0
    return min((len(row["rates"]) for row in rows if row["rates"]), default=0)


def is_complete(data: Stored) -> bool:
    """Whether replays can be answered from it."""
    return rounds_read(data) >= LEAST_ROUNDS


def table_of(data: Stored) -> Table:
    """Return the table that replays are answered from.

    Raises:
        UsageError: a config was not tried, or read too few times.
    """
    state = GridState.from_dict(data)
    answers: dict[LoaderConfig, Answer] = {}
    broken: dict[LoaderConfig, Verdict | Failure] = {}
    rounds: dict[LoaderConfig, tuple[float | None, ...]] = {}
    for row in data["configs"]:
        config = LoaderConfig.from_dict(row["config"])
        if row["answer"] is not None:
            answers[config] = Answer(**row["answer"])
            rounds[config] = tuple(row["rates"])
        elif row["failure"] is not None:
            broken[config] = Failure.from_dict(row["failure"])
        elif row["verdict"] is not None:
            broken[config] = Verdict.from_dict(row["verdict"])
    return Table(
        name=state.study,
        facts=state.facts,
        scope=state.scope,
        space=state.space,
        machine=state.machine,
        reference_s=state.reference_s,
        answers=answers,
        broken=broken,
        rounds=rounds,
    )


def foreign_cpus(data: Stored) -> tuple[float, float] | None:
    """Return the CPUs that others took, in the middle and at most; None: not known."""
    found = [value for row in data["configs"] for value in row["foreign_cpu"]]
    return (median(found), max(found)) if found else None


def scatter(data: Stored) -> float | None:
    """Return the deviation of the log of one reading from its config's mean.

    Over all configs together; None where none was read twice.
    """
    logs = [
        [math.log(rate) for rate in row["rates"]]
        for row in data["configs"]
        if len(row["rates"]) > 1
    ]
    squares = math.fsum((log - fmean(found)) ** 2 for found in logs for log in found)
    freedom = sum(len(found) - 1 for found in logs)
    return math.sqrt(squares / freedom) if freedom else None


def _answers(
    state: GridState, outcomes: Iterable[Outcome]
) -> dict[LoaderConfig, Answer]:
    """Return what a replay answers of each config that was read often enough."""
    often = [
        item
        for item in outcomes
        if item.status is Status.MEASURED and len(item.counted) >= LEAST_ROUNDS
    ]
    part = replace(state.space, workers=())  # a table of a part is nobody's space
    return dict(
        Table.of(
            often,
            name=state.study,
            facts=state.facts,
            scope=state.scope,
            space=part,
            machine=state.machine,
        ).answers
    )


def _row(outcome: Outcome, answer: Answer | None) -> dict[str, Any]:
    """Return what is kept of a config; no place where processes printed."""
    counted, failure = outcome.counted, outcome.failure
    verdict, memory = outcome.verdict, outcome.memory
    is_wrong = verdict is not None and not verdict.passed
    return {
        "config": outcome.config.to_dict(),
        "status": outcome.status.value,
        "rates": [round(epoch_rate(reading), 3) for reading in counted],
        "foreign_cpu": [round(reading.foreign_cpu, 3) for reading in counted],
        "peak_bytes": None if memory is None else memory.peak_bytes,
        "answer": None if answer is None else asdict(answer),
        "failure": None if failure is None else replace(failure, log=None).to_dict(),
        "verdict": verdict.to_dict() if verdict is not None and is_wrong else None,
    }

"""Replay tunes on the stored table of a grid, each with a seed of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.search.replay import Conditions, study
from autoloader.search.tables import Truth
from autoloader.values.target import Target
from scripts.studied.grid_file import scatter, table_of
from scripts.studied.judging import GridRow

if TYPE_CHECKING:
    from scripts.studied.conditions import Stored

SEEDS = 10
BUDGET_S = 180.0
TARGET = Target(share_of_best=0.95)


def replay_grid(data: Stored, *, seeds: int = SEEDS) -> list[dict[str, Any]]:
    """Return what tunes of three minutes come to on a complete table.

    Raises:
        UsageError: the table has too few readings.
    """
    table = table_of(data)
    truth = Truth.of(table, TARGET)
    return [
        study(
            table, TARGET, Conditions(budget_s=BUDGET_S, seed=seed), truth=truth
        ).to_dict()
        for seed in range(seeds)
    ]


def row_of(data: Stored) -> GridRow | None:
    """Return the row of a stored table; None where no tune was replayed on it."""
    results = data.get("replays")
    if not results:
        return None
    table = table_of(data)
    truth = Truth.of(table, TARGET)
    return GridRow.of(table, truth, results, float(data["spent_s"]), scatter(data))

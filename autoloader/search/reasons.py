"""Say why a study came to nothing, from its outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.errors import DataError
from autoloader.search.passed_over import in_words
from autoloader.search.trials import over_budget
from autoloader.values.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.search.passed_over import PassedOver
    from autoloader.values.outcome import Outcome

MOST_NAMED = 3
"""Configs that one sentence names."""


def nothing_measured(
    outcomes: Sequence[Outcome], *, passed_over: Sequence[PassedOver] = ()
) -> DataError:
    """Return the error of a study without one measured config.

    Args:
        outcomes: of the study, one at least; the last one is named with its reason.
        passed_over: what was not tried because of them.
    """
    last = outcomes[-1]
    msg = (
        f"not one of {len(outcomes)} configs could be measured; "
        f"{last.config.describe()}: {_why(last)}"
    )
    untried = in_words(passed_over)
    if untried is not None:
        msg += f"; not tried: {untried}"
    return DataError(msg)


def nothing_left(
    outcomes: Sequence[Outcome], *, lost: Sequence[Outcome], memory_bytes: int | None
) -> DataError:
    """Return the error of a study of which no measured config is left in the end.

    Args:
        outcomes: of the study: those that are measured yet take too much memory, or
            were not raced.
        lost: those that failed in the race or in their verification, in that order.
        memory_bytes: what they may take; None: there is no limit.
    """
    told = [f"{item.config.describe()}, {_where(item)}: {_why(item)}" for item in lost]
    measured = [item for item in outcomes if item.status is Status.MEASURED]
    for item in measured:
        failure = None
        if item.memory is not None:
            failure = over_budget(item.memory, memory_bytes)
        if failure is not None:
            told.append(f"{item.config.describe()}: {failure.message}")
    count = len(lost) + len(measured)
    named = told[:MOST_NAMED]
    if len(told) > len(named):
        named.append(f"{len(told) - len(named)} more")
    if count > len(told):
        named.append(f"{count - len(told)} had no time in the race")
    msg = f"no config is left of {count} that could be measured; {'; '.join(named)}"
    return DataError(msg)


def _where(outcome: Outcome) -> str:
    """Return where a config failed that had been measured before."""
    is_timed = outcome.failure is not None and outcome.failure.phase == "timed"
    return "in the race" if is_timed else "in its verification"


def _why(outcome: Outcome) -> str:
    if outcome.verdict is not None and outcome.verdict.findings:
        return (
            f"{outcome.verdict.findings[0].code}: {outcome.verdict.findings[0].message}"
        )
    if outcome.failure is not None:
        return f"{outcome.failure.kind}: {outcome.failure.message}"
    return outcome.status.value

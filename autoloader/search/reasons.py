"""Say why a study came to nothing, from its outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.values.outcome import Outcome


def nothing_measured(outcomes: Sequence[Outcome]) -> DataError:
    """Return the error of a study without one measured config.

    Args:
        outcomes: of the study, one at least; the last one is named with its reason.
    """
    last = outcomes[-1]
    if last.verdict is not None and last.verdict.findings:
        why = f"{last.verdict.findings[0].code}: {last.verdict.findings[0].message}"
    elif last.failure is not None:
        why = f"{last.failure.kind}: {last.failure.message}"
    else:
        why = last.status.value
    msg = (
        f"not one of {len(outcomes)} configs could be measured; "
        f"{last.config.describe()}: {why}"
    )
    return DataError(msg)

"""Which findings refuse a config: what the user allows, and what strictness adds."""

from collections.abc import Collection
from dataclasses import replace

from autoloader.values.outcome import Verdict

CODES = (
    "missing_ids",
    "repeated_ids",
    "foreign_ids",
    "label_mismatch",
    "content_mismatch",
    "collate_mismatch",
    "order_changed",
    "field_missing",
    "dtype_mismatch",
    "shape_mismatch",
    "contract_violation",
    "shared_file_offset",
)
"""Codes of findings that a trial can have."""


def apply_policy(
    verdict: Verdict, *, allowed: Collection[str] = (), is_strict: bool = False
) -> Verdict:
    """Return the verdict with allowed findings as cautions, or cautions as findings.

    Args:
        verdict: what the comparison said.
        allowed: codes that do not refuse.
        is_strict: whether every caution that is not allowed refuses.
    """
    refusing = [item for item in verdict.findings if item.code not in allowed]
    noted = [item for item in verdict.findings if item.code in allowed]
    cautions = [*noted, *verdict.cautions]
    if is_strict:
        refusing += [item for item in cautions if item.code not in allowed]
        cautions = [item for item in cautions if item.code in allowed]
    return replace(
        verdict, passed=not refusing, findings=tuple(refusing), cautions=tuple(cautions)
    )

"""How strict the gate is, as the user asked for it: what refuses, and when it hangs.

What counts as a finding is decided in `audit`; who applies the policy is `trial`.
"""

from dataclasses import dataclass

from autoloader.values.decode import Stored

FINDINGS = (
    "missing_ids", "repeated_ids", "foreign_ids", "label_mismatch", "content_mismatch",
    "collate_mismatch", "order_changed", "field_missing", "dtype_mismatch",
    "shape_mismatch", "contract_violation", "shared_file_offset",
)  # fmt: skip
"""Codes that refuse a config."""

CAUTIONS = (
    "streams_identical", "epochs_identical", "idle_workers", "one_worker_serves_all",
    "length_misdeclared", "weak_identity", "not_fully_verified", "descriptors_growing",
    "memory_growing", "examples_left_out", "loader_class_left_out",
    "pinning_without_effect",
)  # fmt: skip
"""Codes worth knowing: they refuse a config under `--strict` only."""

CODES = FINDINGS + CAUTIONS
"""All codes; `--allow` takes any of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePolicy(Stored):
    """What refuses a config, and when it counts as hung."""

    allowed: tuple[str, ...] = ()
    """Finding codes that are taken as cautions, in the order of the alphabet."""
    is_strict: bool = False
    """Whether cautions that are not allowed refuse as well."""
    hang_after_s: float | None = None
    """Seconds without progress that count as a hang; None: from the cost of an example,
    at least 30."""

"""Which findings refuse a config: what the user allows, and what strictness adds."""

from dataclasses import replace

from autoloader.values.gate import GatePolicy
from autoloader.values.outcome import Verdict


def apply_policy(verdict: Verdict, policy: GatePolicy) -> Verdict:
    """Return the verdict with allowed findings as cautions, or cautions as findings."""
    allowed = policy.allowed
    refusing = [item for item in verdict.findings if item.code not in allowed]
    noted = [item for item in verdict.findings if item.code in allowed]
    cautions = [*noted, *verdict.cautions]
    if policy.is_strict:
        refusing += [item for item in cautions if item.code not in allowed]
        cautions = [item for item in cautions if item.code in allowed]
    return replace(
        verdict, passed=not refusing, findings=tuple(refusing), cautions=tuple(cautions)
    )

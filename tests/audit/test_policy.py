"""What the user allows, and what strictness adds."""

from autoloader.audit.policy import apply_policy
from autoloader.values.gate import GatePolicy
from autoloader.values.outcome import Finding, Verdict

OFFSET = Finding(code="shared_file_offset", count=1, message="shared")
LOSS = Finding(code="missing_ids", count=1, message="lost")
IDLE = Finding(code="idle_workers", count=1, message="idle")


def verdict(findings: tuple[Finding, ...], cautions: tuple[Finding, ...]) -> Verdict:
    """Return a verdict with these."""
    return Verdict(
        passed=not findings,
        examples=1,
        of=1,
        epochs=2,
        compared="rows",
        findings=findings,
        cautions=cautions,
    )


def test_without_a_policy_the_verdict_stands() -> None:
    """Findings refuse, cautions do not."""
    before = verdict((LOSS,), (IDLE,))

    assert apply_policy(before, GatePolicy()) == before


def test_an_allowed_finding_becomes_a_caution() -> None:
    """It is still told, and stands first."""
    after = apply_policy(
        verdict((OFFSET,), (IDLE,)), GatePolicy(allowed=("shared_file_offset",))
    )

    assert after.passed
    assert after.findings == ()
    assert after.cautions == (OFFSET, IDLE)


def test_only_what_is_allowed_is_let_through() -> None:
    """Another finding still refuses."""
    after = apply_policy(
        verdict((LOSS, OFFSET), ()), GatePolicy(allowed=("shared_file_offset",))
    )

    assert not after.passed
    assert after.findings == (LOSS,)


def test_strictness_refuses_on_cautions() -> None:
    """What is worth knowing is then a fault."""
    after = apply_policy(verdict((), (IDLE,)), GatePolicy(is_strict=True))

    assert not after.passed
    assert (after.findings, after.cautions) == ((IDLE,), ())


def test_what_is_allowed_is_so_under_strictness_too() -> None:
    """The narrower flag holds."""
    allowed = ("idle_workers", "shared_file_offset")

    after = apply_policy(
        verdict((OFFSET,), (IDLE,)), GatePolicy(allowed=allowed, is_strict=True)
    )

    assert after.passed
    assert after.cautions == (OFFSET, IDLE)

"""Each stage says what it rules out and where to look."""

from autoloader.audit.stage_words import LOOK_AT, RULES_OUT
from autoloader.values.diagnosis import StageName


def test_every_stage_has_its_words() -> None:
    """None is forgotten when one is added."""
    assert set(RULES_OUT) == set(LOOK_AT) == set(StageName)


def test_a_failure_before_the_transfer_is_not_the_accelerators() -> None:
    """The article's first rule."""
    before = [StageName.ACCESS, StageName.TRANSFORM, StageName.COLLATE]

    assert all("accelerator takes part in it" in RULES_OUT[stage] for stage in before)

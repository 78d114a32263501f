"""What is wanted: read, checked, turned into a rate."""

import re
from dataclasses import replace
from typing import Any

import pytest

from autoloader.errors import StoredFileError, UsageError
from autoloader.values.target import Target


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("2000", Target(examples_per_s=2000.0)),
        ("2_000", Target(examples_per_s=2000.0)),
        ("2,000.5", Target(examples_per_s=2000.5)),
        ("1e3", Target(examples_per_s=1000.0)),
        (" 95% ", Target(share_of_best=0.95)),
        ("100 %", Target(share_of_best=1.0)),
        (" step ", Target(is_of_step=True)),
    ],
)
def test_a_target_is_a_rate_or_a_share(text: str, target: Target) -> None:
    """Thousands may be set apart, a share ends in a percent sign."""
    assert Target.parse(text) == target


def test_the_memory_limit_is_part_of_the_target() -> None:
    """Speed that takes too much memory is no success."""
    target = Target.parse("95%", memory_bytes=2**30)

    assert target == Target(share_of_best=0.95, memory_bytes=2**30)


@pytest.mark.parametrize(
    "text", ["", "%", "0", "-5", "0%", "101%", "nan", "inf", "1e999", "fast", "95%%"]
)
def test_what_is_neither_is_refused(text: str) -> None:
    """Zero, more than the best, and what is no number are wrong use."""
    with pytest.raises(UsageError) as caught:
        Target.parse(text)

    assert str(caught.value) == (
        f"--target is a rate such as 2000, a share such as 95%, or step, got {text!r}"
    )
    assert caught.value.hint == "a rate is in examples a second for the whole node"


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "a target is either a rate or a share of the best, not both"),
        (
            {"examples_per_s": 1.0, "share_of_best": 0.5},
            "a target is either a rate or a share of the best, not both",
        ),
        (
            {"is_of_step": True, "share_of_best": 0.5},
            "the target of a step is a rate, and no share of the best",
        ),
        ({"examples_per_s": 0.0}, "examples_per_s must be above 0, got 0"),
        ({"examples_per_s": float("nan")}, "examples_per_s must be above 0, got nan"),
        (
            {"share_of_best": 1.5},
            "share_of_best must be above 0 and at most 1, got 1.5",
        ),
        (
            {"share_of_best": 0.5, "memory_bytes": 0},
            "memory_bytes must be at least 1, got 0",
        ),
    ],
)
def test_a_target_that_nothing_meets_cannot_be_built(
    values: dict[str, Any], sentence: str
) -> None:
    """What is read from a file is checked like a flag."""
    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}$"):
        Target(**values)


@pytest.mark.parametrize(
    "target",
    [
        Target(examples_per_s=2000.0),
        Target(share_of_best=0.95, memory_bytes=2**30),
        Target(is_of_step=True),
    ],
)
def test_a_target_comes_back_equal_from_plain_data(target: Target) -> None:
    """None is kept as None."""
    assert Target.from_dict(target.to_dict()) == target


def test_stored_data_that_is_no_target_is_refused() -> None:
    """A damaged file is told apart from a wrong flag."""
    sentence = "Target cannot be used: examples_per_s must be above 0, got -1"
    with pytest.raises(StoredFileError, match=f"^{re.escape(sentence)}$"):
        Target.from_dict({"examples_per_s": -1})


def test_a_rate_does_not_depend_on_the_best() -> None:
    """It is what the training needs."""
    assert Target(examples_per_s=2000.0).rate(10.0) == 2000.0


def test_a_share_is_one_of_the_best_config() -> None:
    """It is known only once the best is."""
    assert Target(share_of_best=0.5).rate(3000.0) == 1500.0


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (Target(examples_per_s=2000.0), "2,000 examples/s"),
        (Target(share_of_best=0.95), "95 % of the fastest"),
    ],
)
def test_a_target_is_described_in_words(target: Target, text: str) -> None:
    """The report repeats what was asked for."""
    assert target.describe() == text


def test_what_a_step_takes_is_known_once_it_was_timed() -> None:
    """Until then all there is counts as wanted."""
    asked = Target(is_of_step=True)
    timed = replace(asked, examples_per_s=380.0)

    assert asked.rate(500.0) == 500.0
    assert asked.describe() == "what keeps the step fed"
    assert timed.rate(500.0) == 380.0
    assert timed.describe() == "what keeps the step fed (380 examples/s)"

"""A limit in words: what it is, why, and what no setting exceeds."""

from typing import Any

import pytest

from autoloader.report.limit_words import advice_words, limit_words


def section(**changes: Any) -> dict[str, Any]:
    """Return a section of a limit."""
    return {
        "name": "transform",
        "evidence": "3.80 of 4 CPUs are used",
        "ceiling_examples_per_s": 690.0,
        "cached_examples_per_s": 48_000.0,
        "advice": [],
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {},
            "decode or transform: 3.80 of 4 CPUs are used; no DataLoader setting "
            "exceeds 690/s here, where examples are free it gives 48,000/s",
        ),
        (
            {"cached_examples_per_s": None},
            "decode or transform: 3.80 of 4 CPUs are used; no DataLoader setting "
            "exceeds 690/s here",
        ),
        ({"name": "unknown"}, "not named: 3.80 of 4 CPUs are used"),
        (
            {"name": "space", "ceiling_examples_per_s": None},
            "none yet: 3.80 of 4 CPUs are used; a wider --num-workers may gain",
        ),
    ],
)
def test_a_limit_is_one_sentence(changes: dict[str, Any], words: str) -> None:
    """As far as it is known."""
    assert limit_words(section(**changes)) == words


def test_advice_says_what_it_gains_at_most_and_how_to_see_it() -> None:
    """Where nothing bounds the gain, a test tells it."""
    given = [
        {"what": "decode smaller", "most_gain": 1.8333, "test": "measure it"},
        {"what": "one thread", "most_gain": None, "test": "measure it"},
    ]

    assert advice_words(section(advice=given)) == (
        "decode smaller (at most 1.83 times; measure it)",
        "one thread (a test tells its gain; measure it)",
    )


def test_a_study_that_saw_nothing_says_nothing() -> None:
    """Neither limit nor advice."""
    assert limit_words(None) is None
    assert advice_words(None) == ()

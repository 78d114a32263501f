"""Why the chosen config and no other, in sentences."""

from __future__ import annotations

from dataclasses import replace

from autoloader.report.why import reasons
from autoloader.values.target import Target
from tests.report.fakes import config, measured, result

RATE_1000 = Target(examples_per_s=1000)
DEFAULT = {config(0): "pytorch_default"}


def test_the_fastest_of_the_simpler_ones_is_told_with_what_it_lacks() -> None:
    """As a share of what is wanted, with its interval."""
    rates = {config(0): 200.0, config(2): 600.0, config(4): 1100.0}

    found = reasons(result(rates, target=RATE_1000, sources=DEFAULT))

    assert found == (
        "2 workers, prefetch 2, batch 64 is simpler and too slow: 0.60 "
        "(0.57\u20130.64) of what is wanted",
        "no raced config is faster",
    )


def test_a_faster_config_is_told_with_what_it_costs() -> None:
    """How many times as fast it is, and how much more memory it takes."""
    rates = {config(0): 200.0, config(4): 1100.0, config(8): 1300.0}

    found = reasons(result(rates, target=RATE_1000, sources=DEFAULT))

    assert found[1] == (
        "the fastest, 8 workers, prefetch 2, batch 64, is 1.18\u00d7 (1.16\u20131.21) "
        "as fast and takes 400.0 MiB more"
    )


def test_a_simpler_config_that_did_not_race_is_told_by_the_search() -> None:
    """With the number of its readings, which were not taken in common rounds."""
    study = result({config(0): 200.0, config(4): 1100.0}, target=RATE_1000, sources={})
    unraced = measured(7, config(2), [550.0])

    found = reasons(replace(study, outcomes=(*study.outcomes, unraced)))

    assert found[0] == (
        "2 workers, prefetch 2, batch 64 is simpler, and was 0.50\u00d7 as fast in 1 "
        "reading of the search"
    )


def test_where_nothing_is_simpler_that_is_said() -> None:
    """PyTorch's default may be enough."""
    study = result({config(0): 1200.0}, target=RATE_1000, sources=DEFAULT)

    assert reasons(study) == (
        "nothing simpler was measured",
        "no raced config is faster",
    )


def test_without_a_choice_there_is_no_reason_for_one() -> None:
    """The verdict says what is missing."""
    study = result({config(0): 200.0}, target=RATE_1000, sources=DEFAULT)

    assert reasons(study) == ()

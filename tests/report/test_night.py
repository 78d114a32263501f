"""What people are told of a night."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from autoloader.report.console import print_night
from autoloader.retune_values import RetuneResult
from autoloader.values.night import Drift, NightVerdict
from tests.export.test_history import NIGHT


def told(drifts: tuple[Drift, ...] = (), **night: Any) -> str:
    """Return the lines of a night, each on one line."""
    stream = io.StringIO()
    result = RetuneResult(
        file=Path("settings/autoloader.yaml"),
        night=replace(NIGHT, **night),
        drifts=drifts,
        tuned=None,
    )
    print_night(result, stream)
    return " ".join(stream.getvalue().split())


def test_a_night_that_holds_says_by_what() -> None:
    """The ratio, what changed, the rate, and what would have been seen."""
    found = told()

    assert found == (
        "verdict The recommendation holds: 2.00 times as fast as PyTorch's default, "
        "2.00 times in the study. changed kernel was 6.1, now 6.8 rate 500 examples/s, "
        "6 rounds; 1.01 times that of the study; a change beside other settings by "
        "15 % would have been seen file autoloader.yaml, as it was time 42 s"
    )


def test_a_file_that_was_written_is_named_with_the_one_before() -> None:
    """Where both are."""
    found = told(
        verdict="rewritten",
        wrote="autoloader.yaml",
        kept="autoloader.yaml.before-2026-11-30",
        rate=None,
    )

    assert "verdict Tuned again: other settings: 2.00 times" in found
    assert (
        "file autoloader.yaml; the one before is autoloader.yaml.before-2026-11-30"
        in found
    )
    assert "examples/s" not in found


def test_a_new_file_replaced_none() -> None:
    """On a machine of another kind."""
    assert "file new.yaml time" in told(verdict="proposed", wrote="new.yaml")


def test_a_drift_is_told_with_its_size() -> None:
    """Of the rate, and of the gain."""
    falling = Drift(of="rate", per_night=-0.012, nights=16, probability=0.0001)
    rising = Drift(of="vs_default", per_night=0.02, nights=8, probability=0.0001)

    found = told((falling, rising))

    assert "drift examples/s falls by 1.2 % a night, over 16 nights" in found
    assert (
        "drift the gain over PyTorch's default rises by 2 % a night, over 8 nights"
        in found
    )


@pytest.mark.parametrize("verdict", get_args(NightVerdict))
def test_every_verdict_has_words(verdict: NightVerdict) -> None:
    """And its reason behind them."""
    found = told(verdict=verdict, reason="as it is")

    assert found.startswith("verdict ")
    assert ": as it is. " in found

"""What people are told of all nights of a recommendation."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

from autoloader.report.console import print_nights
from autoloader.report.nights import SHORT, changed_settings, day, nights_report
from autoloader.report.nights_view import MOST_ROWS
from autoloader.values.night import Night, NightVerdict
from tests.export.test_history import NIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

FIRST = datetime(2026, 11, 1, 2, 0, tzinfo=UTC)


def nights(rates: Sequence[float | None], **more: Any) -> tuple[Night, ...]:
    """Return a night for each rate, one a day."""
    return tuple(
        replace(
            NIGHT,
            at=(FIRST + timedelta(days=number)).isoformat(),
            rate=rate,
            **more,
        )
        for number, rate in enumerate(rates)
    )


def said(found: Sequence[Night]) -> dict[str, str]:
    """Return what is said of nights, by label."""
    return dict(nights_report("autoloader.yaml", found).sentences)


def printed(found: Sequence[Night], *, page: Path | None = None) -> list[str]:
    """Return the lines of the terminal."""
    stream = io.StringIO()
    print_nights(nights_report("autoloader.yaml", found), page=page, stream=stream)
    return stream.getvalue().splitlines()


def test_nights_are_counted_by_verdict_and_told_by_their_middle() -> None:
    """Rate and gain, with the least and the most."""
    lost = replace(NIGHT, verdict="target_lost", exit_code=4)

    found = said([*nights([500.0, 520.0, 480.0]), lost])

    assert found["nights"] == "4, 2026-11-01 to 2026-11-30: holds 3, target lost 1"
    assert found["rate"] == (
        "500 examples/s, 480\u2013520 over 4 nights with the file as it is"
    )
    assert found["gain"] == (
        "2.00 times as fast as PyTorch's default in the same rounds, 2.00\u20132.00 "
        "over 4 nights with the file as it is"
    )
    assert found["settings"] == "num_workers=2, batch_size=64"
    assert found["drift"] == ("not looked for before 8 nights with one file, 4 so far")


def test_one_night_has_no_reach() -> None:
    """Its values are all there is."""
    found = said(nights([500.0]))

    assert found["nights"] == "1, 2026-11-01: holds 1"
    assert found["rate"] == "500 examples/s, one night with the file as it is"


def test_nights_of_another_file_are_left_out_of_the_figures() -> None:
    """They judged another study; they are counted all the same."""
    before = nights([900.0, 900.0], file_date="2026-10-01T00:00:00+00:00")

    found = said([*before, *nights([500.0, 510.0])])

    assert found["nights"].startswith("4, ")
    assert found["rate"] == (
        "505 examples/s, 500\u2013510 over 2 nights with the file as it is"
    )


def test_a_drift_comes_first() -> None:
    """It is why people look."""
    falling = [500.0 * 0.98**number for number in range(16)]

    found = nights_report("autoloader.yaml", nights(falling))

    assert found.sentences[0] == (
        "drift",
        "examples/s falls by 2 % a night, over 16 nights",
    )
    assert [drift.of for drift in found.drifts] == ["rate"]


def test_where_none_drifts_it_is_said_when_it_is_looked_for() -> None:
    """After each doubling."""
    steady = [500.0, 510.0] * 4

    assert said(nights(steady))["drift"] == (
        "none is seen: looked for after 8, 16, 32, ... nights with one file"
    )


def test_nights_without_a_rate_have_none() -> None:
    """Those that ended before the race."""
    found = said(nights([None, None], vs_default=None))

    assert "rate" not in found
    assert "gain" not in found


def test_settings_that_a_night_changed_are_named() -> None:
    """Those that are new, other or gone."""
    after = replace(NIGHT, dataloader={"num_workers": 4, "pin_memory": True})

    assert changed_settings([NIGHT, after], 1) == (
        "batch_size=None, num_workers=4, pin_memory=True"
    )
    assert changed_settings([NIGHT, after], 0) == ""


def test_a_time_that_is_none_stands_as_it_is() -> None:
    """Somebody wrote there."""
    assert day(replace(NIGHT, at="yesterday")) == "yesterday"


def test_every_verdict_has_a_short_word() -> None:
    """For a column."""
    assert set(SHORT) == set(get_args(NightVerdict))


def test_the_terminal_has_the_last_nights_and_what_is_said_of_all() -> None:
    """In 80 columns; the page has the others."""
    after = replace(NIGHT, dataloader={"num_workers": 4}, verdict="rewritten")

    lines = printed([*nights([500.0] * 20), after], page=Path("nights.html"))

    text = "\n".join(lines)
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("Tuned again: other settings: 2.00 times as fast as")
    assert sum(line.startswith("2026-11-") for line in lines) == MOST_ROWS
    assert "2026-11-20" in text
    assert "2026-11-07" not in text
    assert "rewritten" in text
    assert "batch_size=None" in text
    assert "page      nights.html" in text


@pytest.mark.parametrize("rate", [None, 500.0])
def test_what_is_not_known_is_a_dash(rate: float | None) -> None:
    """Not a zero."""
    (row,) = (
        line
        for line in printed(nights([rate], vs_default=None))
        if line.startswith("2026-11-01")
    )

    assert row.split()[:4] == [
        "2026-11-01",
        "holds",
        "-" if rate is None else "500",
        "-",
    ]


def test_a_history_is_plain_data_too() -> None:
    """Every night as it is stored."""
    found = nights_report("autoloader.yaml", nights([500.0])).to_dict()

    assert found["schema"] == 1
    assert found["file"] == "autoloader.yaml"
    assert found["nights"] == [night.to_dict() for night in nights([500.0])]
    assert found["drifts"] == []
    assert found["sentences"][0]["label"] == "nights"

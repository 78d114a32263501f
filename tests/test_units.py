"""Quantities as people write and read them."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoloader.errors import UsageError
from autoloader.units import (
    counted,
    format_bytes,
    format_cost,
    format_percent,
    format_rate,
    format_seconds,
    format_wait,
    in_number,
    in_short,
    parse_bytes,
    parse_duration,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0),
        ("90s", 90.0),
        ("0.5", 0.5),
        ("3m", 180.0),
        ("1h30m", 5400.0),
        ("1.5h", 5400.0),
        ("1h2m3s", 3723.0),
        (" 2M ", 120.0),
    ],
)
def test_a_duration_is_read_in_hours_minutes_and_seconds(
    text: str, seconds: float
) -> None:
    """A bare number is seconds; case and space do not matter."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", " ", "0", "0m", "-3m", "3 m", "m", "3d", "nan", "inf", "1e3", "9" * 400, "٣m"],
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    """Nothing, zero, other units and what no clock reaches are wrong use."""
    sentence = f"a duration such as 90s, 3m or 1h30m is needed, got {text!r}"

    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}$"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1073741824", 2**30),
        ("8b", 8),
        ("8k", 8 * 2**10),
        ("8KiB", 8 * 2**10),
        ("8GiB", 8 * 2**30),
        ("8Gi", 8 * 2**30),
        ("8G", 8 * 2**30),
        ("8GB", 8 * 10**9),
        ("500 mb", 500 * 10**6),
        ("1.5TiB", 3 * 2**39),
    ],
)
def test_a_size_is_binary_unless_it_ends_in_a_plain_b(text: str, size: int) -> None:
    """`G` and `GiB` are powers of 1024, `GB` is a power of 1000."""
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    "text", ["", "0", "0GiB", "0.4", "-1", "8i", "8ib", "8 X", "GiB", "9" * 400, "٣G"]
)
def test_what_is_no_size_is_refused(text: str) -> None:
    """A size is at least one byte, and no more than a number can hold."""
    sentence = f"a size such as 8GiB or 500MB is needed, got {text!r}"

    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}$"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1024 * 1023.9, "1.0 MiB"),
        (5 * 2**20 + 2**19, "5.5 MiB"),
        (2**30, "1.0 GiB"),
        (3 * 2**40, "3.0 TiB"),
        (5000 * 2**40, "5000.0 TiB"),
        (-2048, "-2 KiB"),
    ],
)
def test_a_size_is_shown_in_the_largest_unit_that_keeps_it_whole(
    size: float, text: str
) -> None:
    """No size is shown as 1024 of the smaller unit."""
    assert format_bytes(size) == text


@settings(deadline=None)
@given(st.integers(min_value=2**20, max_value=2**50))
def test_a_size_that_was_shown_can_be_read_again(size: int) -> None:
    """What is printed is understood as a flag, to the tenth that was printed."""
    again = parse_bytes(format_bytes(size))

    assert again == pytest.approx(size, rel=0.05)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.00 s"),
        (0.424, "0.42 s"),
        (0.999, "1.0 s"),
        (1.54, "1.5 s"),
        (9.96, "10 s"),
        (12.3, "12 s"),
        (59.7, "1 m 00 s"),
        (185, "3 m 05 s"),
        (3599.6, "1 h 00 m"),
        (3725, "1 h 02 m"),
    ],
)
def test_seconds_are_shown_as_people_say_them(seconds: float, text: str) -> None:
    """Rounding never shows ten seconds with a decimal, or sixty of anything."""
    assert format_seconds(seconds) == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [(0, "0"), (0.01234, "0.0123"), (9.999, "10"), (99.96, "100"), (1234.5, "1,234")],
)
def test_a_rate_is_shown_with_three_digits_or_more(rate: float, text: str) -> None:
    """Large rates are whole numbers, small ones keep three digits."""
    assert format_rate(rate) == text


def test_a_noun_follows_its_number() -> None:
    """None and several have the plural, which a word may have of its own."""
    assert [counted(count, "round") for count in (0, 1, 2)] == [
        "0 rounds",
        "1 round",
        "2 rounds",
    ]
    assert counted(1, "batch", "batches") == "1 batch"
    assert counted(2, "batch", "batches") == "2 batches"


def test_a_word_goes_with_a_number_that_is_written_otherwise() -> None:
    """Grouped by thousands, or with a fraction."""
    assert f"{1200:,} {in_number(1200, 'connection')}" == "1,200 connections"
    assert [in_number(cpus, "CPU") for cpus in (0.5, 1.0)] == ["CPUs", "CPU"]
    assert [in_number(count, "is", "are") for count in (1, 2)] == ["is", "are"]


def test_a_long_list_is_told_by_its_first_items() -> None:
    """And by how many there are more."""
    assert in_short([3, 8], 2) == "3, 8"
    assert in_short([3, 8, "a", 5], 2) == "3, 8 and 2 more"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 us"),
        (4.2e-6, "4 us"),
        (0.0001, "100 us"),
        (0.00099999, "1.0 ms"),
        (0.0042, "4.2 ms"),
        (0.9, "900.0 ms"),
        (0.99996, "1.0 s"),
        (185.0, "3 m 05 s"),
        (1.5, "1.5 s"),
    ],
)
def test_a_short_time_is_said_in_the_unit_that_fits(seconds: float, text: str) -> None:
    """From a second on it is told as others are."""
    assert format_cost(seconds) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (-1e-12, "0 %"), (0.0042, "0.4 %"), (0.05, "5 %"), (0.626, "63 %"),
     (1.0, "100 %")],
)  # fmt: skip
def test_a_share_is_shown_in_percent(share: float, text: str) -> None:
    """Small ones with a tenth."""
    assert format_percent(share) == text


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.0, "0"), (2e-5, "20 us"), (0.001, "1 ms"), (0.0125, "12.5 ms"), (2.5, "2.5 s")],
)
def test_waits_are_labelled_in_their_unit(seconds: float, said: str) -> None:
    """Without zeros that say nothing."""
    assert format_wait(seconds) == said

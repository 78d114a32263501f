"""What a page carries along for machines."""

import json

import pytest

from autoloader.report.html.embedded import readings_table, script_json

ROWS = [
    {"trial": number, "rate": 1234.56789012, "kept": True, "cache": None}
    for number in range(10)
]


def test_readings_are_columns_and_rows_with_six_digits() -> None:
    """More is noise, and a whole number needs no point."""
    found = readings_table(ROWS, most_bytes=10_000)

    assert found["columns"] == ["trial", "rate", "kept", "cache"]
    assert found["rows"][3] == [3, 1234.57, True, None]
    assert found["of"] == 10
    assert readings_table([{"x": 2.0}], most_bytes=99)["rows"] == [[2]]


def test_rows_are_kept_while_there_is_room() -> None:
    """The first ones; how many there are is told."""
    found = readings_table(ROWS, most_bytes=100)

    assert 0 < len(found["rows"]) < 10
    assert len(json.dumps(found["rows"], separators=(",", ":"))) <= 102
    assert found["of"] == 10


def test_no_readings_are_an_empty_table() -> None:
    """Without columns."""
    assert readings_table([], most_bytes=100) == {"columns": [], "rows": [], "of": 0}


def test_nothing_in_json_can_end_a_script() -> None:
    """And it is still the same JSON."""
    data = {"name": "</script><!--<script>&"}

    text = script_json(data)

    assert "<" not in text
    assert ">" not in text
    assert json.loads(text) == data


def test_what_is_no_number_is_no_json() -> None:
    """No parser of a browser would read it."""
    with pytest.raises(ValueError, match=r"^Out of range float values"):
        script_json({"rate": float("nan")})

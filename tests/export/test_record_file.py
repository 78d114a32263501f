"""A record sheet is stored as a table."""

import csv
from pathlib import Path

from autoloader.export.record_file import record_text, write_record
from autoloader.values.diagnosis import RecordRow

ROWS = (
    RecordRow(setting="0 workers", checked="ids", seconds=1.5, conclusion="right"),
    RecordRow(
        setting="2 workers", checked="nothing", seconds=None, conclusion='a "b", c'
    ),
)


def test_a_table_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    """Commas and quotes of a message stay in their cell."""
    path = tmp_path / "record.csv"

    write_record(path, ROWS)

    with path.open(newline="", encoding="utf-8") as file:
        heading, *rows = csv.reader(file)
    assert heading == ["setting", "checked", "seconds", "conclusion"]
    assert rows == [
        ["0 workers", "ids", "1.500000", "right"],
        ["2 workers", "nothing", "", 'a "b", c'],
    ]


def test_a_password_is_left_out() -> None:
    """What an exception says may hold an address with one."""
    row = RecordRow(
        setting="2 workers",
        checked="nothing",
        seconds=None,
        conclusion="crashed: https://me:secret@store/x is gone",
    )

    assert "secret" not in record_text([row])

"""Write a record sheet as a table that spreadsheets and pandas read: CSV."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from autoloader.files import write_whole
from autoloader.values.passwords import without_passwords

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from autoloader.values.diagnosis import RecordRow

COLUMNS = ("setting", "checked", "seconds", "conclusion")


def record_text(rows: Iterable[RecordRow]) -> str:
    """Return the rows as CSV, a heading above them; passwords are left out.

    A row without seconds has an empty cell.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for row in rows:
        seconds = "" if row.seconds is None else f"{row.seconds:.6f}"
        table.writerow((row.setting, row.checked, seconds, row.conclusion))
    return without_passwords(text.getvalue())


def write_record(path: Path, rows: Iterable[RecordRow]) -> None:
    """Write the record sheet.

    Raises:
        StoredFileError: the disk refuses.
    """
    write_whole(path, record_text(rows))

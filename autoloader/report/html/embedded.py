"""What a page carries along for machines: its readings, as columns and rows.

Pure: readings in, plain values out, no more of them than fit. The text of a JSON that
stands in a page is made safe here as well.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DIGITS = 6
"""Significant digits of a number: more is noise."""

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
"""What could end a script element, or begin a comment in it."""


def readings_table(
    rows: Sequence[Mapping[str, Any]], *, most_bytes: int
) -> dict[str, Any]:
    """Return readings as columns and rows, the first ones that fit.

    Args:
        rows: cells by column, all with the same columns.
        most_bytes: what the text of all rows may have.

    Returns:
        `columns`, `rows`, and `of`: how many rows there are in all.
    """
    columns = list(rows[0]) if rows else []
    kept: list[list[Any]] = []
    size = 0
    for row in rows:
        cells = [_short(row[name]) for name in columns]
        size += len(json.dumps(cells, separators=(",", ":"))) + 1
        if size > most_bytes:
            break
        kept.append(cells)
    return {"columns": columns, "rows": kept, "of": len(rows)}


def script_json(data: object) -> str:
    """Return plain values as JSON that may stand within a script element.

    Raises:
        ValueError: a number is not finite.
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for letter, escaped in _ESCAPES.items():
        text = text.replace(letter, escaped)
    return text


def _short(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 2**53 else short

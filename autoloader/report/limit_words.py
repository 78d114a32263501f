"""The section `limit` of a recommendation in words.

Pure: the section in, sentences out. What it says was decided in `measure.limits`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.units import format_rate

if TYPE_CHECKING:
    from collections.abc import Mapping


WORDS = {"transform": "decode or transform"}
"""Names that say less than people would."""


def limit_words(section: Mapping[str, Any] | None) -> str | None:
    """Return what limits, and what no setting exceeds; None where nothing was seen."""
    if section is None:
        return None
    name, ceiling = section["name"], section["ceiling_examples_per_s"]
    cached = section["cached_examples_per_s"]
    if name == "unknown":
        return f"not named: {section['evidence']}"
    if name == "space":
        return f"none yet: {section['evidence']}; a wider --num-workers may gain"
    said = f"{WORDS.get(name, name)}: {section['evidence']}"
    if ceiling is not None:
        said += f"; no DataLoader setting exceeds {format_rate(ceiling)}/s here"
    if cached is not None:
        said += f", where examples are free it gives {format_rate(cached)}/s"
    return said


def advice_words(section: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return what may help, each with what it gains at most and how to test it."""
    if section is None:
        return ()
    return tuple(_advice(item) for item in section["advice"])


def _advice(item: Mapping[str, Any]) -> str:
    most = item["most_gain"]
    gain = "a test tells its gain" if most is None else f"at most {most:.2f} times"
    return f"{item['what']} ({gain}; {item['test']})"

"""Training loops for people: a table of their own, and what the step is limited by.

Pure: the section `step` of a recommendation in, rows and sentences out. A loop's rate
never stands in a column of loaders' rates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from autoloader.report.cleaning import clean
from autoloader.units import format_percent, format_rate, format_wait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rich.console import RenderableType

_TO, _TIMES = "\u2013", "\u00d7"

_NAMES = {
    "pytorch_default": "PyTorch default",
    "yours": "yours",
    "fastest": "fastest",
    "chosen": "chosen",
}
"""Names of a recommendation's configs in words; others stand as they are."""


def loops_table(section: Mapping[str, Any], against: str) -> RenderableType:
    """Return a table of the loops; configs that several names fit are one row.

    Args:
        section: `step` of a recommendation or of a measuring.
        against: what others are compared with, in words.
    """
    loops: Mapping[str, Mapping[str, Any]] = section["loops"]
    has_device = any(item.get("utilisation") is not None for item in loops.values())
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="label")
    table.add_column("training loop", overflow="fold")
    headings = ["workers", "examples/s", f"vs {against}", "waits", "step"]
    for heading in [*headings, *(["device busy"] if has_device else [])]:
        table.add_column(heading, justify="right", no_wrap=True)
    for title, loop in merged_loops(loops):
        cells = [
            Text(str(loop["dataloader"].get("num_workers", 0))),
            _rate(loop),
            _relative(loop),
            _share(loop.get("wait_share", {}).get("mean")),
            _seconds(loop.get("compute_s")),
        ]
        if has_device:
            cells.append(_share(loop.get("utilisation")))
        table.add_row(Text(title, style="strong"), *cells)
    return table


def step_words(section: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is said of the step: its own rate, its limit, what is saved."""
    alone = section["alone"]
    rate = format_rate(alone["examples_per_s"])
    yield (
        "step",
        f"{section['spec']} takes {rate} examples/s where it never waits, "
        f"{format_wait(alone['step_s'])} a step",
    )
    loops: Mapping[str, Mapping[str, Any]] = section["loops"]
    judged = loops.get(section["judged"] or "")
    if section["limited_by"] == "step":
        yield (
            "loop",
            "limited by the step: it waits less than "
            f"{format_percent(section['wait_share_wanted'])} of its time; a faster "
            "loader would gain next to nothing",
        )
    elif section["limited_by"] == "loader" and judged is not None:
        waits = format_percent(judged["wait_share"]["mean"])
        yield "loop", f"limited by the loader: the step waits {waits} of its time"
    if section["overlap"] is not None:
        seen = section["overlap"]["seen"]
        share = format_percent(section["overlap"]["share"])
        yield (
            "overlap",
            f"loading goes on while the step computes: {share} of what can be hidden"
            if seen
            else "none seen: loading and computing take turns",
        )
    if judged is not None and judged.get("saved_share") is not None:
        yield "saved", _saved(judged["saved_share"], section)
    for name, loop in loops.items():
        if loop["failed"] is not None:
            yield "loop failed", f"{_NAMES.get(name, name)}: {clean(loop['failed'])}"


def _saved(share: float, section: Mapping[str, Any]) -> str:
    part, new, old = format_percent(abs(share)), section["judged"], section["against"]
    pair = f"{_NAMES.get(new, new)} against {_NAMES.get(old, old)}"
    if share >= 0:
        return f"{part} of the training loop's time, {pair}"
    return f"nothing: the training loop takes {part} longer, {pair}"


def merged_loops(
    loops: Mapping[str, Mapping[str, Any]],
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the title and figures of each config, however many names it has."""
    left = dict(loops)
    while left:
        _first, loop = next(iter(left.items()))
        same = [key for key in left if left[key]["dataloader"] == loop["dataloader"]]
        yield " = ".join(_NAMES.get(key, key) for key in same), loop
        left = {key: value for key, value in left.items() if key not in same}


def _rate(loop: Mapping[str, Any]) -> Text:
    if loop["failed"] is not None:
        return Text("failed", style="bad")
    return _interval(loop["loop_rate"], format_rate)


def _relative(loop: Mapping[str, Any]) -> Text:
    found = loop.get("relative")
    if found is None:
        return Text("-", style="label")
    return _interval(found, lambda ratio: f"{ratio:,.2f}{_TIMES}")


def _interval(found: Mapping[str, Any], words: Callable[[float], str]) -> Text:
    said = Text(words(found["median"]))
    if found["low"] is not None and found["high"] is not None:
        ends = f"\n{words(found['low'])}{_TO}{words(found['high'])}"
        said.append(ends, style="label")
    return said


def _share(share: float | None) -> Text:
    return Text("-", style="label") if share is None else Text(format_percent(share))


def _seconds(seconds: float | None) -> Text:
    return Text("-", style="label") if seconds is None else Text(format_wait(seconds))

"""The result of a check, laid out for people.

Pure: the object that `check --json` writes in, something that rich can draw out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from autoloader.report import sentences
from autoloader.report.cleaning import clean
from autoloader.report.table import labelled, with_hint
from autoloader.values.config import LoaderConfig

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rich.console import RenderableType


def draw(check: Mapping[str, Any]) -> RenderableType:
    """Return cautions, verdict, the dataset's fields, and what each config delivered.

    Args:
        check: `passed`, `status`, `verified`, `cautions`, `runs`, `dataset`, `ranks`.
    """
    parts: list[RenderableType] = []
    if check["cautions"]:
        parts.append(labelled(_noted("caution", "doubt", check["cautions"])))
    parts.append(_verdict(check))
    parts.append(_dataset(check["dataset"], check.get("ranks", 1)))
    parts.append(labelled(line for run in check["runs"] for line in _run(run)))
    blank = Text("")
    return Group(*(item for part in parts for item in (part, blank)))


def _verdict(check: Mapping[str, Any]) -> Text:
    """Return whether each config delivers what one process does."""
    if check["passed"]:
        facts = check["dataset"]
        same = sentences.compared(
            **check["verified"],
            label=facts["label"],
            random_fields=[item["path"] for item in facts["fields"] if item["random"]],
            is_comparable=_can_be_compared(check.get("scope", {}).get("stream")),
        )
        return Text.assemble(("Passed:", "chosen"), f" {clean(same)}.")
    runs = check["runs"]
    wrong = sum(run["status"] != "passed" for run in runs)
    said = f" {wrong} of {len(runs)} configs deliver other data, or none."
    return Text.assemble(("Not passed:", "bad"), said)


def _can_be_compared(stream: Mapping[str, Any] | None) -> bool:
    return stream is None or stream["is_complete"] or stream["keeps_order"]


def _dataset(facts: Mapping[str, Any], ranks: int) -> RenderableType:
    """Return the dataset's size, who reads it, and the fields of an example."""
    kind = "by index" if facts["kind"] == "map" else "as a stream"
    length = facts["length"]
    size = "length not declared" if length is None else f"{length:,} examples"
    by = "" if ranks == 1 else f", by {ranks} ranks at once"
    head = Text(clean(f"{facts['name']}, {size}, read {kind}{by}"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="label")
    for heading in ("field", "type", "dtype", "shape", ""):
        table.add_column(heading, overflow="fold")
    for item in facts["fields"]:
        notes = ["label"] if item["path"] == facts["label"] else []
        notes += ["random"] if item["random"] else []
        cells = (
            item["path"] or "(example)",
            item["type"],
            item["dtype"] or "-",
            _shape(item["shape"]),
            ", ".join(notes),
        )
        table.add_row(*(Text(clean(cell)) for cell in cells))
    return Group(head, table)


def _shape(sizes: Iterable[int | None] | None) -> str:
    """Return `3 x 32 x 32`; a size that varies is `?`, one number has `-`."""
    if sizes is None:
        return "-"
    return " x ".join("?" if size is None else str(size) for size in sizes) or "-"


def _run(run: Mapping[str, Any]) -> Iterator[tuple[Text, Text]]:
    """Yield what one config delivered: its fate, then each finding."""
    status = run["status"]
    config = LoaderConfig.from_dict(run["config"]).describe()
    style = "good" if status == "passed" else "bad"
    yield Text(status.replace("_", " "), style=style), Text(config)
    yield from _noted("", "bad", run["findings"])
    failure = run.get("failure")
    if failure is not None:
        said = f"{failure['kind']}: {failure['message']}"
        yield Text(""), with_hint(said, failure["hint"])


def _noted(
    label: str, style: str, items: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[Text, Text]]:
    for item in items:
        said = f"{item['code']}: {item['message']}"
        yield Text(label, style=style), with_hint(said, item.get("hint"))

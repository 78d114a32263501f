"""The result of a diagnosis, laid out for people: what failed first, the rest below.

Pure: the object that `diagnose --json` writes in, something that rich can draw out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from autoloader.measure.intervals import median
from autoloader.report.cleaning import clean
from autoloader.report.table import labelled
from autoloader.units import format_bytes, format_cost, in_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType


def draw(diagnosis: Mapping[str, Any], record: str | None) -> RenderableType:
    """Return the verdict in five lines, then stages, examples and record sheet.

    Args:
        diagnosis: `failed`, `stages`, `sheet`.
        record: file that the sheet was written to; None: there is none.
    """
    failed, stages = diagnosis["failed"], diagnosis["stages"]
    parts: list[RenderableType] = [
        _passed(stages) if failed is None else labelled(_failed(failed))
    ]
    if stages["examples"]:
        parts += [_stages(stages), labelled(_examples(stages))]
    if diagnosis["sheet"]:
        parts.append(_sheet(diagnosis["sheet"]))
    if record is not None:
        parts.append(labelled([(Text("record", style="label"), Text(clean(record)))]))
    blank = Text("")
    return Group(*(item for part in parts for item in (part, blank)))


def _passed(stages: Mapping[str, Any]) -> Text:
    count = len({item["id"] for item in stages["examples"]})
    of = "" if stages["of"] is None else f" of {stages['of']:,}"
    said = (
        f" no stage fails in one process ({count:,}{of} examples read), "
        "nor with workers."
    )
    return Text.assemble(("Passed:", "chosen"), said)


def _failed(failed: Mapping[str, Any]) -> Iterator[tuple[Text, Text]]:
    """Yield stage and id, where to look, then what may be long: what happened."""
    ids = ", ".join(str(index) for index in failed["ids"])
    stage = failed["stage"].replace("_", "-")
    head = f"{stage}, {in_number(len(failed['ids']), 'id')} {ids}" if ids else stage
    yield Text("failed", style="bad"), Text(clean(head), style="strong")
    yield Text("look at", style="label"), Text(clean(failed["look_at"]))
    place = f", in {failed['place']}" if failed["place"] else ""
    yield Text("happened", style="label"), Text(clean(f"{failed['message']}{place}"))
    yield Text("not", style="label"), Text(clean(failed["rules_out"]))
    if failed["evidence"]:
        yield Text("seen", style="label"), Text(clean(failed["evidence"]))
    if failed["log"]:
        yield Text("log", style="label"), Text(clean(failed["log"]))


def _stages(stages: Mapping[str, Any]) -> RenderableType:
    """Return what an example costs in each stage, by the median."""
    table = _table("stage", "an example", "CPU time", "readings")
    examples = stages["examples"]
    access = "access" if stages["transform"] else "access and transform"
    kinds = [(access, "access")]
    if stages["transform"]:
        kinds.append((f"transform ({stages['transform']})", "transform"))
    for words, key in kinds:
        wall = [item[f"{key}_s"] for item in examples]
        cpu = [item[f"{key}_cpu_s"] for item in examples]
        table.add_row(*_cells(words, median(wall), median(cpu), len(wall)))
    for stage in stages["batches"]:
        words = stage["stage"].replace("_", "-")
        if stage["skipped"] is not None:
            table.add_row(Text(words), Text(clean(stage["skipped"]), style="label"))
        elif stage["costs"]:
            table.add_row(*_batch_cells(words, stage["costs"]))
    return table


def _batch_cells(words: str, costs: Sequence[Mapping[str, Any]]) -> list[Text]:
    wall = median([cost["seconds"] / cost["examples"] for cost in costs])
    known = [
        cost["cpu_s"] / cost["examples"] for cost in costs if cost["cpu_s"] is not None
    ]
    return _cells(words, wall, median(known) if known else None, len(costs))


def _cells(words: str, wall_s: float, cpu_s: float | None, count: int) -> list[Text]:
    cpu = "-" if cpu_s is None else format_cost(cpu_s)
    return [
        Text(clean(words)),
        Text(format_cost(wall_s)),
        Text(cpu),
        Text(f"{count:,}"),
    ]


def _examples(stages: Mapping[str, Any]) -> Iterator[tuple[Text, Text]]:
    """Yield the examples that stand for the others: ends, sizes, the slowest."""
    examples = stages["examples"]
    chosen = examples[: stages["representatives"]]
    size = _size_key(examples)
    roles = list(zip(("first", "last"), chosen[: stages["ends"]], strict=False))
    if len({item[size] for item in examples}) > 1:
        roles.append(("smallest", min(examples, key=lambda item: item[size])))
        roles.append(("largest", max(examples, key=lambda item: item[size])))
    roles.append(("slowest", max(examples, key=_seconds)))
    for role, item in roles:
        said = (
            f"id {item['id']}: {format_cost(_seconds(item))}, "
            f"{format_bytes(item[size])}"
        )
        yield Text(role, style="label"), Text(clean(said))
    others = chosen[2:] if stages["ends"] == 2 else ()
    ids = ", ".join(str(item["id"]) for item in others)
    if ids:
        noun = in_number(len(others), "id")
        yield Text("random", style="label"), Text(clean(f"{noun} {ids}"))


def _size_key(examples: Sequence[Mapping[str, Any]]) -> str:
    """Return by which bytes examples are small or large: those read, where told."""
    reads = all(item["read_bytes"] for item in examples)
    return "read_bytes" if reads else "example_bytes"


def _seconds(item: Mapping[str, Any]) -> float:
    return float(item["access_s"] + item["transform_s"])


def _sheet(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    table = _table("setting", "checked", "seconds", "conclusion")
    for row in rows:
        seconds = "-" if row["seconds"] is None else f"{row['seconds']:.2f}"
        cells = (row["setting"], row["checked"], seconds, row["conclusion"])
        table.add_row(*(Text(clean(cell)) for cell in cells))
    return table


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="label")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table

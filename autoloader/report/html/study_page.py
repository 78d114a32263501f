"""The page of a study: which sections it has, in which order, and what they say.

Pure: a report in, a page out. Sections without anything to say are left out.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.export.needs_section import read_basis
from autoloader.export.recommendation import Recommendation
from autoloader.measure.needs import Demand, needs_of
from autoloader.report.damage import damage_named
from autoloader.report.html import study_tables as tables
from autoloader.report.html.blocks import (
    Cell,
    Details,
    Downloads,
    Facts,
    Figure,
    Notice,
    Page,
    Paragraph,
    Section,
    Snippet,
    Tile,
)
from autoloader.report.html.cells import interval_cell, memory_cell
from autoloader.report.html.courses import race_by_rounds, wait_shares
from autoloader.report.html.embedded import readings_table
from autoloader.report.html.plots import rate_by_memory, rate_by_workers
from autoloader.report.html.timeline import time_line
from autoloader.report.knob_rows import value_words
from autoloader.report.loop_rows import step_words
from autoloader.report.machine import machine_words
from autoloader.report.needs import needs_words
from autoloader.report.snippets import framework_snippets, snippets_of
from autoloader.report.table import multiple_like
from autoloader.units import counted, format_rate
from autoloader.values.decode import value_of
from autoloader.values.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from autoloader.report.html.blocks import Block
    from autoloader.report.html.frame import Chart
    from autoloader.report.snippets import Paste
    from autoloader.report.study import StudyReport

MOST_BYTES = 200_000
"""Text of the embedded readings; a study of 300 trials takes half of it."""

MOST_KNOBS = 10
"""Rows of the table of knobs that are shown without being asked for."""

_SOURCES = {"use": "dataloader", "configs": "knobs", "data": "verified"}
"""Sections of the file that sections of the page are made of, where names differ."""


def study_page(report: StudyReport, *, most_bytes: int = MOST_BYTES) -> Page:
    """Return the page.

    Args:
        report: of the study.
        most_bytes: what the embedded readings may have.
    """
    data = _data(report, most_bytes) if report.taken else None
    section = partial(_section, report.name)
    sections = (
        section("cautions", "Cautions", _cautions(report)),
        section("use", "Use it", _snippets(report)),
        section("configs", "Configs", _configs(report)),
        section("rates", "Rate, workers and memory", _rates(report)),
        section("waits", "Waits for batches", _waits(report)),
        section("race", "The race", _race(report)),
        section("search", "The search", _search(report)),
        section("data", "Is the data the same?", _gate(report)),
        section("limit", "What limits it", _limit(report)),
        section("step", "The training step", _step(report)),
        section("needs", "What the target takes", _needs(report)),
        section("scope", "Scope and contract", _scope(report)),
        section("machine", "Machine and versions", _machine(report)),
        section("readings", "Readings", _readings(report, data)),
    )
    return Page(
        heading=report.dataset,
        about="DataLoader settings for",
        state="plain" if report.state == "without_file" else report.state,
        verdict=report.verdict,
        lead=tuple(said for said in (report.bound,) if said is not None),
        tiles=tuple(_tiles(report)),
        sections=tuple(item for item in sections if item.blocks),
        data=data,
        file_stem=f"{Path(report.name).stem}-readings",
    )


def _tiles(report: StudyReport) -> Iterator[Tile]:
    """Yield what the chosen config does; of a target that is not met, the fastest."""
    subject = "chosen" if report.is_met else "fastest"
    row = next((row for row in report.rows if subject in row.names), None)
    if row is None or row.rate is None:
        return
    settings = row.config.describe().partition(", ")[2]
    pairs = (
        (
            "examples/s" if report.is_met else "examples/s of the fastest",
            interval_cell(row.rate, format_rate),
        ),
        (
            "vs PyTorch default",
            interval_cell(row.relative, multiple_like(row.relative)),
        ),
        ("workers", Cell(said=str(row.config.num_workers), beneath=settings)),
        ("memory", memory_cell(row.peak_bytes, was_full=row.queue_was_full)),
    )
    for label, cell in pairs:
        if cell.said:
            yield Tile(label=label, said=cell.said, beneath=cell.beneath)


def _section(path: str, name: str, title: str, blocks: Iterator[Block]) -> Section:
    with damage_named(_SOURCES.get(name, name), path):
        return Section(name=name, title=title, blocks=tuple(blocks))


def _cautions(report: StudyReport) -> Iterator[Block]:
    for caution in report.cautions:
        yield Notice(code=caution.code, message=caution.message, hint=caution.hint)
    for said in report.missing:
        yield Notice(code=None, message=said)


def _snippets(report: StudyReport) -> Iterator[Block]:
    settings = report.sections.get("dataloader")
    if settings is None:
        return
    if not report.is_met:
        said = "These are the fastest settings; they are not known to meet the target."
        yield Paragraph(said=said)
    for item in snippets_of(settings, Path(report.name).name):
        yield _snippet(item)
    others = framework_snippets(Recommendation(dict(report.sections)))
    yield Details(
        title="For other frameworks", blocks=tuple(_snippet(item) for item in others)
    )


def _snippet(item: Paste) -> Snippet:
    return Snippet(name=f"snippet-{item.name}", title=item.title, text=item.text)


def _configs(report: StudyReport) -> Iterator[Block]:
    if report.rows:
        yield tables.configs_table(report)
    knobs = tables.knobs_table(report)
    if knobs is None:
        return
    if len(knobs.rows) <= MOST_KNOBS:
        yield knobs
    else:
        yield Details(title="What each knob does by itself", blocks=(knobs,))


def _rates(report: StudyReport) -> Iterator[Block]:
    target: Mapping[str, Any] = report.sections.get("target", {})
    limit: Mapping[str, Any] = report.sections.get("limit") or {}
    wanted = target.get("examples_per_s")
    ceiling = limit.get("ceiling_examples_per_s")
    yield from _figure(
        rate_by_workers(report.trials, target=wanted, ceiling=ceiling),
        "Each mark is a config, at its median rate; vertical lines are 95 % intervals "
        "of configs that were read more than once. The thin line joins the fastest of "
        "each number of workers.",
    )
    yield from _figure(
        rate_by_memory(
            report.trials, target=wanted, limit_bytes=target.get("memory_bytes")
        ),
        "The stairs join the configs that no other one beats in both rate and memory. "
        "Memory is that of host, trainer, workers and queued batches together.",
    )


def _waits(report: StudyReport) -> Iterator[Block]:
    yield from _figure(
        wait_shares(report.waits),
        "Times that the loop stood waiting for its next batch, in the steady part of "
        "all readings that count. With workers they come in waves: many short, a few "
        "long. The loop does nothing else here.",
    )


def _race(report: StudyReport) -> Iterator[Block]:
    said = report.fact("race")
    if said is not None:
        yield Facts(items=(("race", said),))
    race = report.race
    if race is None:
        return
    yield from _figure(
        race_by_rounds(race),
        "Each point is a config's rate divided by that of the config it is compared "
        "with, in the same round.",
    )
    yield tables.race_table(race)
    yield Details(title="Rates of each round", blocks=(tables.rounds_table(race),))


def _search(report: StudyReport) -> Iterator[Block]:
    told = [(label, report.fact(label)) for label in ("search", "untried", "time")]
    items = tuple((label, said) for label, said in told if said is not None)
    if items:
        yield Facts(items=items)
    yield from _figure(
        time_line(report.trials, report.raced),
        "Each bar is a trial: as wide as it took, as high as its first reading. A "
        "cross is a trial without a speed; the line is the fastest so far; points are "
        "readings of the race, where the record says when they were taken.",
    )
    if report.failed:
        yield tables.failed_table(report.failed)
    if report.trials:
        table = tables.trials_table(report.trials)
        yield Details(title=f"All {len(report.trials)} trials", blocks=(table,))


def _gate(report: StudyReport) -> Iterator[Block]:
    said = report.fact("data")
    items = [] if said is None else [("verified", said)]
    verified: Mapping[str, Any] = report.sections.get("verified") or {}
    if verified:
        rows = "collated rows against their examples"
        how = (
            rows if verified["compared"] == "rows" else "examples as workers read them"
        )
        items.append(("compared", how))
        items.append(("fixed fields", _paths(verified["fixed_fields"])))
        items.append(("random fields", _paths(verified["random_fields"])))
    gate = report.gate
    if report.trials:
        items.append(("trials", _gated(report)))
        items += [("fault", _in_trials(*found)) for found in gate.findings]
        items += [("noted", _in_trials(*found)) for found in gate.cautions]
    if items:
        yield Facts(items=tuple(items))


def _gated(report: StudyReport) -> str:
    gate = report.gate
    span = f"{gate.least_examples:,} to {gate.most_examples:,} examples"
    if gate.least_examples == gate.most_examples:
        span = f"{gate.most_examples:,} examples"
    said = f"{gate.passed} passed, {gate.refused} refused, each over {span} an epoch"
    if gate.unread:
        said += f"; {gate.unread} ended before their data was judged"
    return said


def _in_trials(code: str, trials: int) -> str:
    return f"{code} in {counted(trials, 'trial')}"


def _paths(paths: list[str]) -> str:
    return ", ".join(map(_path, paths)) or "none"


def _path(path: str) -> str:
    if not path:
        return "the example"
    return f"field {path}" if path.replace(".", "").isdigit() else path


def _limit(report: StudyReport) -> Iterator[Block]:
    items = tuple(item for item in report.facts if item[0] in {"limit", "advice"})
    if items:
        yield Facts(items=items)
    limit = report.sections.get("limit") or {}
    for table in (tables.stages_table(limit), tables.functions_table(limit)):
        if table is not None:
            yield table


def _step(report: StudyReport) -> Iterator[Block]:
    step = report.sections.get("step")
    if step is not None:
        yield Facts(items=tuple(step_words(step)))
        yield tables.loops_table(step)


def _needs(report: StudyReport) -> Iterator[Block]:
    """Yield what the target takes of a node, where the file tells of both."""
    target: Mapping[str, Any] = report.sections.get("target", {})
    rate, ranks = target.get("examples_per_s"), target.get("ranks", 1)
    if not rate or report.sections.get("needs") is None:
        return
    recommendation = Recommendation(dict(report.sections))
    basis = read_basis(recommendation, report.name)
    needs = needs_of(basis, Demand(examples_per_s=rate, ranks=ranks))
    machine = value_of(Machine, report.sections["machine"], place="machine")
    yield Facts(items=tuple(needs_words(needs, machine)))
    assumed = tuple(("assumed", said) for said in needs.assumptions)
    yield Details(title="What that takes for granted", blocks=(Facts(items=assumed),))


def _scope(report: StudyReport) -> Iterator[Block]:
    said = report.fact("scope")
    scope: Mapping[str, Any] = report.sections.get("scope") or {}
    items = [] if said is None else [("scope", said)]
    items += [
        (f"argument {name}", str(value)) for name, value in scope.get("arguments", ())
    ]
    excluded: Mapping[str, Any] = scope.get("excluded") or {}
    items += [
        (f"left out of {name.replace('_', ' ')}", str(excluded[name]))
        for name in ("epoch_rate", "steady_rate")
        if name in excluded
    ]
    contract: Mapping[str, Any] | None = report.sections.get("contract")
    table = None
    if contract is not None:
        with damage_named("contract", report.name):
            items += _contract(contract)
            table = tables.fields_table(contract)
    if items:
        yield Facts(items=tuple(items))
    if table is not None:
        yield table


def _contract(contract: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield whether a contract was held, and by which rules."""
    held = "held: every example was held to it" if contract["held"] else "not held"
    yield "contract", f"{held}; {contract['seen']:,} examples were seen"
    rules: Mapping[str, Any] = contract.get("rules") or {}
    if rules:
        words = (f"{name} {value_words(rule)}" for name, rule in rules.items())
        yield "rules", "; ".join(words)


def _machine(report: StudyReport) -> Iterator[Block]:
    if "machine" in report.sections:
        machine = value_of(Machine, report.sections["machine"], place="machine")
        yield Facts(items=machine_words(machine))
    versions: Mapping[str, Any] = report.sections.get("versions") or {}
    key: Mapping[str, Any] = report.study_state.get("key") or {}
    if not versions:
        versions = {**key.get("software", {}), "machine": key.get("machine", "unknown")}
        versions = versions if key else {}
    study: Mapping[str, Any] = report.sections.get("study") or {}
    items = [(name, str(value)) for name, value in versions.items()]
    items += [
        (f"study {name}", str(study[name]))
        for name in ("name", "date")
        if name in study
    ]
    if items:
        yield Facts(items=tuple(items))


def _readings(report: StudyReport, data: Mapping[str, Any] | None) -> Iterator[Block]:
    if data is None:
        return
    shown, of = len(data["readings"]["rows"]), data["readings"]["of"]
    said = f"All {of:,} readings of the study are in this page."
    if shown < of:
        said = (
            f"The first {shown:,} of {of:,} readings are in this page; all of them are "
            f"in {report.outcomes_file}."
        )
    yield Paragraph(
        said=f"{said} Rates are examples a second, times seconds, sizes bytes."
    )
    yield Downloads(rows=shown)


def _data(report: StudyReport, most_bytes: int) -> dict[str, Any]:
    """Return what is embedded: what `--json` has but for trials, and the readings."""
    rows = [item.to_dict() for item in report.taken]
    told = report.to_dict()
    names = ("schema", "dataset", "dataloader", "state", "verdict", "target", "configs")
    return {
        **{name: told[name] for name in names},
        "readings": readings_table(rows, most_bytes=most_bytes),
    }


def _figure(chart: Chart | None, caption: str) -> Iterator[Block]:
    if chart is not None:
        yield Figure(chart=chart, caption=caption)

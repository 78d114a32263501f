"""Write stored figures as Markdown tables, and put them between the marks of a page.

Pure: stored JSON in, lines out. What was not measured gives no line.
"""

from __future__ import annotations

import re
from statistics import median
from typing import TYPE_CHECKING, Any

from autoloader.errors import StoredFileError
from autoloader.units import format_bytes, format_rate, format_seconds
from autoloader.values.config import LoaderConfig
from scripts.peers.advice import Advice, key_of
from scripts.studied.grid_file import foreign_cpus, rounds_read
from scripts.studied.judging import GRID, fastest_of, rate_of, ratio_of, short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autoloader.measure.intervals import Interval
    from scripts.studied.conditions import Stored
    from scripts.studied.judging import GridRow, Rates

_NONE = "-"


def conditions_line(data: Stored) -> str:
    """Return the machine, the versions and the date of stored figures, in one line."""
    said = data["conditions"]
    commit = said.get("commit")
    version = said["autoloader"] if commit is None else f"commit {commit}"
    return (
        f"{said['cpu']}, {said['cpus']:g} CPUs, "
        f"{format_bytes(said['memory_bytes'])}, {said['system'].partition(' ')[0]} "
        f"{said['kernel'].partition('-')[0]}, Python {said['python']}, torch "
        f"{said['torch']}, {version}, {said['date']}."
    )


def conditions_lines(data: Mapping[str, Stored]) -> list[str]:
    """Return the conditions of several studies: one line each, named where they differ.

    Args:
        data: stored figures by study.
    """
    by_line: dict[str, list[str]] = {}
    for name, found in data.items():
        by_line.setdefault(conditions_line(found), []).append(name)
    if len(by_line) < 2:
        return list(by_line)
    return [f"- {', '.join(names)}: {line}" for line, names in by_line.items()]


def grid_table(data: Stored) -> list[str]:
    """Return the median rate of each config of a grid: workers down, others across."""
    count = rounds_read(data)
    if not count:
        return []
    rows = [(LoaderConfig.from_dict(row["config"]), row) for row in data["configs"]]
    across = sorted(
        {_others_of(config) for config, _ in rows if config.num_workers},
        key=lambda other: (other[1], other[0]),
    )
    cells = {(item.num_workers, _others_of(item)): _cell(row) for item, row in rows}
    heads = [f"prefetch {depth}{', kept' * kept}" for depth, kept in across]
    lines = [_line("workers", *heads), _rule(1 + len(across))]
    for workers in sorted({item.num_workers for item, _ in rows}):
        at = [(None, False)] if not workers else across
        found = [cells.get((workers, other), _NONE) for other in at]
        lines.append(_line(str(workers), *found, *[""] * (len(across) - len(at))))
    busy = foreign_cpus(data)
    noise = (
        f"; other programs took {busy[0]:.2f} CPUs in the middle, {busy[1]:.2f} at most"
        if busy
        else ""
    )
    lines += [
        "",
        f"Examples/s of whole epochs, median of {count} readings in interleaved rounds "
        f"({format_seconds(data['spent_s'])} in all{noise}).",
    ]
    return lines


def search_table(rows: Sequence[GridRow]) -> list[str]:
    """Return a row a study: the exhaustive answer, and tunes replayed on its table."""
    if not rows:
        return []
    return [
        _line(
            "study",
            "fastest of the grid",
            "examples/s",
            "a reading scatters by",
            "grid took",
            "chosen (replayed tunes)",
            "least of the fastest",
            "median",
            "timed passes of the grid's",
            "within the bars",
        ),
        _rule(10),
        *(_search_row(row) for row in rows),
    ]


def tunes_table(found: Mapping[str, tuple[Stored, Stored | None]]) -> list[str]:
    """Return a row for each live tune.

    Args:
        found: by study the stored tunes, and the race of plain loops that read what
            they recommend; None where it was not read.
    """
    lines = [
        _line(name, str(number), *_tune_cells(item, raced))
        for name, (tunes, raced) in found.items()
        for number, item in enumerate(tunes.get("tunes", []), start=1)
    ]
    heads = _line(
        "study", "tune", "recommends", "state", "took", "timed passes", "examples/s",
        "of the grid's fastest (95 %)",
    )  # fmt: skip
    return [heads, _rule(8), *lines] if lines else []


def peers_table(data: Stored) -> list[str]:
    """Return a row for each advice of a study: what it is, and what it delivers."""
    rates: Rates = data.get("rates") or {}
    advice = [Advice(**item) for item in data.get("advice", [])]
    if not any(rates.values()):
        return []
    keys = {item.who: _key(item) for item in advice}
    others = [key for who, key in keys.items() if who not in ("autoloader", GRID)]
    best, grid = fastest_of(others, rates), keys.get(GRID)
    lines = [
        _line(
            item.who,
            _said(item),
            format_seconds(item.seconds),
            _rate(_key(item), rates),
            _ratio(_key(item), grid, rates),
            _ratio(_key(item), best, rates),
        )
        for item in advice
    ]
    rounds = max(map(len, rates.values()))
    return [
        _line(
            "who",
            "recommends",
            "took",
            "examples/s",
            "of the grid's fastest (95 %)",
            "of the best other's (95 %)",
        ),
        _rule(6),
        *lines,
        "",
        f"Plain loops over whole epochs, {rounds} interleaved rounds"
        + (f"; the best other's: {best}." if best else "."),
    ]


def overview(found: Mapping[str, Stored]) -> list[str]:
    """Return a row a study: autoloader's slowest advice against everybody else's."""
    lines = [
        line for name, data in found.items() if (line := _overview_row(name, data))
    ]
    heads = _line(
        "study", "autoloader (slowest tune)", "took", "of the best other's (95 %)",
        "best other", "of the grid's fastest (95 %)",
    )  # fmt: skip
    return [heads, _rule(6), *lines] if lines else []


def wrong_data_table(data: Stored) -> list[str]:
    """Return who recommends what of a dataset that loses an example in workers."""
    lines = [
        _line(
            item["advice"]["who"],
            _said(Advice(**item["advice"])),
            _NONE if item["lost"] is None else str(item["lost"]),
            _NONE if item["repeated"] is None else str(item["repeated"]),
            _check_of(item),
            item["advice"]["words"] or "nothing",
            "yes" if item["refuses"] else "no",
        )
        for item in data.get("delivered", [])
    ]
    heads = _line(
        "who", "recommends", "loses", "repeats", "own check of the data", "said",
        "refuses wrong data",
    )  # fmt: skip
    return [heads, _rule(7), *lines] if lines else []


def put_between(text: str, name: str, lines: Sequence[str]) -> str:
    """Return a page with these lines between the marks of that name.

    Args:
        text: the page.
        name: of the marks, `<!-- name -->` and `<!-- end of name -->`.
        lines: what stands between them; none: nothing does.

    Raises:
        StoredFileError: the page has not exactly one such pair.
    """
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    whole = re.compile(f"({re.escape(begin)}).*?({re.escape(end)})", re.DOTALL)
    if len(whole.findall(text)) != 1:
        msg = f"a page needs the marks of {name!r} once, got {text.count(begin)}"
        raise StoredFileError(msg, hint=f"{begin.strip()} and {end}, a line each")
    inner = "\n" + "\n".join(lines).strip() + "\n\n" if lines else ""
    return whole.sub(lambda found: found[1] + inner + found[2], text)


def _search_row(row: GridRow) -> str:
    shown = "; ".join(f"{words} ({times})" for words, times in row.choices)
    least, middle = _NONE, _NONE
    if row.shares:
        least = f"{row.shares[0]:.1%}"
        middle = f"{row.shares[len(row.shares) // 2]:.1%}"
    return _line(
        row.study,
        short(row.fastest),
        format_rate(row.fastest_examples_per_s),
        _NONE if row.scatter is None else f"{row.scatter:.0%}",
        format_seconds(row.grid_s),
        shown,
        least,
        middle,
        f"{row.cost:.0%}",
        "yes" if row.holds else "no",
    )


def _tune_cells(item: dict[str, Any], raced: Stored | None) -> list[str]:
    advice = Advice(**item["advice"])
    rates: Rates = (raced or {}).get("rates") or {}
    grid = next(
        (
            _key(Advice(**other))
            for other in (raced or {}).get("advice", [])
            if other["who"] == GRID
        ),
        None,
    )
    return [
        _said(advice),
        advice.words,
        format_seconds(advice.seconds),
        str(item["readings"]),
        _rate(_key(advice), rates),
        _ratio(_key(advice), grid, rates),
    ]


def _overview_row(name: str, data: Stored) -> str | None:
    rates: Rates = data.get("rates") or {}
    advice = [Advice(**item) for item in data.get("advice", [])]
    rated = [
        (rate, item)
        for item in advice
        if item.who == "autoloader" and (rate := rate_of(_key(item), rates)) is not None
    ]
    if not rated:
        return None
    ours = min(rated, key=lambda pair: pair[0])[1]
    others = [item for item in advice if item.who not in ("autoloader", GRID)]
    best = fastest_of([_key(item) for item in others], rates)
    who = next((item.who for item in others if best and _key(item) == best), _NONE)
    grid = next((_key(item) for item in advice if item.who == GRID), None)
    return _line(
        name,
        _said(ours),
        format_seconds(ours.seconds),
        _ratio(_key(ours), best, rates),
        who if best is None else f"{who}: {best}",
        _ratio(_key(ours), grid, rates),
    )


def _others_of(config: LoaderConfig) -> tuple[int | None, bool]:
    return config.prefetch_factor, config.persistent_workers


def _cell(row: Mapping[str, Any]) -> str:
    if not row["rates"]:
        return str(row["status"])
    return format_rate(median(row["rates"]))


def _key(advice: Advice) -> str | None:
    return None if advice.settings is None else key_of(advice.settings)


def _said(advice: Advice) -> str:
    """Return what is recommended, or in its place why nothing is."""
    return _key(advice) or f"nothing: {advice.words or 'no reason given'}"


def _rate(key: str | None, rates: Rates) -> str:
    found = rate_of(key, rates)
    return _NONE if found is None else format_rate(found)


def _ratio(key: str | None, other: str | None, rates: Rates) -> str:
    if key is not None and key == other:
        return "the same"
    found: Interval | None = ratio_of(key, other, rates)
    if found is None:
        return _NONE
    if found.low is None or found.high is None:
        return f"{found.median:.2f}"
    return f"{found.median:.2f} ({found.low:.2f}-{found.high:.2f})"


def _check_of(item: Mapping[str, Any]) -> str:
    if item["check_code"] is None:
        return "has none"
    named = ", ".join(str(name) for name in item["named"])
    return f"exit code {item['check_code']}, ids {named or 'none'}"


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _rule(columns: int) -> str:
    return "|" + "---|" * columns

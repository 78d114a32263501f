"""`autoloader report FILE`: a study as one HTML page.

`--compare A B`: what changed; `--history FILE`: its nights.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import autoloader
from autoloader.commands.output import write_json
from autoloader.errors import StoredFileError, UsageError

if TYPE_CHECKING:
    import argparse

    from autoloader.report.comparison import Comparison
    from autoloader.report.study import Sources

NAME = "report"


def add_parser(commands: Any) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        NAME,
        help="write a study as one HTML page, tell what two of them differ in, or what "
        "came of every night",
        description="Write a study as one self-contained HTML page: verdict, configs, "
        "charts, race, what limits, every trial and reading. With --compare, tell what "
        "changed from one recommendation to another; with --history, what `autoloader "
        "retune` found every night. Nothing is run.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="as `autoloader tune` wrote it, or the folder of a study",
    )
    parser.add_argument(
        "--compare",
        nargs=2,
        metavar=("A", "B"),
        help="two recommendations: what changed from A to B",
    )
    parser.add_argument(
        "--history",
        metavar="FILE",
        help="a recommendation: its nights, drawn and listed",
    )
    parser.add_argument(
        "--out",
        metavar="PAGE",
        help="the page; default: FILE with .html, of --history with .history.html; of "
        "--compare none, unless named",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="one object on stdout; a page is written where --out names one",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the page, or tell what changed."""
    given = (args.file, args.compare, args.history)
    if sum(item is not None for item in given) != 1:
        msg = "report takes a FILE, or --compare A B, or --history FILE"
        raise UsageError(msg, hint="autoloader report autoloader.yaml")
    out = None if args.out is None else Path(args.out)
    if args.history is not None:
        return _history(Path(args.history), out=out, as_json=args.json)
    if args.compare is not None:
        return _compare(*args.compare, out=out, as_json=args.json)
    return _report(Path(args.file), out=out, as_json=args.json)


def _report(file: Path, *, out: Path | None, as_json: bool) -> int:
    from autoloader.report.study_making import study_report

    page = None if out is None and as_json else out or _default_page(file)
    text = ""
    report = study_report(sources_of(file))
    if page is not None:
        from autoloader.report.html.page_file import (  # jinja2
            check_page,
            fitting_text,
            write_page,
        )

        check_page(page, [file])
        text = fitting_text(report, version=autoloader.__version__)
        write_page(page, text)
    if as_json:
        write_json({**report.to_dict(), "page": None if page is None else str(page)})
    elif page is not None:
        from autoloader.report.console import print_study  # rich

        print_study(report, page=page, size=len(text.encode()))
    return 0


def sources_of(file: Path) -> Sources:
    """Return what a report is made of: a recommendation, its study, or both.

    Raises:
        UsageError: there is no such file.
        StoredFileError: it, or the study, cannot be used.
    """
    from autoloader.export.recommendation import load  # yaml
    from autoloader.export.study_files import outcomes_file, read_study, study_behind
    from autoloader.report.damage import damage_named
    from autoloader.report.study import Sources

    name = str(file)
    if file.is_dir() or file.suffix == ".jsonl":
        return Sources(name=name, recommendation=None, study=read_study(file))
    found = load(file)
    try:
        outcomes_file(file)
    except StoredFileError as exc:
        return Sources(name=name, recommendation=found, study=None, missing=exc.message)
    with damage_named("measured", name):
        rates = [float(rate) for rate in found.data["measured"]["readings"]]
    study = study_behind(file, found.config, rates)
    missing = None
    if study is None:
        missing = f"the study of {name} has begun anew since the file was written"
    return Sources(name=name, recommendation=found, study=study, missing=missing)


def _default_page(file: Path) -> Path:
    """Return the page of a file beside it, that of a study in the working folder."""
    if file.is_dir():
        return Path(f"{file.resolve().name}.html")
    return file.with_suffix(".html")


def _compare(before: str, after: str, *, out: Path | None, as_json: bool) -> int:
    from autoloader.export.recommendation import load  # yaml
    from autoloader.report.comparison import compare

    found = compare((before, load(before).data), (after, load(after).data))
    if out is not None:
        _write_comparison(found, out, [Path(before), Path(after)])
    if as_json:
        write_json({**found.to_dict(), "page": None if out is None else str(out)})
    else:
        from autoloader.report.console import print_comparison  # rich

        print_comparison(found, page=out)
    return 0


def _write_comparison(found: Comparison, out: Path, sources: list[Path]) -> None:
    from autoloader.report.html.comparison_page import comparison_page
    from autoloader.report.html.page_file import check_page, write_page  # jinja2
    from autoloader.report.html.rendering import html_of

    check_page(out, sources)
    write_page(out, html_of(comparison_page(found), version=autoloader.__version__))


def _history(file: Path, *, out: Path | None, as_json: bool) -> int:
    from autoloader.export.history import history_of, history_path
    from autoloader.report.nights import nights_report

    nights = history_of(file)
    if not nights:
        msg = f"{file} has no history: {history_path(file).name} is not there"
        hint = "`autoloader retune FILE` adds a line to it every night"
        raise StoredFileError(msg, hint=hint)
    found = nights_report(str(file), nights)
    page = out if as_json else out or file.with_suffix(".history.html")
    if page is not None:
        from autoloader.report.html.nights_page import nights_page
        from autoloader.report.html.page_file import check_page, write_page  # jinja2
        from autoloader.report.html.rendering import html_of

        check_page(page, [file, history_path(file)])
        write_page(page, html_of(nights_page(found), version=autoloader.__version__))
    if as_json:
        write_json({**found.to_dict(), "page": None if page is None else str(page)})
    else:
        from autoloader.report.console import print_nights  # rich

        print_nights(found, page=page)
    return 0

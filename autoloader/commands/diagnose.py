"""`autoloader diagnose`: one process, stage by stage; then workers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

from autoloader.commands import arguments
from autoloader.commands.output import write_json
from autoloader.commands.surroundings import check_surroundings

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

NAME: Literal["diagnose"] = "diagnose"

TIME_LIMIT_S = 30.0
"""Seconds that the stages may take where `--examples` names no number."""


def add_parser(commands: Any) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        NAME,
        help="find the stage and the example that fails",
        description="Read examples in one process, stage by stage: access, transform, "
        "collate, hand-over to a worker, pinning, transfer. Stop at the first stage "
        "that fails and name the example. Then 0, 1, a few workers, two epochs each.",
        allow_abbrev=False,
    )
    arguments.add_dataset(parser, required=True)
    parser.add_argument(
        "--batch-size", metavar="N", help="default: the DataLoader's own, else 8"
    )
    parser.add_argument(
        "--transform",
        metavar="PATH",
        help="path from the dataset to what transforms an example: augment, or "
        "inner.augment; default: attributes transform, transforms, target_transform",
    )
    parser.add_argument(
        "--num-workers", metavar="N", help="workers of the last settings; default: 2"
    )
    arguments.add_isolation(parser)
    arguments.add_scope(parser, is_timed=False)
    arguments.add_output(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Diagnose, print and store what was seen, return the exit code."""
    check_surroundings(weighs=False)

    from dataclasses import replace

    from autoloader.diagnosis import FEW_WORKERS, DiagnosisRequest, diagnose  # numpy
    from autoloader.export.record_file import write_record
    from autoloader.report.console import check_view, print_diagnosis  # rich

    request = DiagnosisRequest(
        source=arguments.source_of(args),
        scope=replace(arguments.scope_of(args), time_limit_s=TIME_LIMIT_S),
        batch_size=arguments.count("--batch-size", args.batch_size),
        transform=args.transform,
        few_workers=arguments.count("--num-workers", args.num_workers) or FEW_WORKERS,
        isolation=args.isolation,
        policy=arguments.policy_of(args),
    )
    with check_view(sys.stderr, quiet=args.quiet or args.json, command=NAME) as view:
        found = diagnose(request, on_phase=view.on_phase, on_tick=view.on_tick)
    record = None
    if found.sheet:
        record = request.folder / "diagnose" / "record.csv"
        write_record(record, found.sheet)
    if args.json:
        write_json({**found.to_dict(), "record": _text(record)})
    else:
        print_diagnosis(found.to_dict(), _text(record), sys.stdout)
    return found.exit_code


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)

"""`autoloader check`: the gate alone."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from autoloader.commands import arguments

if TYPE_CHECKING:
    import argparse

NAME = "check"

TIME_LIMIT_S = 60.0
"""Seconds that the reference may take where `--examples` names no number."""


def add_parser(commands: Any) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        NAME,
        help="compare what workers deliver with what one process reads",
        description="Compare what workers deliver with what one process reads: ids, "
        "labels, content, dtypes and shapes, over two epochs. Nothing is timed.",
        allow_abbrev=False,
    )
    arguments.add_dataset(parser, required=True)
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="CONFIG",
        help="num_workers=4,prefetch_factor=2; may be repeated; default: 2 workers, "
        "kept from epoch to epoch and not",
    )
    parser.add_argument("--batch-size", metavar="N")
    parser.add_argument(
        "--isolation", choices=["auto", "fork", "fresh"], default="auto"
    )
    arguments.add_scope(parser)
    arguments.add_output(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check, print the verdict, return the exit code."""
    from dataclasses import replace

    from autoloader.checking import CheckRequest, check  # numpy
    from autoloader.report.console import check_view, print_check  # rich
    from autoloader.values.config import LoaderConfig

    size = arguments.count("--batch-size", args.batch_size)
    for text in args.config:
        LoaderConfig.parse(text, batch_size=size or 1)
    request = CheckRequest(
        source=arguments.source_of(args),
        scope=replace(arguments.scope_of(args), time_limit_s=TIME_LIMIT_S),
        configs=tuple(args.config),
        batch_size=size,
        isolation=args.isolation,
        is_strict=args.strict,
        allowed=arguments.checked_codes(args.allow),
    )
    with check_view(sys.stderr, quiet=args.quiet or args.json) as view:
        result = check(request, on_phase=view.on_phase, on_tick=view.on_tick)
    if args.json:
        json.dump(result.to_dict(), sys.stdout)
        sys.stdout.write("\n")
    else:
        print_check(result.to_dict(), sys.stdout)
    return 0 if result.passed else 1

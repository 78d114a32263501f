"""`autoloader check`: the gate alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.commands import arguments
from autoloader.commands.output import write_json
from autoloader.commands.ranks import add_ranks, ranks_of
from autoloader.commands.surroundings import check_surroundings

if TYPE_CHECKING:
    import argparse

    from autoloader.checking import CheckRequest, CheckResult
    from autoloader.values.scope import SourceSpec

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
    arguments.add_configs(
        parser,
        config="; may be repeated; default: 2 workers, kept from epoch to epoch and "
        "not",
    )
    parser.add_argument(
        "--write-contract",
        metavar="FILE",
        help="write what all examples keep, once the check has passed",
    )
    add_ranks(parser)
    arguments.add_isolation(parser)
    arguments.add_scope(parser, is_timed=False)
    arguments.add_output(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check, print the verdict, return the exit code."""
    check_surroundings(weighs=False)
    request = request_of(args, arguments.source_of(args))
    check_request(args)

    from autoloader.report.console import print_check  # rich

    result = result_of(args, request)
    if args.json:
        write_json(result.to_dict())
    else:
        print_check(result.to_dict(), sys.stdout)
    return 0 if result.passed else 1


def request_of(args: argparse.Namespace, source: SourceSpec) -> CheckRequest:
    """Return the request; everything that text alone can tell is checked.

    Args:
        args: the flags.
        source: the dataset.
    """
    from dataclasses import replace

    from autoloader.checking import CheckRequest  # numpy
    from autoloader.values.config import LoaderConfig

    size = arguments.count("--batch-size", args.batch_size)
    for text in args.config:
        LoaderConfig.parse(text, batch_size=size or 1)
    return CheckRequest(
        source=source,
        scope=replace(arguments.scope_of(args), time_limit_s=TIME_LIMIT_S),
        configs=tuple(args.config),
        batch_size=size,
        ranks=ranks_of(args),
        isolation=args.isolation,
        policy=arguments.policy_of(args),
    )


def check_request(args: argparse.Namespace) -> None:
    """Check that the contract could be written, where one is wanted.

    Raises:
        UsageError: it could not.
    """
    from autoloader.files import check_writable

    if args.write_contract is not None:
        check_writable(Path(args.write_contract), flag="--write-contract")


def result_of(args: argparse.Namespace, request: CheckRequest) -> CheckResult:
    """Check as was asked for, told on stderr, and return what came of it.

    Args:
        args: flags that are no part of the request.
        request: as `request_of` returns it.
    """
    from autoloader.checking import check  # numpy
    from autoloader.report.console import check_view  # rich

    with check_view(sys.stderr, quiet=args.quiet or args.json) as view:
        result = check(request, on_phase=view.on_phase, on_tick=view.on_tick)
    if args.write_contract is not None:
        _write_contract(Path(args.write_contract), result, request.source.spec)
    return result


def _write_contract(target: Path, result: CheckResult, spec: str) -> None:
    """Write the contract of a dataset that passed; say what became of it."""
    from autoloader.export.contract_file import write_contract  # yaml

    contract = result.reference.contract
    if not result.passed or contract is None:
        print(f"{target} is not written: the check did not pass", file=sys.stderr)
        return
    is_new = write_contract(target, contract, dataset=spec)
    said = "written" if is_new else "as it was: it says the same"
    print(f"the contract is in {target}, {said}", file=sys.stderr)

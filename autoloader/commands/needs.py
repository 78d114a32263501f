"""`autoloader needs FILE --target N`: what a target takes of a node."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.commands import arguments
from autoloader.commands.output import write_json
from autoloader.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from autoloader.measure.needs import Demand

NAME = "needs"


def add_parser(commands: Any) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        NAME,
        help="tell the cores, bandwidth and memory that a target takes",
        description="Tell what a target takes of a node, by what a study measured: "
        "cores, workers, storage bandwidth, memory, shared memory. Nothing is run.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="as `autoloader tune` wrote it")
    parser.add_argument(
        "--target",
        metavar="RATE",
        help="examples a second of the whole node; default: the file's own target",
    )
    parser.add_argument(
        "--ranks",
        metavar="N",
        help="training processes that share it; default: as the file's",
    )
    parser.add_argument("--json", action="store_true", help="one object on stdout")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print what the target takes."""
    from autoloader.export.needs_section import read_basis
    from autoloader.export.recommendation import load  # PyYAML
    from autoloader.measure.needs import needs_of

    recommendation = load(Path(args.file))
    basis = read_basis(recommendation, args.file)
    needs = needs_of(basis, _demand(args, recommendation.data["target"]))
    if args.json:
        write_json({"file": args.file, **needs.to_dict(), "basis": basis.to_dict()})
        return 0
    from autoloader.report.console import print_needs  # rich

    print_needs(needs, recommendation.data["machine"])
    return 0


def _demand(args: argparse.Namespace, target: dict[str, Any]) -> Demand:
    """Return what is to be delivered, the file's own where no flag says it.

    Raises:
        UsageError: a share is asked for, or neither flag nor file names a rate.
    """
    from autoloader.measure.needs import Demand
    from autoloader.values.target import Target

    ranks = arguments.count("--ranks", args.ranks) or target.get("ranks", 1)
    if args.target is not None:
        rate = Target.parse(args.target).examples_per_s
        if rate is None:
            msg = f"needs takes a rate such as 20000, got --target {args.target}"
            raise UsageError(msg, hint="a share of the fastest says nothing of a node")
        return Demand(examples_per_s=rate, ranks=ranks)
    wanted = target.get("examples_per_s")
    if not isinstance(wanted, (int, float)) or isinstance(wanted, bool):
        msg = f"{args.file} names no rate as its target"
        raise UsageError(msg, hint="--target 20000 names one, for the whole node")
    return Demand(examples_per_s=wanted, ranks=ranks)  # of all ranks together

"""`autoloader measure`: given configs, compared in interleaved rounds."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from autoloader.commands import arguments
from autoloader.commands.output import write_json
from autoloader.commands.ranks import add_ranks, ranks_of
from autoloader.commands.surroundings import check_surroundings
from autoloader.commands.turns import add_wait, turn
from autoloader.errors import UsageError
from autoloader.units import parse_bytes, parse_duration

if TYPE_CHECKING:
    import argparse

    from autoloader.measuring import MeasureRequest, MeasureResult
    from autoloader.values.scope import SourceSpec

_EXIT = {"settled": 0, "failed": 1, "undecided": 6}

NAME = "measure"

LEAST_ROUNDS = 3
"""One round shows no scatter, and two so little that no pair could be settled."""


def add_parser(commands: Any) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        NAME,
        help="compare the speed of given settings, in interleaved rounds",
        description="Compare the speed of given DataLoader settings in interleaved "
        "rounds, each checked for right data first. Says which is faster and by how "
        "much, or that it cannot tell.",
        allow_abbrev=False,
    )
    arguments.add_configs(
        parser,
        config=", or a YAML file such as autoloader.yaml; repeated, the first one is "
        "what the others are compared with; one alone is compared with the "
        "DataLoader's own settings, else with PyTorch's default",
        batch_size="where a config names none; default: 32",
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        help="most that a config may take; default: 80 %% of what is left",
    )
    add_ranks(parser)
    arguments.add_step(parser)
    arguments.add_scope(parser)
    effort = parser.add_argument_group("effort")
    effort.add_argument(
        "--rounds",
        metavar="N",
        help="run so many; default: until each pair is settled, 96 at most",
    )
    effort.add_argument(
        "--budget",
        metavar="TIME",
        help="default: 3m; with --rounds, as long as they take",
    )
    arguments.add_isolation(effort)
    add_wait(effort)
    arguments.add_output(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure, print the comparison, return the exit code."""
    check_surroundings(weighs=True)
    request = request_of(args, arguments.source_of(args))

    from autoloader.report.console import print_measure  # rich
    from autoloader.report.measure import MeasureReport

    result = result_of(args, request)
    report = MeasureReport.of(result)
    if args.json:
        write_json(report.to_dict())
    else:
        print_measure(report, sys.stdout)
    return _EXIT[result.state]


def result_of(args: argparse.Namespace, request: MeasureRequest) -> MeasureResult:
    """Measure as was asked for, told on stderr, and return what came of it.

    Args:
        args: flags that are no part of the request.
        request: as `request_of` returns it.
    """
    from dataclasses import replace

    from autoloader.measure.machine import read_machine  # psutil
    from autoloader.measuring import measure  # numpy
    from autoloader.report.console import measure_view  # rich
    from autoloader.values.target import MEMORY_SHARE

    with turn("measure", args):
        machine = read_machine()
        if request.memory_bytes is None:
            left = int(MEMORY_SHARE * machine.memory_available_bytes)
            request = replace(request, memory_bytes=left)
        view = measure_view(
            sys.stderr,
            quiet=args.quiet or args.json,
            dataset=request.source.spec,
            machine=machine,
            rounds=request.rounds,
        )
        with view as watcher:
            return measure(request, machine, watcher)


def request_of(args: argparse.Namespace, source: SourceSpec) -> MeasureRequest:
    """Return the request; everything that text alone can tell is checked.

    Args:
        args: the flags.
        source: the dataset.
    """
    from autoloader.export.config_file import settings_text  # yaml
    from autoloader.search.contenders import MOST_CONFIGS

    if len(args.config) > MOST_CONFIGS:
        msg = f"at most {MOST_CONFIGS} configs can be compared, got {len(args.config)}"
        raise UsageError(msg, hint="`autoloader tune` searches among more")
    rounds = arguments.count("--rounds", args.rounds, LEAST_ROUNDS)
    found = {
        "source": source,
        "step": arguments.step_of(args, source),
        "configs": tuple(settings_text(text) for text in args.config),
        "batch_size": arguments.count("--batch-size", args.batch_size),
        "scope": arguments.scope_of(args, source),
        "rounds": rounds,
        "memory_bytes": parse_bytes(args.memory) if args.memory else None,
        "ranks": ranks_of(args),
        "isolation": args.isolation,
        "policy": arguments.policy_of(args),
    }
    if args.budget is not None:
        found["budget_s"] = parse_duration(args.budget)
    elif rounds is not None:
        found["budget_s"] = None
    from autoloader.measuring import MeasureRequest  # numpy

    return MeasureRequest(**found)

"""`autoloader machine`: what this machine offers to a DataLoader."""

import argparse
from typing import Any

from autoloader.commands.output import write_json

NAME = "machine"


def add_parser(commands: Any) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        NAME,
        help="show effective CPUs, memory, limits and accelerators",
        description="Show what this machine offers: effective CPUs (affinity and "
        "cgroup quota), memory, shared memory, limits, accelerators.",
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="one object on stdout")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the machine."""
    from autoloader.measure.machine import read_machine  # psutil

    machine = read_machine()
    if args.json:
        write_json({**machine.to_dict(), "key": machine.key})
        return 0
    from autoloader.report.console import print_machine  # rich

    print_machine(machine)
    return 0

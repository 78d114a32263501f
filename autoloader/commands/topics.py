"""`autoloader help TOPIC`: print a page of the manual."""

import argparse
import sys
from importlib.resources import files
from typing import Any

from autoloader.errors import UsageError, did_you_mean
from autoloader.report.surface import writable

NAME = "help"


def add_parser(commands: Any) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        NAME,
        help="print a page of the manual",
        description="Print a page of the manual; without a topic, list the topics.",
        allow_abbrev=False,
    )
    parser.add_argument("topic", nargs="?", metavar="TOPIC")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the topic's page, or all topics with their first lines."""
    pages = {
        item.name.removesuffix(".md"): item
        for item in files("autoloader").joinpath("docs").iterdir()
        if item.name.endswith(".md")
    }
    out = writable(sys.stdout)  # an encoding may lack letters of the manual
    if args.topic is None:
        width = max(map(len, pages))
        for name in sorted(pages):
            title = pages[name].read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
            out.write(f"{name:<{width}}  {title}\n")
        return 0
    if args.topic not in pages:
        msg = f"the manual has no topic {args.topic!r}"
        hint = (
            did_you_mean(args.topic, pages) or f"topics are {', '.join(sorted(pages))}"
        )
        raise UsageError(msg, hint=hint)
    out.write(pages[args.topic].read_text(encoding="utf-8"))
    return 0

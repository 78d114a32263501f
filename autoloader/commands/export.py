"""`autoloader export FILE --to NAME`: settings as a framework takes them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.commands.output import write_json
from autoloader.errors import UsageError
from autoloader.report.surface import writable

if TYPE_CHECKING:
    import argparse

    from autoloader.export.frameworks import Naming

NAME = "export"


def add_parser(commands: Any) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        NAME,
        help="write the settings as a framework takes them",
        description="Write the settings of a recommendation as a framework takes them: "
        "Python, YAML or flags, ready to be pasted. What it cannot express is told.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="as `autoloader tune` wrote it")
    parser.add_argument(
        "--to",
        metavar="NAME",
        required=True,
        help="torch, transformers, lightning ...; `autoloader help export` lists all",
    )
    parser.add_argument(
        "--class",
        dest="class_path",
        metavar="PATH",
        help="lightning, hydra: your class that takes the settings, as data.Photos",
    )
    parser.add_argument(
        "--rename",
        action="append",
        default=[],
        metavar="SETTING=NAME",
        help="lightning, hydra: what your class calls a setting; may be repeated",
    )
    parser.add_argument("--out", metavar="PATH", help="a file in place of stdout")
    parser.add_argument("--json", action="store_true", help="one object on stdout")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the settings, to a file where one is named."""
    from autoloader.export.frameworks import export_to
    from autoloader.export.recommendation import load  # PyYAML
    from autoloader.files import check_writable, write_whole

    out = None if args.out is None else Path(args.out)
    if out is not None:
        check_writable(out)
    export = export_to(load(Path(args.file)), args.to, _naming(args))
    if out is not None:
        write_whole(out, export.text)
    if args.json:
        write_json({"file": args.file, **export.to_dict()})
    elif out is None:
        writable(sys.stdout).write(export.text)
    else:
        for warning in export.warnings:
            sys.stderr.write(f"warning: {warning}\n")
    return 0


def _naming(args: argparse.Namespace) -> Naming:
    """Return the user's own names.

    Raises:
        UsageError: a flag does not say what is called how.
    """
    from autoloader.export.frameworks import Naming

    names: dict[str, str] = {}
    for given in args.rename:
        setting, equals, name = (part.strip() for part in given.partition("="))
        if not equals:
            msg = f"--rename is SETTING=NAME, got {given!r}"
            raise UsageError(msg, hint="--rename num_workers=workers")
        names[setting] = name
    return Naming(class_path=args.class_path, names=names)

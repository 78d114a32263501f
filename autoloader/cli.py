"""The command line: which command, which exit code. Loads nothing heavy by itself.

Exit codes: `autoloader help exit-codes`.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING

import autoloader
from autoloader.commands import (
    check,
    diagnose,
    export,
    machine,
    measure,
    needs,
    report,
    retune,
    topics,
    tune,
)
from autoloader.commands.interrupts import command_interrupted_once
from autoloader.commands.output import write_json
from autoloader.commands.parsing import Parser
from autoloader.commands.ranks import (
    forget_launcher,
    is_first,
    launched,
    wait_for_first,
    with_ranks,
)
from autoloader.errors import AutoloaderError, UsageError, did_you_mean

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_COMMANDS = (
    tune,
    retune,
    check,
    diagnose,
    measure,
    report,
    needs,
    export,
    machine,
    topics,
)

INTERRUPTED = 130
BUG = 70
BROKEN_PIPE = 141
"""As of a program that the signal for it ended: whoever read the output has left."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = Parser(
        prog="autoloader",
        description="Find the simplest DataLoader settings that are fast enough, "
        "and prove that the data stays right.",
        epilog="`autoloader help` lists the topics of the manual.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=autoloader.__version__)
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=Parser
    )
    for module in _COMMANDS:
        module.add_parser(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Args:
        argv: arguments without the program's name; None takes the process's own.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    wants_json = "--json" in arguments
    _stand_in_for_closed_streams()
    with command_interrupted_once():
        return _run(arguments, wants_json=wants_json)


def _run(arguments: list[str], *, wants_json: bool) -> int:
    """Run a command; whatever it raises becomes an exit code, and is told."""
    try:
        if not is_first(os.environ):
            wait_for_first()
            return 0
        count = launched(os.environ)
        if count is not None:
            arguments = with_ranks(arguments, count)
            forget_launcher(os.environ)
        parsed = _parse(arguments)
        parsed.launched = count
        code: int = parsed.run(parsed)
        sys.stdout.flush()
    except AutoloaderError as exc:
        return _report(exc, wants_json=wants_json)
    except KeyboardInterrupt as exc:
        notes = getattr(exc, "__notes__", ["the same command goes on where it stood"])
        _say(f"interrupted; {notes[0]}", None)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return BROKEN_PIPE
    except Exception as exc:  # noqa: BLE001  # the last resort: it is a bug
        _show_traceback()
        _say(f"this is a bug of autoloader: {type(exc).__name__}: {exc}", None)
        return BUG
    return code


def _parse(arguments: list[str]) -> argparse.Namespace:
    """Return the parsed arguments, with what was given after the command's name.

    Raises:
        UsageError: an unknown command or flag, with the closest known one.
    """
    parser = build_parser()
    names = [module.NAME for module in _COMMANDS]
    if arguments and not arguments[0].startswith("-") and arguments[0] not in names:
        msg = f"there is no command {arguments[0]!r}"
        hint = did_you_mean(arguments[0], names) or f"commands are {', '.join(names)}"
        raise UsageError(msg, hint=hint)
    parsed, unknown = parser.parse_known_args(arguments)
    if unknown:
        flag = unknown[0].partition("=")[0]
        known = _flags_of(parser, parsed.command)
        msg = f"{parsed.command} has no flag or argument {flag!r}"
        closest = did_you_mean(flag, known)
        hint = closest or f"`autoloader {parsed.command} --help` shows all"
        raise UsageError(msg, hint=hint)
    parsed.given = arguments[arguments.index(parsed.command) + 1 :]
    return parsed


def _flags_of(parser: argparse.ArgumentParser, command: str) -> list[str]:
    """Return the flags of a command."""
    for action in parser._actions:  # argparse has no public list
        if isinstance(action.choices, dict) and command in action.choices:
            chosen = action.choices[command]
            return [name for item in chosen._actions for name in item.option_strings]
    return []


def _report(exc: AutoloaderError, *, wants_json: bool) -> int:
    if wants_json:
        error = {"kind": type(exc).__name__, "message": exc.message, "hint": exc.hint}
        write_json({"error": error, "exit_code": exc.exit_code})
    _say(exc.message, exc.hint)
    return exc.exit_code


def _show_traceback() -> None:
    """Print the traceback of what is being handled, to stderr, without passwords."""
    from autoloader.values.passwords import without_passwords

    sys.stderr.write(without_passwords(traceback.format_exc()))


def _say(message: str, hint: str | None) -> None:
    from autoloader.report.console import print_error  # rich

    print_error(message, hint, sys.stderr)


def _stand_in_for_closed_streams() -> None:
    """Open what was closed before the start, so that nothing of ours gets its number.

    A pipe to a child that became number 1 would be lost there, under the log.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            found = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
            mode = "w" if number else "r"
            stream = os.fdopen(found, mode, encoding="utf-8", closefd=False)
            setattr(sys, name, stream)

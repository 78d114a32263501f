"""`autoloader retune FILE`: verify, and tune again where it does not hold any more."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.commands import arguments, tune
from autoloader.commands.output import write_json
from autoloader.commands.places import is_folder, place_for
from autoloader.commands.ranks import check_same
from autoloader.commands.repeating import flags_again
from autoloader.commands.surroundings import check_surroundings
from autoloader.commands.turns import add_wait, turn
from autoloader.errors import StoredFileError, UsageError
from autoloader.units import parse_duration

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from autoloader.retune_values import RetuneRequest, RetuneResult
    from autoloader.values.machine import Machine

NAME = "retune"

_MOST_EXIT = 255
"""Largest exit code that a system hands on."""


def add_parser(commands: Any) -> None:
    """Add the command's parser; that of `tune`, whose flags a file keeps, is there."""
    parser = commands.add_parser(
        NAME,
        help="verify a recommendation, and tune again where it does not hold",
        description="Verify a recommendation as `autoloader tune` wrote it: the data, "
        "and the speed by a short race with its rivals. Tune again where hardware, "
        "data or speed have changed; the old file is kept beside the new one.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "file",
        metavar="FILE|FOLDER",
        help="the recommendation; of a folder, the one of this kind of hardware",
    )
    parser.add_argument(
        "--only-verify", action="store_true", help="never tune, only say what holds"
    )
    parser.add_argument(
        "--out",
        metavar="NEW",
        help="write a new recommendation there, and leave FILE as it is",
    )
    parser.add_argument(
        "--budget",
        metavar="TIME",
        help="of a tune; half of it for the verification; default: as the file's",
    )
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="argument of the dataset that the file keeps without its password",
    )
    parser.add_argument(
        "--changed-exit",
        metavar="N",
        default="10",
        help="exit code where a new recommendation was written; default: 10",
    )
    add_wait(parser)
    parser.add_argument("--json", action="store_true", help="one object on stdout")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run, parser_of_tune=commands.choices[tune.NAME])


def run(args: argparse.Namespace) -> int:
    """Verify, tune again if that is called for, return the exit code."""
    check_surroundings(weighs=True)
    changed_exit = _changed_exit(args.changed_exit)
    with turn(NAME, args):
        try:
            result = _retune(args, changed_exit)
        except KeyboardInterrupt as exc:
            exc.add_note("the file is as it was; the same command begins anew")
            raise
    _print(result, is_json=args.json)
    return result.night.exit_code


def _retune(args: argparse.Namespace, changed_exit: int) -> RetuneResult:
    """Run the night in the folder that the tune ran in."""
    from autoloader.export.baseline import read_baseline, read_request
    from autoloader.export.recommendation import load
    from autoloader.files import check_writable
    from autoloader.measure.machine import read_machine  # psutil
    from autoloader.retune_values import RetuneRequest

    machine = read_machine()
    file, stands = _places(Path(args.file).absolute(), machine)
    recommendation = load(stands)
    kept, flags = read_request(recommendation, stands)
    baseline = read_baseline(recommendation, stands)
    check_same(baseline.ranks, getattr(args, "launched", None), args.file)
    out = None if args.out is None else place_for(args.out).absolute()
    if out is None and not args.only_verify:
        check_writable(file, flag="FILE")
    elif out is not None:
        check_writable(out)
    with _working_in(stands.resolve().parent / kept, stands):
        again = _tune_args(args, flags, stands)
        asked = tune.request_of(again, arguments.source_of(again))
        whole, machine = tune.whole_request(again, {**asked, "out": out or file})
        section = {**(whole.section or {}), "flags": dict(flags)}
        request = RetuneRequest(
            file=file,
            recommendation=recommendation,
            baseline=baseline,
            tune=replace(whole, section=section),
            out=out,
            is_verify_only=args.only_verify,
            changed_exit=changed_exit,
        )
        return _night(request, machine, quiet=args.quiet or args.json)


def _night(request: RetuneRequest, machine: Machine, *, quiet: bool) -> RetuneResult:
    from autoloader.report.console import view_for  # rich
    from autoloader.retuning import retune
    from autoloader.verifying import Processes  # optuna

    view = view_for(
        sys.stderr,
        quiet=quiet,
        dataset=request.tune.source.spec,
        target=request.tune.target,
        machine=machine,
        command=NAME,
    )
    with view as watcher, contextlib.ExitStack() as stack:
        workshop = Processes(
            request=request, machine=machine, watcher=watcher, stack=stack
        )
        now = datetime.now().astimezone()
        return retune(request, machine, workshop, now=now)


def _places(path: Path, machine: Machine) -> tuple[Path, Path]:
    """Return the file of this hardware, and the one to read what was asked for.

    In a folder that has none of this hardware yet, that is the nearest one's.
    """
    from autoloader.export.recommendation import (
        file_for,
        nearest_in,
        recommendations_in,
    )

    if not is_folder(path):
        return path, path
    try:
        found = file_for(path, machine)
    except UsageError:
        there = recommendations_in(path)
        if not there:
            raise
        return path / machine.file_name, nearest_in(there, machine)
    return found, found


@contextlib.contextmanager
def _working_in(folder: Path, file: Path) -> Iterator[None]:
    """Work in the folder that paths of the file's request are relative to."""
    try:
        with contextlib.chdir(folder):
            yield
    except (FileNotFoundError, NotADirectoryError, PermissionError) as exc:
        if exc.filename is None or Path(os.fsdecode(exc.filename)) != folder:
            raise
        msg = f"{file}: request.folder leads to {folder}: {exc.strerror}"
        hint = "leave the file where it lay beside its data's code, or tune again"
        raise StoredFileError(msg, hint=hint) from exc


def _tune_args(
    args: argparse.Namespace, flags: Any, stands: Path
) -> argparse.Namespace:
    """Return the arguments of the tune that the file came from.

    Raises:
        StoredFileError: they cannot be used any more; says which.
    """
    parser: argparse.ArgumentParser = args.parser_of_tune
    texts = flags_again(flags, parser, path=stands, given=args.arg)
    if args.budget is not None:
        parse_duration(args.budget)
        texts.append(f"--budget={args.budget}")
    try:
        found = parser.parse_args(texts)
        if found.dataset is None:
            msg = "it names no dataset"
            raise UsageError(msg)
        tune.check_step_is_there(tune.request_of(found, arguments.source_of(found)))
    except UsageError as exc:
        msg = f"{stands}: request.flags: {exc.message}"
        raise StoredFileError(msg, hint=exc.hint) from exc
    return found


def _changed_exit(text: str) -> int:
    """Return the exit code of a change.

    Raises:
        UsageError: it is no exit code.
    """
    code = arguments.count("--changed-exit", text, 0) or 0
    if code > _MOST_EXIT:
        msg = f"--changed-exit must be at most {_MOST_EXIT}, got {text}"
        raise UsageError(msg)
    return code


def _print(result: RetuneResult, *, is_json: bool) -> None:
    """Print what came of the night; what a tune reports, before it."""
    from autoloader.report.data import TuneReport

    report = None if result.tuned is None else TuneReport.of(result.tuned)
    if is_json:
        told = None if report is None else report.to_dict()
        write_json({**result.to_dict(), "tune": told})
        return
    from autoloader.report.console import print_night, print_report  # rich

    if report is not None:
        print_report(report, sys.stdout)
    print_night(result, sys.stdout)

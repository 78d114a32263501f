"""The commands for scripts and notebooks: `tune`, `check` and `measure`.

Light to import: what runs is loaded when it is asked for. Each does what its command
does, by the same checks (`commands`), and raises the errors of `autoloader.errors`;
that a target is not met is no error, but a result.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Unpack

import autoloader.measure  # noqa: F401  # before `measure` below takes its place
from autoloader.commands.surroundings import check_surroundings
from autoloader.errors import UsageError
from autoloader.units import format_bytes
from autoloader.watching import Watched

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Mapping

    from autoloader.options import CheckOptions, MeasureOptions, TuneOptions
    from autoloader.results import Checked, Compared, Tuned
    from autoloader.values.scope import SourceSpec

_NO_DATA = (type(None), bool, int, float, bytes, dict, set, frozenset, ModuleType)
"""Kinds of values that are no dataset, and give none."""

_GUARD = (
    'put the call under `if __name__ == "__main__":`, or give the dataset itself '
    "instead of its SPEC"
)


def tune(dataset: object, **options: Unpack[TuneOptions]) -> Tuned:
    """Find the simplest DataLoader settings that meet a target; write them as YAML.

    Args:
        dataset: a Dataset, a DataLoader, a function or class that gives one, or its
            SPEC: `module:attribute` or `path/file.py:attribute`.
        options: the flags of `autoloader tune` under their names in Python, such as
            `batch_size=64, budget="3m"`; `autoloader.options` lists them.

    Raises:
        UsageError: something asked for cannot be done; nothing was started.
        StepError: the training step fails.
        DatasetError: the dataset fails by itself.
        DataError: not one config could be measured, or none is left in the end.
        StoredFileError: a file of the study cannot be read or written.
    """
    from autoloader.commands import tune as command
    from autoloader.results import Tuned

    check_surroundings(weighs=True)
    given, args = _asked(command, dataset, options)
    command.check_request(command.request_of(args, given))
    with _handed_over(dataset, given, args) as source:
        return Tuned(command.result_of(args, command.request_of(args, source)))


def check(dataset: object, **options: Unpack[CheckOptions]) -> Checked:
    """Compare what workers deliver with what one process reads; nothing is timed.

    Args:
        dataset: a Dataset, a DataLoader, a function or class that gives one, or its
            SPEC: `module:attribute` or `path/file.py:attribute`.
        options: the flags of `autoloader check` under their names in Python, such as
            `label="1", config="num_workers=4"`; `autoloader.options` lists them.

    Raises:
        UsageError: something asked for cannot be done; nothing was started.
        DatasetError: the dataset fails by itself.
        StoredFileError: a contract cannot be used or written.
    """
    from autoloader.commands import check as command
    from autoloader.results import Checked

    check_surroundings(weighs=False)
    given, args = _asked(command, dataset, options)
    command.check_request(args)
    command.request_of(args, given)
    with _handed_over(dataset, given, args) as source:
        return Checked(command.result_of(args, command.request_of(args, source)))


def measure(dataset: object, **options: Unpack[MeasureOptions]) -> Compared:
    """Compare the speed of given DataLoader settings, in interleaved rounds.

    Args:
        dataset: a Dataset, a DataLoader, a function or class that gives one, or its
            SPEC: `module:attribute` or `path/file.py:attribute`.
        options: the flags of `autoloader measure` under their names in Python, such as
            `config=[{"num_workers": 2}, "autoloader.yaml"]`; `autoloader.options` lists
            them.

    Raises:
        UsageError: something asked for cannot be done; nothing was started.
        StepError: the training step fails.
        DatasetError: the dataset fails by itself.
        StoredFileError: a reading cannot be written.
    """
    from autoloader.commands import measure as command
    from autoloader.results import Compared

    check_surroundings(weighs=True)
    given, args = _asked(command, dataset, options)
    command.request_of(args, given)
    with _handed_over(dataset, given, args) as source:
        return Compared(command.result_of(args, command.request_of(args, source)))


def _asked(
    command: ModuleType, dataset: object, options: Mapping[str, object]
) -> tuple[SourceSpec, Namespace]:
    """Return what the dataset is called, with its arguments, and the flags.

    Raises:
        UsageError: it can be no dataset, or an option is none, or has no such value.
    """
    from autoloader.commands.arguments import check_spec
    from autoloader.commands.keywords import args_of, arguments_of
    from autoloader.values.decode import shown
    from autoloader.values.job import CHILD_VARIABLE
    from autoloader.values.scope import SourceSpec

    if CHILD_VARIABLE in os.environ:
        msg = (
            f"{command.NAME}() is called while a process of its own imports the script"
        )
        raise UsageError(msg, hint=_GUARD)
    if isinstance(dataset, _NO_DATA):
        msg = f"{command.NAME}() needs a dataset, got {shown(dataset)}"
        hint = "a Dataset, a DataLoader, a function giving one, or its SPEC"
        raise UsageError(msg, hint=hint)
    if isinstance(dataset, str):
        check_spec("--dataset", dataset)
        spec = dataset
    else:
        from autoloader.handover import name_of  # cloudpickle

        spec = name_of(_unwrapped(dataset))
    keywords = {name: value for name, value in options.items() if name != "arg"}
    args = args_of(command, spec, keywords)
    return SourceSpec(spec=spec, arguments=arguments_of(options.get("arg"))), args


@contextmanager
def _handed_over(
    dataset: object, given: SourceSpec, args: Namespace
) -> Iterator[SourceSpec]:
    """Have children read the dataset, for as long as the context lasts."""
    if isinstance(dataset, str):
        yield given
        return
    from autoloader.handover import LARGE_BYTES, handed_over
    from autoloader.report.console import print_caution

    with handed_over(_unwrapped(dataset)) as live:
        if live.size_bytes >= LARGE_BYTES and not args.quiet:
            size = format_bytes(live.size_bytes)
            print_caution(
                f"{size} of {given.spec} are handed to each process that is started",
                "a function that makes it is handed over as a few bytes",
            )
        yield replace(given, live=live)


def _unwrapped(dataset: object) -> object:
    """Return the loader that is watched, where one is."""
    return dataset.loader if isinstance(dataset, Watched) else dataset

"""The commands for scripts and notebooks: `tune`, `check` and `measure`.

Light to import: what runs is loaded when it is asked for. Each does what its command
does, by the same checks (`commands`), and raises the errors of `autoloader.errors`;
that a target is not met is no error, but a result.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Unpack

import autoloader.measure  # noqa: F401  # before `measure` below takes its place
from autoloader.commands.interrupts import call_interrupted_once
from autoloader.commands.surroundings import check_surroundings
from autoloader.errors import UsageError
from autoloader.units import format_bytes
from autoloader.watching import Watched

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from autoloader.options import CheckOptions, MeasureOptions, TuneOptions
    from autoloader.results import Checked, Compared, Tuned
    from autoloader.values.scope import LiveObject, SourceSpec

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
    asked = _asked(command, dataset, options)
    command.check_request(command.request_of(asked.args, asked.source))
    _load_story()
    with call_interrupted_once(), _handed_over(asked) as source:
        request = command.request_of(asked.args, source)
        return Tuned(command.result_of(asked.args, request))


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
    asked = _asked(command, dataset, options)
    command.check_request(asked.args)
    command.request_of(asked.args, asked.source)
    with call_interrupted_once(), _handed_over(asked) as source:
        request = command.request_of(asked.args, source)
        return Checked(command.result_of(asked.args, request))


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
    asked = _asked(command, dataset, options)
    command.request_of(asked.args, asked.source)
    with call_interrupted_once(), _handed_over(asked) as source:
        request = command.request_of(asked.args, source)
        return Compared(command.result_of(asked.args, request))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What a call asks for."""

    source: SourceSpec
    """With the names of what is live, which is not handed over yet."""
    args: Namespace
    """The flags."""
    live: Mapping[str, object]
    """Objects of the user's process, by the flags that they are given for."""


def _asked(
    command: ModuleType, dataset: object, options: Mapping[str, object]
) -> _Asked:
    """Return what the dataset is called, with its arguments, and the flags.

    Raises:
        UsageError: it can be no dataset, or an option is none, or has no such value.
    """
    from autoloader.commands.arguments import check_spec
    from autoloader.commands.keywords import args_of, arguments_of
    from autoloader.values.decode import shown
    from autoloader.values.job import CHILD_VARIABLE
    from autoloader.values.scope import LiveFunction, SourceSpec

    if CHILD_VARIABLE in os.environ:
        msg = (
            f"{command.NAME}() is called while a process of its own imports the script"
        )
        raise UsageError(msg, hint=_GUARD)
    if isinstance(dataset, _NO_DATA):
        msg = f"{command.NAME}() needs a dataset, got {shown(dataset)}"
        hint = "a Dataset, a DataLoader, a function giving one, or its SPEC"
        raise UsageError(msg, hint=hint)
    named, live = _named(options)
    functions = tuple(LiveFunction(flag=flag) for flag in live)
    if isinstance(dataset, str):
        check_spec("--dataset", dataset)
        spec = dataset
    else:
        live["--dataset"] = _unwrapped(dataset)
        spec = _name_of(live["--dataset"])
    keywords = {name: value for name, value in named.items() if name != "arg"}
    args = args_of(command, spec, keywords)
    arguments = arguments_of(options.get("arg"))
    source = SourceSpec(spec=spec, arguments=arguments, functions=functions)
    return _Asked(source=source, args=args, live=live)


def _named(
    options: Mapping[str, object],
) -> tuple[dict[str, object], dict[str, object]]:
    """Return options with names in place of functions, and these by their flags."""
    named = dict(options)
    live: dict[str, object] = {}
    step, units = options.get("step"), options.get("unit")
    if callable(step):
        named["step"], live["--step"] = _name_of(step), step
    if isinstance(units, Mapping):
        named["unit"] = {
            name: _name_of(found) if callable(found) else found
            for name, found in units.items()
        }
        live |= {
            f"--unit {name}": found for name, found in units.items() if callable(found)
        }
    return named, live


def _name_of(found: object) -> str:
    from autoloader.handover import name_of  # cloudpickle

    return name_of(found)


@contextmanager
def _handed_over(asked: _Asked) -> Iterator[SourceSpec]:
    """Have children read what is live, for as long as the context lasts."""
    if not asked.live:
        yield asked.source
        return
    from autoloader.handover import LARGE_BYTES, handed_over
    from autoloader.report.console import print_caution
    from autoloader.values.scope import LiveFunction

    with ExitStack() as stack:
        handed: dict[str, LiveObject] = {}
        for flag, found in asked.live.items():
            role = flag.removeprefix("--").partition(" ")[0]
            live = stack.enter_context(handed_over(found, role=role))
            handed[flag] = live
            if live.size_bytes >= LARGE_BYTES and not asked.args.quiet:
                size = format_bytes(live.size_bytes)
                print_caution(
                    f"{size} of {_name_of(found)} are handed to each process that is "
                    "started",
                    "a function that makes it is handed over as a few bytes",
                )
        dataset = handed.pop("--dataset", None)
        functions = tuple(
            LiveFunction(flag=flag, live=live) for flag, live in handed.items()
        )
        yield replace(asked.source, live=dataset, functions=functions)


def _load_story() -> None:
    """Import the story of a tune, and Optuna with it, without a word.

    In a notebook Optuna's progress bars warn of widgets that nothing here uses.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="IProgress not found")
        importlib.import_module("autoloader.tuning")


def _unwrapped(dataset: object) -> object:
    """Return the loader that is watched, or that Accelerate prepared, where one is."""
    found = dataset.loader if isinstance(dataset, Watched) else dataset
    is_prepared = type(found).__module__.startswith("accelerate.")
    return getattr(found, "base_dataloader", found) if is_prepared else found

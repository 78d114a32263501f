"""Keyword arguments of the Python API: a command's flags, under the same names.

They are turned into flags and parsed like them, so that both know the same names, rules
and messages. What no flag could say is told here.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex

from autoloader.commands.parsing import Parser
from autoloader.errors import UsageError, did_you_mean
from autoloader.values.decode import shown

if TYPE_CHECKING:
    from types import ModuleType

NOT_IN_PYTHON = frozenset({"arg", "dataset", "help", "json"})
"""Flags that are no keywords: an API takes the dataset itself, its arguments as they
are, and returns values."""

_ONE = (str, bytes, os.PathLike)
"""What holds values and is one."""


def args_of(
    command: ModuleType, dataset: str, keywords: Mapping[str, object]
) -> argparse.Namespace:
    """Return what a command's parser makes of keyword arguments.

    Args:
        command: module of the command.
        dataset: SPEC, or what people call the object that is given.
        keywords: by the names of its flags, `batch_size` for `--batch-size`; None
            stands for what holds without the flag.

    Raises:
        UsageError: there is no such flag, or its value is none.
    """
    parser = Parser(prog="autoloader", allow_abbrev=False)
    commands = parser.add_subparsers(parser_class=Parser)
    command.add_parser(commands)
    known = _actions(commands.choices[command.NAME])
    flags = [f"--dataset={dataset}"]
    for name, value in keywords.items():
        if name not in known:
            msg = f"{command.NAME}() has no argument {name!r}"
            hint = did_you_mean(name, known) or f"it has {', '.join(sorted(known))}"
            raise UsageError(msg, hint=hint)
        if value is not None:
            flags += _flags(name, value, known[name])
    return parser.parse_args([command.NAME, *flags])


def arguments_of(given: object) -> tuple[tuple[str, Any], ...]:
    """Return keyword arguments for what a SPEC, or a function, names.

    Raises:
        UsageError: they are no mapping of names to what JSON can write.
    """
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        msg = f"arg must be a mapping of names to values, got {shown(given)}"
        raise UsageError(msg, hint="for example arg={'root': '/data/train'}")
    for name, value in given.items():
        if not isinstance(name, str) or not name.isidentifier():
            msg = f"arg must have names as keys, got {shown(name)}"
            raise UsageError(msg, hint="for example arg={'root': '/data/train'}")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as exc:
            msg = f"arg[{name!r}] must be a plain value, got {shown(value)}"
            hint = "give a function without arguments that makes the dataset"
            raise UsageError(msg, hint=hint) from exc
    return tuple(given.items())


def _actions(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Return the flags of a command under their names in Python."""
    return {
        name: action
        for action in parser._actions  # argparse has no public list
        for option in action.option_strings
        if option.startswith("--")
        and (name := option.removeprefix("--").replace("-", "_")) not in NOT_IN_PYTHON
    }


def _flags(name: str, value: object, action: argparse.Action) -> Iterator[str]:
    """Yield the flags that stand for one keyword argument."""
    flag = action.option_strings[-1]
    if action.nargs == 0:
        if not isinstance(value, bool):
            msg = f"{name} must be True or False, got {shown(value)}"
            raise UsageError(msg)
        if value:
            yield flag
    elif isinstance(action, argparse._AppendAction):
        for text in _each(name, value):
            yield f"{flag}={text}"
    elif isinstance(value, range) and action.metavar == "RANGE":
        yield f"{flag}={_range_text(name, value)}"
    elif action.metavar == "LIST" and _is_several(value):
        yield f"{flag}={','.join(_text(name, item) for item in _items(name, value))}"
    else:
        yield f"{flag}={_text(name, value)}"


def _each(name: str, value: Any) -> Iterator[str]:
    """Yield the texts of a flag that may be repeated."""
    if name == "unit" and isinstance(value, Mapping):
        for unit, spec in value.items():
            yield f"{_text(name, unit)}={_text(name, spec)}"
    elif name == "config" and (isinstance(value, Mapping) or _recommends(value)):
        yield _config_text(value)
    elif _is_several(value):
        for item in value:
            is_config = name == "config" and not isinstance(item, _ONE)
            yield _config_text(item) if is_config else _text(name, item)
    else:
        yield _text(name, value)


def _config_text(value: Any) -> str:
    """Return settings of a loader as `num_workers=4,prefetch_factor=2`.

    Raises:
        UsageError: they are none.
    """
    settings = value.settings if _recommends(value) else value
    if not isinstance(settings, Mapping):
        msg = f"config must be a text, a file or a mapping, got {shown(value)}"
        raise UsageError(msg, hint="for example config={'num_workers': 4}")
    named = {key: item for key, item in settings.items() if item is not None}
    return ",".join(f"{key}={_text('config', item)}" for key, item in named.items())


def _recommends(value: object) -> bool:
    return isinstance(getattr(value, "settings", None), Mapping)


def _is_several(value: object) -> bool:
    """Whether it holds values, and is none itself."""
    return isinstance(value, Iterable) and not isinstance(value, _ONE)


def _items(name: str, value: Any) -> list[object]:
    found = list(value)
    if not found:
        msg = f"{name} is empty"
        raise UsageError(msg, hint=f"leave {name} out, and its default holds")
    return found


def _range_text(name: str, value: range) -> str:
    """Return `0:8` for `range(0, 9)`.

    Raises:
        UsageError: it leaves numbers out, or has none.
    """
    if not value or value.step != 1:
        msg = f"{name} must be a range of every number in it, got {value!r}"
        raise UsageError(msg, hint=f"for example {name}=range(0, 9), which is 0 to 8")
    return f"{value[0]}:{value[-1]}"


def _text(name: str, value: object) -> str:
    """Return one value as it is written behind a flag.

    Raises:
        UsageError: it is none, or could be no flag's value.
    """
    match value:
        case bool():
            return "yes" if value else "no"
        case str():
            text = value
        case os.PathLike():
            text = str(os.fspath(value))
        case float() if math.isfinite(value):
            return str(int(value)) if value == int(value) else repr(value)
        case SupportsIndex():
            return str(index(value))
        case _:
            text = "\0"
    if "\0" in text:
        msg = f"{name} must be one value, got {shown(value)}"
        raise UsageError(msg)
    return text

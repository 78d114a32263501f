"""Read `study.yaml`: the flags of `tune` under their own names.

A study file is turned into flags and parsed like them, so that both know the same
names, rules and messages; flags on the command line win. What cannot be a flag's value
is told here, where the file and the key are known.
"""

from __future__ import annotations

import argparse
import datetime
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.errors import UsageError, did_you_mean
from autoloader.values.decode import shown
from autoloader.values.text_file import read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_SCALARS = (str, int, float, datetime.date)
"""What YAML has for one value, yes and no among the whole numbers."""


def flags_of(
    path: Path,
    parser: argparse.ArgumentParser,
    check: Callable[[argparse.Namespace], object] | None = None,
) -> list[str]:
    """Return the command line that a study file stands for.

    A relative path in `dataset`, `step`, `on-epoch`, `unit` or `contract` is relative
    to the file.

    Args:
        path: the study file.
        parser: the parser of `tune`, whose flags are the allowed keys.
        check: called with the file's flags as they are parsed; what it refuses is told
            as the file's fault.

    Raises:
        UsageError: no such file, no YAML mapping, an unknown key, or a value that its
            flag cannot have.
    """
    called = f"the study file {path}"
    data = _mapping(path)
    flags = flags_in(data, parser, path=path, beside=path.parent, called=called)
    try:
        parsed = parser.parse_args(flags)
        if check is not None and parsed.dataset is not None:
            check(parsed)
    except UsageError as exc:
        msg = f"{called}: {exc.message}"
        raise UsageError(msg, hint=exc.hint) from exc
    return flags


def flags_in(
    data: Mapping[Any, Any],
    parser: argparse.ArgumentParser,
    *,
    path: Path,
    beside: Path,
    called: str,
) -> list[str]:
    """Return the command line that a mapping of flags stands for.

    Args:
        data: values by the flags' names.
        parser: the parser of `tune`, whose flags are the allowed keys.
        path: the file that it stands in.
        beside: the folder that relative paths in it are relative to.
        called: what an error calls the mapping.

    Raises:
        UsageError: an unknown key, or a value that could be no flag's.
    """
    known = {
        option.removeprefix("--"): action
        for action in parser._actions  # argparse has no public list
        for option in action.option_strings
        if option.startswith("--") and option != "--help"
    }
    for key in data:
        if key not in known:
            msg = f"{called} has an unknown key {shown(key)}"
            close = did_you_mean(key, known) if isinstance(key, str) else None
            raise UsageError(msg, hint=close)
    return [
        text
        for key, value in data.items()
        for text in _flag(key, value, known[key], path, beside)
    ]


def _mapping(path: Path) -> dict[Any, Any]:
    """Return the file's keys and values, as they stand."""
    from autoloader.export.plain_yaml import plain_yaml  # only where a file is given

    called = f"the study file {path}"
    try:
        data = plain_yaml(read_text(path), called=called)
    except OSError as exc:
        msg = f"{called} cannot be read: {exc.strerror}"
        raise UsageError(msg) from exc
    except ValueError as exc:
        raise UsageError(str(exc)) from exc
    if not isinstance(data, dict):
        kind = type(data).__name__
        msg = f"{called} must be a mapping of flags, got {kind}"
        raise UsageError(msg, hint="for example:  dataset: mypackage.data:train_set")
    return data


def _flag(
    key: str, value: Any, action: argparse.Action, path: Path, beside: Path
) -> Iterator[str]:
    name = f"--{key}"
    if value is None:
        msg = f"{key} in {path} is empty"
        raise UsageError(msg, hint=f"leave {key} out, and its default holds")
    if action.nargs == 0:
        if not isinstance(value, bool):
            msg = f"{key} in {path} must be true or false, got {shown(value)}"
            raise UsageError(msg)
        if value:
            yield name
        return
    if key in {"arg", "unit"} and isinstance(value, dict):
        value = [_named(key, *item, path) for item in value.items()]
    if isinstance(action, argparse._AppendAction):
        for item in value if isinstance(value, list) else [value]:
            text = _text(key, item, path)
            yield f"{name}={_unit_beside(text, beside) if key == 'unit' else text}"
        return
    if isinstance(value, list) and action.metavar == "LIST" and value:
        yield f"{name}={','.join(_text(key, item, path) for item in value)}"
        return
    text = _text(key, value, path)
    if key in {"dataset", "on-epoch", "step"}:
        text = _beside(text, beside)
    if key == "contract":
        text = str(beside / text)
    yield f"{name}={text}"


def _text(key: str, value: Any, path: Path) -> str:
    """Return one value as it is written behind a flag.

    Raises:
        UsageError: it is a list, a mapping or empty, or could be no flag's value.
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    is_number = not isinstance(value, float) or math.isfinite(value)
    if isinstance(value, _SCALARS) and is_number and "\0" not in str(value):
        return str(value)
    msg = f"{key} in {path} must be one value, got {shown(value)}"
    raise UsageError(msg)


def _named(key: str, name: Any, value: Any, path: Path) -> str:
    """Return `name=value` of a mapping under `arg` or `unit`.

    An argument's value keeps its type: what is text stays text, though it looks like a
    number, and lists and mappings are written as YAML has them on one line.
    """
    if not isinstance(name, str) or not name.isidentifier():
        msg = f"{key} in {path} must have names as keys, got {shown(name)}"
        example = "root: /data" if key == "arg" else "tokens: data.py:count"
        raise UsageError(msg, hint=f"for example  {key}: {{{example}}}")
    if key == "unit":
        return f"{name}={_text(f'{key}.{name}', value, path)}"
    import yaml  # only where a file is given

    try:
        line = yaml.safe_dump([value], default_flow_style=True, width=math.inf)
    except yaml.YAMLError as exc:
        msg = f"{key}.{name} in {path} must be a plain value, got {shown(value)}"
        raise UsageError(msg) from exc
    return f"{name}={line.strip()[1:-1]}"


def _unit_beside(text: str, beside: Path) -> str:
    """Return `name=SPEC` with the SPEC's file beside the study file."""
    name, equals, spec = text.partition("=")
    return f"{name}={_beside(spec, beside)}" if equals else text


def _beside(spec: str, beside: Path) -> str:
    module, colon, attribute = spec.rpartition(":")
    if colon and module.endswith(".py") and not Path(module).is_absolute():
        return f"{beside / module}:{attribute}"
    return spec

"""Read `study.yaml`: the flags of `tune` under their own names.

A study file is turned into flags and parsed like them, so that both know the same
names, rules and messages; flags on the command line win.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator


def flags_of(path: Path, parser: argparse.ArgumentParser) -> list[str]:
    """Return the command line that a study file stands for.

    A relative path in `dataset`, `on-epoch`, `unit` or `contract` is relative to the
    file.

    Args:
        path: the study file.
        parser: the parser of `tune`, whose flags are the allowed keys.

    Raises:
        UsageError: no such file, no YAML mapping, or an unknown key.
    """
    import yaml  # only where a file is given

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as exc:
        msg = f"the study file {path} cannot be read: {exc.strerror}"
        raise UsageError(msg) from exc
    except (yaml.YAMLError, UnicodeDecodeError) as exc:
        msg = f"the study file {path} is no YAML: {str(exc).splitlines()[0]}"
        raise UsageError(msg) from exc
    if not isinstance(data, dict):
        kind = type(data).__name__
        msg = f"the study file {path} must be a mapping of flags, got {kind}"
        raise UsageError(msg, hint="for example:  dataset: mypackage.data:train_set")
    known = {
        option.removeprefix("--"): action
        for action in parser._actions  # argparse has no public list
        for option in action.option_strings
        if option.startswith("--") and option != "--help"
    }
    for key in data:
        if key not in known:
            msg = f"the study file {path} has an unknown key {key!r}"
            raise UsageError(msg, hint=did_you_mean(str(key), known))
    return [
        text
        for key, value in data.items()
        for text in _flag(key, value, known[key], path)
    ]


def _flag(key: str, value: Any, action: argparse.Action, path: Path) -> Iterator[str]:
    name = f"--{key}"
    if action.nargs == 0:
        if not isinstance(value, bool):
            msg = f"{key} in {path} must be true or false, got {value!r}"
            raise UsageError(msg)
        if value:
            yield name
        return
    if key in {"dataset", "on-epoch"} and isinstance(value, str):
        value = _beside(value, path)
    if key == "contract" and isinstance(value, str):
        value = path.parent / value
    if key in {"arg", "unit"} and isinstance(value, dict):
        value = [f"{name}={item}" for name, item in value.items()]
    if key == "unit":
        value = [_unit_beside(str(item), path) for item in _listed(value)]
    if isinstance(action, argparse._AppendAction):
        for item in _listed(value):
            yield f"{name}={item}"
        return
    if isinstance(value, bool):
        value = "yes" if value else "no"
    if isinstance(value, list):
        value = ",".join(str(item) for item in value)
    yield f"{name}={value}"


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _unit_beside(text: str, path: Path) -> str:
    """Return `name=SPEC` with the SPEC's file beside the study file."""
    name, equals, spec = text.partition("=")
    return f"{name}={_beside(spec, path)}" if equals else text


def _beside(spec: str, path: Path) -> str:
    module, colon, attribute = spec.rpartition(":")
    if colon and module.endswith(".py") and not Path(module).is_absolute():
        return f"{path.parent / module}:{attribute}"
    return spec

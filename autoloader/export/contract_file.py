"""The contract as a YAML file that people read and edit.

What equals its default is left out, so that the file says only what is held. Read by
`safe_load` only. What a contract means stands in `values.contract`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from autoloader.errors import StoredFileError, UsageError, did_you_mean
from autoloader.export.plain_yaml import plain_yaml
from autoloader.export.yaml_text import TextDumper, yaml_text
from autoloader.files import write_whole
from autoloader.values.contract import (
    Contract,
    ContractField,
    ContractLabel,
    Padding,
    Rules,
)
from autoloader.values.decode import shown, value_of
from autoloader.values.text_file import read_text

if TYPE_CHECKING:
    from pathlib import Path

    import yaml

SCHEMA = 1

_SECTIONS = ("schema", "dataset", *(item.name for item in dataclasses.fields(Contract)))

_HEAD = """\
# What this dataset must deliver, whatever the DataLoader's settings: the contract.
# Inferred by autoloader from the examples that it saw (seen, of). Read it, loosen what
# only happens to hold, tighten what must hold. Hold data against it with
#   autoloader check --dataset SPEC --contract THIS_FILE   (or: autoloader tune)
#
# examples     how many the dataset has; null: not declared
# fields       what an example is made of. path: where it is in the example, '' for
#              the example itself. shape: null in place of a size that is free; no
#              shape: not held. type or dtype `varies`: not held. axes: where an image
#              has its channels. optional: an example may lack it, or have None there.
#              random: it differs when the same example is read again
# label        low and high: the range of whole-number labels; null: not held
# equal_sizes  sizes, as FIELD[axis], that are equal within each example
# padding      a row of the batch's mask has as many true entries as the example's
#              field `of` is long on that axis, and they come first
# rules
#   shapes     fixed: sizes must be those named here; free: only how many there are
#   incomplete refuse: an example that breaks the contract refuses the dataset;
#              allow: it is named as a caution
#   filtered   true: a loader may leave out such examples, and no others (needs allow);
#              false: none is ever left out

"""

_QUOTES = "write names that look like numbers in quotes: path: '0'"

_Part = TypeVar("_Part")


def write_contract(
    path: Path, contract: Contract, *, dataset: str, replace: bool = False
) -> bool:
    """Write a contract whole, or leave what stands there untouched.

    A file that says the same is kept with the comments that people gave it.

    Args:
        path: the file.
        contract: what to write.
        dataset: the SPEC that it belongs to.
        replace: whether a file that says something else may be replaced.

    Returns:
        Whether anything was written.

    Raises:
        UsageError: the file is there and says something else.
        StoredFileError: the disk refuses.
    """
    data = _sections(contract, dataset)
    if path.exists() and not replace:
        differing = _differing(path, data)
        if not differing:
            return False
        msg = f"{path} exists and differs in {', '.join(differing)}"
        hint = "name another file to compare the two, or remove this one first"
        raise UsageError(msg, hint=hint)
    write_whole(path, _HEAD + yaml_text(data, _Dumper, width=88))
    return True


def read_contract(path: Path) -> Contract:
    """Return the contract in a file.

    Raises:
        UsageError: there is no such file.
        StoredFileError: it is no YAML, of another schema, or what it says is wrong.
    """
    return _decoded(_loaded(path), path)


def _loaded(path: Path) -> dict[str, Any]:
    """Return the sections of a file, known names only, their contents unchecked."""
    try:
        data = plain_yaml(read_text(path), called=str(path))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as exc:
        msg = f"there is no contract at {path}"
        hint = f"`autoloader check --dataset SPEC --write-contract {path}` writes one"
        raise UsageError(msg, hint=hint) from exc
    except OSError as exc:
        msg = f"{path} cannot be read: {exc.strerror}"
        raise StoredFileError(msg) from exc
    except ValueError as exc:
        raise StoredFileError(str(exc)) from exc
    if not isinstance(data, Mapping):
        msg = f"{path} is no contract: a mapping is needed, got {type(data).__name__}"
        raise StoredFileError(msg)
    if "schema" not in data:
        msg = f"{path} is no contract: it lacks 'schema'"
        raise StoredFileError(msg, hint=f"schema: {SCHEMA}")
    if data["schema"] != SCHEMA:
        msg = f"{path} has schema {shown(data['schema'])}, this version reads {SCHEMA}"
        raise StoredFileError(msg, hint="upgrade the package, or write it again")
    unknown = next((name for name in data if name not in _SECTIONS), None)
    if unknown is not None:
        msg = f"{path} has an unknown section {shown(unknown)}"
        raise StoredFileError(msg, hint=did_you_mean(str(unknown), _SECTIONS))
    return {str(name): value for name, value in data.items()}


def _decoded(data: dict[str, Any], path: Path) -> Contract:
    """Return the sections as a contract; an emptied section is as a missing one."""
    held: dict[str, Any] = {
        name: value for name, value in data.items() if value is not None
    }
    held.pop("schema")
    dataset = held.pop("dataset", "")
    if not isinstance(dataset, str):
        msg = f"{path}: dataset must be str, got {shown(dataset)}"
        raise StoredFileError(msg, hint=_QUOTES)
    lists: dict[str, type[Any]] = {"fields": ContractField, "padding": Padding}
    for name, kind in lists.items():
        items = held.get(name, [])
        if not isinstance(items, list):
            msg = f"{path}: {name} must be a list, got {type(items).__name__}"
            raise StoredFileError(msg)
        for place, item in enumerate(items):
            _part(kind, item, path, f"{name}[{place}]")
    parts: dict[str, type[Any]] = {"label": ContractLabel, "rules": Rules}
    for name, kind in parts.items():
        if name in held:
            _part(kind, held[name], path, name)
    return _part(Contract, held, path, "contract")


def _part(kind: type[_Part], data: object, path: Path, place: str) -> _Part:
    """Return a part of the file as its value, errors told by its place in the file."""
    try:
        return value_of(kind, data, place=place)
    except StoredFileError as exc:
        hint = _QUOTES if " must be str" in exc.message else exc.hint
        msg = f"{path}: {exc.message}"
        raise StoredFileError(msg, hint=hint) from exc


def _sections(contract: Contract, dataset: str) -> dict[str, Any]:
    """Return what is written, by section."""
    data: dict[str, Any] = {"schema": SCHEMA, "dataset": dataset, **contract.to_dict()}
    data["fields"] = [_without_defaults(field) for field in contract.fields]
    return {
        name: value
        for name, value in data.items()
        if value not in ([], None) or name in {"examples", "fields"}
    }


def _without_defaults(field: ContractField) -> dict[str, Any]:
    defaults = {item.name: item.default for item in dataclasses.fields(field)}
    return {
        name: value
        for name, value in field.to_dict().items()
        if name in {"path", "type"} or value != defaults[name]
    }


def _differing(path: Path, data: dict[str, Any]) -> list[str]:
    """Return the sections in which the file at `path` says something else.

    Raises:
        UsageError: what is there is no contract, and not ours to replace.
    """
    try:
        found = _loaded(path)
        there = _sections(_decoded(found, path), found.get("dataset") or "")
    except (StoredFileError, UsageError) as exc:
        msg = f"{path} exists and cannot be read as a contract: {exc.message}"
        raise UsageError(
            msg, hint="name another file, or remove this one first"
        ) from exc
    return [name for name in _SECTIONS if there.get(name) != data.get(name)]


class _Dumper(TextDumper):
    """Block style, but a list of numbers and names on one line."""


def _represent_list(dumper: yaml.SafeDumper, data: list[Any]) -> yaml.Node:
    is_flat = not any(isinstance(item, (list, dict)) for item in data)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=is_flat)


_Dumper.add_representer(list, _represent_list)

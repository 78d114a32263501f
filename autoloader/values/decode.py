"""Turn dicts that were read from disk or a pipe back into frozen values.

Every `from_dict` of `values` goes through here: an unknown or missing key, or a value
of another type, is an error that names it, never a silent default. `Any` stops here.
"""

import dataclasses
import math
import reprlib
import types
import typing
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, Literal, Self, TypeVar

from autoloader.errors import StoredFileError, UsageError, did_you_mean

Value = TypeVar("Value")


def value_of(kind: type[Value], data: object, *, place: str | None = None) -> Value:
    """Return the frozen value of class `kind` that `plain` made this mapping of.

    Args:
        kind: a frozen dataclass.
        data: the mapping.
        place: where it stands in its file, such as `machine`; errors name what is wrong
            from there on, as `machine.accelerators[0].name`. Empty: the file itself;
            None: the class's name.

    Raises:
        StoredFileError: `data` is no mapping, a key is unknown or missing, a value has
            another type, or the values contradict each other.
    """
    name = kind.__name__ if place is None else place
    found = fields_of(kind, data, place=name)
    hashable: Any = kind
    hints = _hints(hashable)
    arguments = {
        key: _decoded(hints[key], value, f"{name}.{key}" if name else key)
        for key, value in found.items()
    }
    try:
        return kind(**arguments)
    except (UsageError, ArithmeticError, ValueError) as exc:
        msg = f"{name or 'it'} cannot be used: {exc}"
        raise StoredFileError(msg) from exc


class Stored:
    """A frozen value that is written as a mapping and read back from one."""

    __slots__ = ()

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Return the value that `to_dict` wrote.

        Raises:
            StoredFileError: it is none: a key is unknown or missing, a value has
                another type, or the values contradict each other.
        """
        return value_of(cls, data)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, nested values as mappings and lists."""
        result: dict[str, Any] = plain(self)
        return result


def fields_of(
    kind: type[Any], data: object, *, place: str | None = None
) -> dict[str, Any]:
    """Return the mapping as keyword arguments for the dataclass `kind`, as they stand.

    Raises:
        StoredFileError: `data` is no mapping, has a key that `kind` does not know, or
            lacks one that `kind` requires.
    """
    name = kind.__name__ if place is None else place or "it"
    if not isinstance(data, Mapping):
        msg = f"{name} must be a mapping, got {type(data).__name__}"
        raise StoredFileError(msg)
    known = {field.name: field for field in dataclasses.fields(kind)}
    for key in data:
        if key not in known:
            msg = f"{name} has no field {shown(key)}"
            close = did_you_mean(key, known) if isinstance(key, str) else None
            raise StoredFileError(msg, hint=close)
    for field in known.values():
        required = (
            field.default is dataclasses.MISSING
            and field.default_factory is dataclasses.MISSING
        )
        if required and field.name not in data:
            msg = f"{name} lacks the field {field.name!r}"
            raise StoredFileError(msg)
    return {str(key): value for key, value in data.items()}


def plain(value: object) -> Any:
    """Return a frozen value as dicts, lists and scalars, ready for JSON or YAML."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, str):
        return str(value)
    return value


class _Short(reprlib.Repr):
    """Shows some items of some levels, so that nothing is written out whole."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxlist = self.maxtuple = self.maxdict = 20
        self.maxstring = self.maxother = 80

    def repr_int(self, x: int, level: int) -> str:
        """Return a number; one of thousands of digits cannot be written by Python."""
        del level
        bits = x.bit_length()
        return repr(x) if bits < 200 else f"<a number of {bits} bits>"


_SHORT = _Short()


def shown(value: object) -> str:
    """Return a value as it fits into a sentence, however large or deep it is."""
    text = _SHORT.repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


@lru_cache(maxsize=64)
def _hints(kind: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _decoded(wanted: Any, value: Any, name: str) -> Any:
    """Return `value` as the annotated type `wanted` has it.

    Raises:
        StoredFileError: it has another type.
    """
    if wanted is Any:
        return value
    if typing.get_origin(wanted) in {types.UnionType, typing.Union}:
        return _decoded_union(typing.get_args(wanted), value, name)
    if not _fits(wanted, value):
        msg = f"{name} must be {_words(wanted)}, got {shown(value)}"
        raise StoredFileError(msg)
    if typing.get_origin(wanted) is tuple:
        return _decoded_tuple(typing.get_args(wanted), value, name)
    if wanted is float:
        return _finite(value, name)
    if isinstance(wanted, type) and issubclass(wanted, StrEnum):
        return wanted(value)
    if dataclasses.is_dataclass(wanted):
        return value_of(typing.cast("type[Any]", wanted), value, place=name)
    return value


def _finite(value: float, name: str) -> float:
    """Return a number as a float; what was not measured is None, never NaN."""
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        msg = f"{name} must be a finite number, got {shown(value)}"
        raise StoredFileError(msg)
    return found


def _decoded_union(choices: tuple[Any, ...], value: Any, name: str) -> Any:
    for choice in choices:
        if _fits(choice, value):
            return _decoded(choice, value, name)
    words = " | ".join(_words(choice) for choice in choices)
    msg = f"{name} must be {words}, got {shown(value)}"
    raise StoredFileError(msg)


def _decoded_tuple(items: tuple[Any, ...], value: Any, name: str) -> tuple[Any, ...]:
    if len(items) == 2 and items[1] is Ellipsis:
        return tuple(
            _decoded(items[0], item, f"{name}[{place}]")
            for place, item in enumerate(value)
        )
    if len(items) != len(value):
        msg = f"{name} must have {len(items)} items, got {len(value)}"
        raise StoredFileError(msg)
    return tuple(
        _decoded(wanted, item, f"{name}[{place}]")
        for place, (wanted, item) in enumerate(zip(items, value, strict=True))
    )


def _fits(wanted: Any, value: Any) -> bool:
    """Whether a stored value has the type, items of sequences left aside."""
    origin = typing.get_origin(wanted) or wanted
    if origin is Any:
        return True
    if origin is Literal:
        return any(
            value == item and type(value) is type(item)
            for item in typing.get_args(wanted)
        )
    if origin is tuple:
        return isinstance(value, (list, tuple))
    if origin in {bool, types.NoneType}:
        return isinstance(value, origin)
    if isinstance(value, bool):
        return False
    if origin is float:
        return isinstance(value, (int, float))
    if issubclass(origin, StrEnum):
        return value in list(origin)
    if dataclasses.is_dataclass(origin) or origin is dict:
        return isinstance(value, Mapping)
    return isinstance(value, origin)


def _words(wanted: Any) -> str:
    """Return the type as a stored file has it."""
    origin = typing.get_origin(wanted) or wanted
    if origin is Literal:
        return " | ".join(repr(item) for item in typing.get_args(wanted))
    if origin is tuple:
        return "a list"
    if origin is types.NoneType:
        return "None"
    if issubclass(origin, StrEnum):
        return " | ".join(repr(item.value) for item in origin)
    if dataclasses.is_dataclass(origin) or origin is dict:
        return "a mapping"
    return str(origin.__name__)

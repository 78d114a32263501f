"""Find what in an object cannot be pickled, by its attribute path.

The error of a pickler names a type, not a place. How an object is pickled is handed in:
workers that are spawned get the dataset by one way, children a live object by another.
Pure: nothing is kept and nothing is told.
"""

from __future__ import annotations

import dis
import pickle
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEEPEST = 6
"""Attributes of attributes that are looked through."""

REFUSALS = (
    pickle.PicklingError,
    AttributeError,
    ImportError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What is raised where something cannot be pickled, by whoever says how it is."""

_OF_EACH_CLASS = frozenset({"__dict__", "__weakref__"})
"""What Python adds to a class, and makes anew with it."""


def unpicklable_part(
    found: Any, name: str, dump: Callable[[Any], object], *, by_value: bool = False
) -> tuple[str, str] | None:
    """Return path and type of the deepest part that cannot be pickled.

    Args:
        found: what is sent.
        name: what the path begins with, such as `dataset`.
        dump: pickles an object, or raises.
        by_value: whether what `__main__` defines is pickled with all it refers to, as
            `name -> other` then says, instead of by its name.

    Returns:
        `("dataset.reader.file", "BufferedReader")`, or None where all can be pickled.
    """
    return _Search(dump, by_value).part(found, name, DEEPEST)


@dataclass(slots=True)
class _Search:
    """Looks through an object, depth first."""

    dump: Callable[[Any], object]
    by_value: bool
    seen: set[int] = field(default_factory=set)

    def part(self, found: Any, name: str, depth: int) -> tuple[str, str] | None:
        if id(found) in self.seen or self._can_pickle(found):
            return None
        self.seen.add(id(found))
        if depth and not self._is_unknown(_named(found)):
            for place, value in self._parts(found):
                deeper = self.part(value, f"{name}{place}", depth - 1)
                if deeper is not None:
                    return deeper
        return name, _kind(found)

    def _is_unknown(self, named: Any) -> bool:
        """Whether a class or function cannot be found: nothing within it matters."""
        is_looked_for = _is_of_main(named) and not self.by_value
        return is_looked_for and not self._can_pickle(named)

    def _can_pickle(self, found: Any) -> bool:
        try:
            self.dump(found)
        except REFUSALS:
            return False
        return True

    def _parts(self, found: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(found, dict):
            for key, value in found.items():
                yield f"[{key!r}]", value
        elif isinstance(found, (list, tuple)):
            for place, value in enumerate(found):
                yield f"[{place}]", value
        elif isinstance(found, FunctionType) and self.by_value:
            yield from _captured(found)
        else:
            for key, value in dict(getattr(found, "__dict__", {})).items():
                if key not in _OF_EACH_CLASS:
                    yield f".{key}", value
            kind = type(found)
            if self.by_value and _is_of_main(kind):
                yield f" -> {kind.__qualname__}", kind


def _named(found: Any) -> Any:
    """Return a class or function, or the class of an object."""
    return found if getattr(found, "__qualname__", None) else type(found)


def _is_of_main(named: Any) -> bool:
    """Whether it is defined in `__main__`, which cannot be imported everywhere."""
    return getattr(named, "__module__", None) == "__main__"


def _kind(found: Any) -> str:
    """Return the name of a class or function, or of an object's class."""
    named = _named(found)
    name = str(named.__qualname__)
    return f"__main__.{name}" if _is_of_main(named) else name


def _captured(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield what a function takes from around it: variables of a closure, globals."""
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=False):
        try:
            yield f" -> {name}", cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for name in dict.fromkeys(_globals_of(function.__code__)):
        if name in function.__globals__:
            yield f" -> {name}", function.__globals__[name]


def _globals_of(code: CodeType) -> Iterator[str]:
    """Yield the names of globals that code loads, and code within it."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL":
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals_of(constant)

"""Hand a live object over to children: pickled once, into files of ours.

The object is a Dataset, a DataLoader, or a function or class that gives one. What
`__main__` defines (a script, a cell of a notebook) goes by value, what a module defines
by its name. Nothing is forked from the user's process, and why is in the manual
(`autoloader help python`). torch is not imported: where it matters, it is there.
"""

from __future__ import annotations

import contextlib
import copyreg
import functools
import hashlib
import io
import multiprocessing
import os
import pickle
import sys
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import IO, TYPE_CHECKING, Any

import cloudpickle

from autoloader.errors import UsageError
from autoloader.files import refusals_named
from autoloader.trial.aftercare import make_tmp, remove_folder
from autoloader.values.scope import LiveObject
from autoloader.values.unpicklable import REFUSALS, unpicklable_part

if TYPE_CHECKING:
    from collections.abc import Iterator

PROTOCOL = 5
"""Of pickle: large arrays are written as they lie."""

LARGE_BYTES = 256 * 2**20
"""Size from which on it is told: each process reads it before its first pass."""

_MAKERS = {"step": "a class, which is made where it runs, or ", "unit": ""}
"""What is given instead of what cannot be pickled; else a function that makes it."""

_SIGNED_WHOLE = 2**20
"""Bytes of a piece from which on it is data, and holds no name of a class."""


def name_of(found: object) -> str:
    """Return what people call an object: `__main__.Photos object`."""
    if isinstance(found, functools.partial):
        return name_of(found.func)
    if isinstance(found, (type, FunctionType, MethodType)):
        return f"{found.__module__}.{found.__qualname__}"
    kind = type(found)
    if _is_loader(found):
        return f"{kind.__qualname__} of a {name_of(vars(found)['dataset'])}"
    return f"{kind.__module__}.{kind.__qualname__} object"


@contextlib.contextmanager
def handed_over(found: object, *, role: str = "dataset") -> Iterator[LiveObject]:
    """Have children read an object, for as long as the context lasts.

    Args:
        found: dataset, loader, a function that gives one, or the step.
        role: what it is called, where a part of it cannot be pickled.

    Raises:
        UsageError: it cannot be pickled; says which part.
        StoredFileError: the disk has no room for it.
    """
    folder = make_tmp()
    try:
        with refusals_named(folder):
            live = _written(found, folder, role)
        yield live
    finally:
        remove_folder(folder)


def _written(found: object, folder: Path, role: str) -> LiveObject:
    with _created(folder / "object") as file:
        signed = _Signed(file)
        pickler = _Pickler(signed)
        try:
            pickler.dump(found)
            definitions = _definitions(pickler.of_main)
            pickler.dump(definitions)
        except REFUSALS as exc:
            if signed.refusal is not None:
                raise signed.refusal from None
            raise _unpicklable(found, role) from exc
    main_file = folder / "main" if definitions and _main_has_file() else None
    if main_file is not None:
        with _created(main_file) as file:
            _Pickler(file).dump(definitions)
    return LiveObject(
        file=str(folder / "object"),
        size_bytes=signed.size_bytes,
        signature=signed.signature(),
        modules=tuple(pickler.modules),
        search_path=tuple(_search_path()),
        start_method=multiprocessing.get_start_method(allow_none=True),
        main_file=None if main_file is None else str(main_file),
    )


def _unpicklable(found: object, role: str) -> UsageError:
    """Return the error of an object that cannot be pickled, with the part of it."""
    label = "loader" if _is_loader(found) else role
    if isinstance(found, (type, FunctionType)):
        label = found.__qualname__
    part = unpicklable_part(found, label, _dump_nowhere, by_value=True)
    path, kind = part or (label, type(found).__qualname__)
    msg = (
        f"{path} ({kind}) cannot be pickled, and other processes get "
        f"{name_of(found)} by pickle"
    )
    maker = _MAKERS.get(role, "a function that makes it, or ")
    hint = f"give {maker}its SPEC: module:attribute or path/file.py:attribute"
    return UsageError(msg, hint=hint)


def _dump_nowhere(found: object) -> None:
    _Pickler(_Nowhere()).dump(found)


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # it ships no types
    """Notes the modules that are needed, and the names that `__main__` defines."""

    def __init__(self, file: IO[bytes] | _Signed | _Nowhere) -> None:
        super().__init__(file, protocol=PROTOCOL)
        self.modules: dict[str, None] = {}
        self.of_main: dict[str, None] = {}

    def reducer_override(self, found: Any) -> Any:
        """Return how an object is pickled, where that is not by the usual way.

        Raises:
            PicklingError: it is an open file, whose content would go instead of it.
        """
        if isinstance(found, io.TextIOWrapper) and found not in _standard_streams():
            msg = "an open file cannot be pickled"
            raise pickle.PicklingError(msg)
        if _is_loader(found) and vars(found).get("_iterator") is not None:
            state = {**vars(found), "_iterator": None}  # its workers stay here
            return copyreg.__newobj__, (type(found),), state  # type: ignore[attr-defined]
        if isinstance(found, ModuleType) and found.__name__ in sys.modules:
            self.modules[found.__name__] = None
        reduced = super().reducer_override(found)
        if isinstance(found, (type, FunctionType)):
            self._note(found, by_name=reduced is NotImplemented)
        return reduced

    def _note(self, found: type | FunctionType, *, by_name: bool) -> None:
        if by_name:
            self.modules[str(found.__module__)] = None
        elif found.__module__ == "__main__":
            self.of_main[found.__qualname__.partition(".")[0]] = None


def _definitions(names: dict[str, None]) -> dict[str, Any]:
    """Return what of `__main__` is at its head: a function within another has no name.

    Another class may have the name by now: a cell that was run again defines it anew.
    """
    head = vars(sys.modules["__main__"])
    return {name: head[name] for name in names if name in head}


class _Signed:
    """A file whose content is signed while it is written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.blake2b(digest_size=8)
        self.size_bytes = 0
        self.refusal: OSError | None = None
        """What the disk said."""

    def write(self, data: bytes) -> int:
        """Write a piece; what names classes anew in each process is not signed."""
        try:
            self._file.write(data)
        except OSError as exc:
            self.refusal = exc
            raise
        size = memoryview(data).nbytes
        self.size_bytes += size
        self._digest.update(data if size > _SIGNED_WHOLE else _lasting(bytes(data)))
        return size

    def signature(self) -> str:
        """Return the digest, in hex."""
        return self._digest.hexdigest()


class _Nowhere:
    """A file that keeps nothing."""

    def write(self, data: bytes) -> int:
        """Take a piece."""
        return memoryview(data).nbytes


def _lasting(data: bytes) -> bytes:
    """Return a piece without the random ids that cloudpickle tells classes apart by."""
    tracked = getattr(cloudpickle.cloudpickle, "_DYNAMIC_CLASS_TRACKER_BY_CLASS", {})
    for number in list(tracked.values()):
        data = data.replace(number.encode(), b"")
    return data


def _created(path: Path) -> IO[bytes]:
    """Create a file that its owner alone may read."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    return os.fdopen(os.open(path, flags, 0o600), "wb")


def _is_loader(found: object) -> bool:
    """Whether it is a DataLoader; where there is one, its module is loaded."""
    loaded = sys.modules.get("torch.utils.data")
    return loaded is not None and isinstance(found, loaded.DataLoader)


def _standard_streams() -> tuple[object, ...]:
    return sys.stdout, sys.stderr


def _main_has_file() -> bool:
    """Whether a worker that is spawned could import what `__main__` defines."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    return isinstance(file, str) and Path(file).is_file()


def _search_path() -> list[str]:
    """Return where modules are looked for, in order, each place once."""
    here = str(Path.cwd())
    places = (place or here for place in sys.path if isinstance(place, str))
    return list(dict.fromkeys(places))

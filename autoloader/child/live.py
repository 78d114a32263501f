"""Read live objects: what the user's own process handed over to this child.

Each was pickled once, by `autoloader.handover`, into a file that only its owner reads.
"""

from __future__ import annotations

import importlib
import multiprocessing
import pickle
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.child.definitions import define_main
from autoloader.errors import StoredFileError

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.values.scope import LiveObject


def read_live(
    live: LiveObject, *, on_imported: Callable[[], None] | None = None
) -> Any:
    """Return a dataset or loader; workers are started as the user's process does.

    Args:
        live: where it is, and what it needs.
        on_imported: called between imports and construction.

    Raises:
        StoredFileError: the file is not what was written.
    """
    if live.start_method is not None:
        multiprocessing.set_start_method(live.start_method, force=True)
    found, definitions = _read(live, on_imported)
    if definitions:
        define_main(definitions, file=live.main_file)
    return found


def read_live_function(live: LiveObject) -> Any:
    """Return a function; what becomes of workers is the dataset's.

    Raises:
        StoredFileError: the file is not what was written.
    """
    found, _definitions = _read(live)
    return found


def _read(
    live: LiveObject, on_imported: Callable[[], None] | None = None
) -> tuple[Any, dict[str, Any]]:
    """Return an object, and what `__main__` defines of it.

    Its modules are found where the user's process finds them.
    """
    _search_as_the_user_does(live.search_path)
    for name in live.modules:
        importlib.import_module(name)
    if on_imported is not None:
        on_imported()
    path = Path(live.file)
    if not path.is_file() or path.stat().st_size != live.size_bytes:
        msg = f"{path}, the object that was handed over, is gone or was cut"
        raise StoredFileError(
            msg, hint="TMPDIR=FOLDER names a folder that nothing tidies"
        )
    with path.open("rb") as file:
        unpickler = pickle.Unpickler(file)  # noqa: S301  # written by our parent
        return unpickler.load(), unpickler.load()


def _search_as_the_user_does(search_path: tuple[str, ...]) -> None:
    """Put the places where the user's process looks for modules before our own."""
    ours = [place for place in sys.path if place not in search_path]
    sys.path[:] = [*search_path, *ours]

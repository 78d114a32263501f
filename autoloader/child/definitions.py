"""Stand in for the `__main__` of the user's process, where it defined a live object.

Pickle names a class by its module. What a script defines is `__main__.Photos` to it,
and a worker that is spawned imports the script for it. A child of ours runs no script
of the user's: definitions of `__main__` come to it, and to workers, by file.

Python's own modules only: what is started afresh runs this file (`child.spawned`).
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from multiprocessing import context
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

VARIABLE = "AUTOLOADER_MAIN"
"""Tells workers the file with definitions, and the names in it, as JSON."""


def define_main(definitions: dict[str, Any], *, file: str | None) -> None:
    """Put definitions in the place of this process's `__main__`.

    Args:
        definitions: what the user's `__main__` defines, by name.
        file: where spawned workers find them; None: they could not import them in the
            user's process either, and pickle says so.
    """
    if file is not None:
        os.environ[VARIABLE] = json.dumps([file, sorted(definitions)])

    def look_up(name: str) -> Any:
        is_spawning = context.get_spawning_popen() is not None
        if name in definitions and (file is not None or not is_spawning):
            return definitions[name]
        raise _missing(name)

    _answer_for_main(ModuleType("__main__"), look_up)


def names_told() -> tuple[str, ...]:
    """Return what spawned workers will find in `__main__`."""
    told = os.environ.get(VARIABLE)
    return () if told is None else tuple(json.loads(told)[1])


def find_definitions() -> None:
    """Have `__main__` of a spawned process answer for the user's, once it is asked."""
    told = os.environ.get(VARIABLE)
    if told is None:
        return
    file, names = json.loads(told)
    found: dict[str, Any] = {}

    def look_up(name: str) -> Any:
        if name not in names:
            raise _missing(name)
        if not found:
            with open(file, "rb") as source:  # noqa: PTH123  # few modules are loaded
                found.update(pickle.load(source))  # noqa: S301  # written by our parent
        return found[name]

    _answer_for_main(sys.modules["__main__"], look_up)


def _answer_for_main(main: ModuleType, look_up: Callable[[str], Any]) -> None:
    main.__getattr__ = look_up  # type: ignore[method-assign]  # as PEP 562 has it
    sys.modules["__main__"] = main


def _missing(name: str) -> AttributeError:
    return AttributeError(f"module '__main__' has no attribute {name!r}")

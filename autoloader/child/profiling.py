"""Which functions carry the time of reading an example: a profile of a few of them.

Deterministic (`cProfile`), so that functions in C have names of their own: "resize of
Pillow's core" and not the line that calls it. What it measures is slower than what runs
without it, where small Python functions are called often; only shares are told, and
examples are read again for it, after everything else was measured.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.child.seeding import seed_all
from autoloader.values.ceiling import HotFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_EXAMPLES = 64
"""Examples that are read under the profile."""

PROFILE_SHARE = 0.03
"""Part of the time of the reference that the profile may take."""

MOST_S = 2.0
"""Seconds after which no further one is read, however long the reference may take."""

LEAST_SHARE = 0.03
"""Functions with less are not named."""

MOST_FUNCTIONS = 8
"""Functions that are named."""

BY_VALUE = "<dynamic-code>"
"""What cloudpickle calls the file of code that a script or a notebook handed over."""

OURS = "autoloader.child."
"""Begin of the names of functions that are none of the user's."""

_Key = tuple[str, int, str]
"""File, line and function, as `pstats` has it; C functions are of the file `~`."""


def hot_functions(
    read: Callable[[Any], Any],
    ids: Sequence[Any],
    *,
    seed: int,
    most_s: float = MOST_S,
) -> tuple[HotFunction, ...]:
    """Return the functions that carry the reading of examples, the heaviest first.

    Empty where another profiler is at work already, nothing was read, or an example is
    not given again.

    Args:
        read: returns an example by its id.
        ids: of the scope; a part of them is read, spread over all.
        seed: of the generators.
        most_s: seconds after which no further example is read.
    """
    if sys.getprofile() is not None or not ids:
        return ()
    step = max(1, len(ids) // MOST_EXAMPLES)
    read_ids = list(ids[::step][:MOST_EXAMPLES])
    seed_all(seed)
    profile = cProfile.Profile()
    deadline, count = time.monotonic() + most_s, 0
    try:
        profile.enable()
    except ValueError:  # another tool profiles (since Python 3.12)
        return ()
    try:
        for index in read_ids:
            read(index)
            count += 1
            if time.monotonic() > deadline:
                break
    except Exception:  # noqa: BLE001  # the user's code: it was read well before
        return ()
    finally:
        profile.disable()
    return heaviest(_times(profile), count)


def heaviest(
    times: dict[str, tuple[float, int]], examples: int
) -> tuple[HotFunction, ...]:
    """Return the functions with the largest shares.

    Args:
        times: seconds within a function alone and calls of it, by name.
        examples: that were read.
    """
    total_s = sum(seconds for seconds, _ in times.values())
    if not total_s or not examples:
        return ()
    found = [
        HotFunction(
            name=name,
            share=round(seconds / total_s, 4),
            calls_per_example=round(calls / examples, 3),
        )
        for name, (seconds, calls) in times.items()
        if seconds >= LEAST_SHARE * total_s
    ]
    found.sort(key=lambda item: -item.share)
    return tuple(found[:MOST_FUNCTIONS])


def _times(profile: cProfile.Profile) -> dict[str, tuple[float, int]]:
    """Return seconds within each function alone, and its calls, by name."""
    found: dict[str, tuple[float, int]] = {}
    listed: dict[_Key, tuple[int, int, float, float, Any]]
    listed = pstats.Stats(profile).stats  # type: ignore[attr-defined]  # not in stubs
    modules = _modules_by_file()
    for key, (_, calls, alone_s, _, _) in listed.items():
        name = name_of_function(key, modules)
        if name.startswith(OURS) or "Profiler" in name:
            continue
        seconds, known = found.get(name, (0.0, 0))
        found[name] = (seconds + alone_s, known + calls)
    return found


def name_of_function(key: _Key, modules: dict[str, str]) -> str:
    """Return a function's name with its module, and without a path.

    Args:
        key: file, line and function; a C function says itself what it is a method of.
        modules: names of modules by their files.
    """
    file, _, function = key
    if file == "~":
        words = function.strip("<>").removeprefix("built-in method ")
        if words.startswith("method '") and words.endswith(" objects"):
            method, _, kind = words.removeprefix("method '").partition("' of '")
            return f"{kind.removesuffix(' objects').rstrip(chr(39))}.{method}"
        return words
    module = "__main__" if file == BY_VALUE else modules.get(file) or Path(file).stem
    return f"{module}.{function}"


def _modules_by_file() -> dict[str, str]:
    return {
        file: name
        for name, module in list(sys.modules.items())
        if isinstance(file := getattr(module, "__file__", None), str)
    }

"""The command line of Python itself, so that children run as their parent does.

With other flags a child would find other modules (`-I`, `-E`, `-s`, `-P`), keep asserts
that training does without (`-O`), or be silent where it should fail (`-W error`).
Variables such as PYTHONPATH are inherited, and no matter here.
"""

from __future__ import annotations

import sys
from typing import Any

_LETTERS = {
    "optimize": "O",
    "dont_write_bytecode": "B",
    "no_site": "S",
    "verbose": "v",
    "bytes_warning": "b",
}
"""Flags that may be given several times, by their names in `sys.flags`."""

_PATHS = {"ignore_environment": "E", "no_user_site": "s", "safe_path": "P"}
"""Flags that say where modules are looked for; `-I` is all of them."""

_IMPLIED_BY_BYTES = ("default::BytesWarning", "error::BytesWarning")
"""What `-b` and `-bb` add to the filters of warnings."""


def interpreter_flags() -> list[str]:
    """Return the flags that this interpreter was started with.

    Left out are those that only matter to who types: `-i`, `-q`, `-u`, `-x`.
    """
    flags: Any = sys.flags
    found = [
        f"-{letter * count}"
        for name, letter in _LETTERS.items()
        if (count := int(getattr(flags, name)))
    ]
    if flags.isolated:
        found.append("-I")
    else:
        names = [name for name in _PATHS if getattr(flags, name, False)]
        found += [f"-{_PATHS[name]}" for name in names]
    options = dict(sys._xoptions)  # documented, though its name says private
    if flags.dev_mode:
        options.setdefault("dev", True)
    for name, value in options.items():
        found += ["-X", name if value is True else f"{name}={value}"]
    return found + [f"-W{filter_}" for filter_ in _filters(flags)]


def _filters(flags: Any) -> list[str]:
    """Return the filters of warnings that were asked for, not those that follow."""
    filters = list(sys.warnoptions)
    implied = [*_IMPLIED_BY_BYTES[: flags.bytes_warning][-1:]]
    implied += ["default"] if flags.dev_mode else []
    for filter_ in implied:
        if filter_ in filters:
            filters.remove(filter_)
    return filters

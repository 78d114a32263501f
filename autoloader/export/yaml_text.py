"""Write YAML that reads as it is: what cannot be seen stands as an escape.

The counterpart of `plain_yaml`, which loads it to the same values. What is written, and
the order of it, are the caller's.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

_UNUSUAL = re.compile(r"[^ -~\n]")
_FILLERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u3164\uffa0"
)
"""Letters that count as printable and have no shape of their own."""


class TextDumper(yaml.SafeDumper):
    """PyYAML's safe dumper for a file that people read."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write equal values out instead of as anchors."""
        del data
        return True


def yaml_text(
    data: object, dumper: type[TextDumper] = TextDumper, *, width: int
) -> str:
    """Return plain values as the text of a YAML document.

    Args:
        data: mappings, lists and scalars.
        dumper: which lays them out.
        width: columns after which lines are broken.
    """
    text: str = yaml.dump(
        data, Dumper=dumper, sort_keys=False, width=width, allow_unicode=True
    )
    return visible(text)


def visible(text: str) -> str:
    """Return a text with an escape for each letter that cannot be seen.

    Such letters turn the direction of writing around, or make two names look alike. An
    escape means the letter in a quoted text of YAML, and of Python as well.
    """
    return _UNUSUAL.sub(lambda found: _visible(found[0]), text)


def _visible(letter: str) -> str:
    if letter.isprintable() and letter not in _FILLERS:
        return letter
    code = ord(letter)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _represent_str(dumper: yaml.SafeDumper, data: str) -> yaml.Node:
    """Return a text, in double quotes where an escape has to mean a letter."""
    style = '"' if visible(data) != data or "\n" in data else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)


TextDumper.add_representer(str, _represent_str)

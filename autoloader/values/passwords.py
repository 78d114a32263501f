"""Passwords in text, and in the arguments of a dataset: found, and left out.

Whatever is kept in a file or shown to people has none. Who needs one reads it from the
environment. What a password is, nobody can tell for sure: here it is what stands in a
URL between the user's name and `@`, what follows `password=`, and an argument whose own
name says so.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from autoloader.values.scope import SourceSpec

LEFT_OUT = "***"
"""What stands in the place of a password."""

_IN_URL = re.compile(
    r"(?P<before>[a-z][a-z0-9+.-]*://[^\s/?#:@\[]*:)"
    # Without slashes, as it has to be; or with them, where no port is meant.
    r"(?P<password>[^\s/?#]+|(?!\d+[/?#])[^\s@]+)(?=@)",
    re.IGNORECASE,
)
_AFTER_NAME = re.compile(
    r"(?P<before>\b(?:\w*_)?(?:password|passwd|pwd)=)"
    r"(?P<password>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s&;,'\"]+)",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?:\w+_)?(?:password|passwd|pwd|secret|api_?key|secret_key|access_key)"
    r"|(?:access_|auth_|hf_)?token",
    re.IGNORECASE,
)


def without_passwords(text: str) -> str:
    """Return a text in which `***` stands for each password."""
    for pattern in (_IN_URL, _AFTER_NAME):
        text = pattern.sub(rf"\g<before>{LEFT_OUT}", text)
    return text


def as_kept(source: SourceSpec) -> SourceSpec:
    """Return a source as it is written into files: without passwords."""
    arguments = tuple(
        (name, _value_as_kept(name, value)) for name, value in source.arguments
    )
    return replace(source, arguments=arguments)


def with_passwords(source: SourceSpec) -> tuple[str, ...]:
    """Return the names of the arguments that hold a password."""
    kept = dict(as_kept(source).arguments)
    return tuple(name for name, value in source.arguments if kept[name] != value)


def values_without_passwords(data: Any) -> Any:
    """Return plain values, such as are written as JSON, without passwords."""
    return _value_as_kept("", data)


def _value_as_kept(name: str, value: Any) -> Any:
    """Return a value without passwords, nor any within a list or a mapping."""
    match value:
        case str():
            is_secret = value and _NAME.fullmatch(name)
            return LEFT_OUT if is_secret else without_passwords(value)
        case Mapping():
            return {key: _value_as_kept(str(key), item) for key, item in value.items()}
        case list():
            return [_value_as_kept(name, item) for item in value]
        case tuple():
            return tuple(_value_as_kept(name, item) for item in value)
        case _:
            return value

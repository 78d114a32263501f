"""Passwords in text, and in the arguments of a dataset: found, and left out.

Whatever is kept in a file or shown to people has none. Who needs one reads it from the
environment. What a password is, nobody can tell for sure: here it is what stands in a
URL before `@`, what is given to a name that says so (`password=`, `{"api_key": ...}`,
`?sig=`), what follows `Bearer`, and an argument with such a name. Every pattern takes
time in proportion to the text: an exception may carry a whole file.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from autoloader.values.scope import SourceSpec

LEFT_OUT = "***"
"""What stands in the place of a password."""

_TOKENS = (
    "access|api|auth|bearer|github|gitlab|hf|hub|refresh|sas|secret|security|session"
)
"""Of the many tokens of a tokenizer, none is named so."""

_LONG_NAME = (
    r"[\w-]*(?:password|passwd|passphrase|pwd|secret|authorization"
    r"|(?:access|account|api|secret)[_-]?key"
    rf"|(?:{_TOKENS})[_-]?token)"
)
_SHORT_NAME = r"(?:token|sig)"
"""These say so as the name of an argument; in prose, both are common words."""

_NAME = re.compile(rf"{_LONG_NAME}|{_SHORT_NAME}", re.IGNORECASE)

_GIVEN = (
    r"(?:[bru]{0,2}'(?:[^'\\]|\\.)*'?"  # without its end where a text was cut
    r'|[bru]{0,2}"(?:[^"\\]|\\.)*"?'
    r"|\\+[\"'][^\"'\\]*"  # quoted within quotes
    r"|[^\s&;,'\"\\]+)"
)
_QUOTED_NAME_ENDS = r"\\*[\"'](?:[ \t]*=>?[ \t]*|[ \t]*:[ \t]*(?=[bru]{0,2}\\*[\"']))"
_SCHEME = r"(?:(?:bearer|basic|token)[ \t]+)?"
"""What may stand before the value of `Authorization:`."""

_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        r"(?P<before>(?<![a-z0-9+.-])[a-z0-9+.-]*://[^\s/?#:@\[]*:)"
        # Without slashes, as it has to be; or with them, where no port is meant.
        r"(?:[^\s/?#]+|(?!\d+[/?#])[^\s@]{1,256})(?=@)",
        # A user's name that is none, as stores of code take it.
        r"(?P<before>://)"
        r"(?:(?:gh[a-z]|github_pat|hf)_|glpat-|(?=[a-z_-]*\d)[\w-]{32})[\w-]*(?=@)",
        rf"(?P<before>(?<![\w-]){_LONG_NAME}"
        # A colon and a blank follow words of a sentence, too.
        rf"(?:{_QUOTED_NAME_ENDS}|[ \t]*={{1,2}}>?[ \t]*|:(?![/ \t\n])){_SCHEME})"
        rf"{_GIVEN}",
        rf"(?P<before>(?:^|[{{\[(,;'\"])[ \t]*{_LONG_NAME}:[ \t]+{_SCHEME}){_GIVEN}",
        rf"(?P<before>(?<![\w-]){_SHORT_NAME}(?:{_QUOTED_NAME_ENDS}|=)){_GIVEN}",
        rf"(?P<before>[?&][\w-]*signature=){_GIVEN}",
        r"(?P<before>\b(?:bearer|basic)[ \t]+)(?=[a-z_.~+/=-]*\d)[\w.~+/=-]{12,}",
    )
)


def without_passwords(text: str) -> str:
    """Return a text in which `***` stands for each password."""
    for pattern in _PATTERNS:
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

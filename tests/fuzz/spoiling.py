"""Spoil what the package wrote: keys, values, lines and bytes; never at random twice.

Structure first, as people spoil files: a key dropped, misspelt or moved, a value of
another type or size. Then the text: lines doubled, tags, aliases, other encodings. Then
bytes, as disks do.
"""

import copy
import datetime
import json
from collections.abc import Callable, Iterator
from typing import Any

import yaml
from hypothesis import strategies as st

Place = tuple[str | int, ...]
"""Keys and indices on the way to a value."""

LETTERS = st.characters(exclude_categories=["Cs"])

TEXTS = st.text(LETTERS, max_size=12) | st.sampled_from(
    [
        "", "0", "1:30", "yes", "null", "a.py:b", "-1", "1e999", "NaN", "a\0b",
        "\x1b[31m", "../..", "x" * 5000, "{}", "é\u202e", "x[0]", "num_workers=2",
        "95%", "1,2", "all",
    ]
)  # fmt: skip

NUMBERS = st.integers(-3, 70) | st.sampled_from(
    [2**31, 2**63, -(2**63) - 1, 10**30, 10**400, 0, True, False]
)

FLOATS = st.floats() | st.sampled_from([0.0, -0.0, 1e308, 5e-324])

JUNK = st.recursive(
    st.none() | NUMBERS | FLOATS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
    ),
    max_leaves=5,
)
"""Values that JSON has."""

YAML_JUNK = JUNK | st.sampled_from([datetime.date(2026, 1, 2), b"bytes", {"a"}])
"""Values that YAML has as well."""

LINES = (
    "x: &a [*a]",
    "a: &a [1, 1]\nb: &b [*a, *a]\nc: [*b, *b]",
    "<<: {schema: 1}",
    "<<: *none",
    "schema: !!python/object/apply:os.mkdir ['{canary}']",
    "!!python/object/new:os.mkdir ['{canary}']: 1",
    "? [a]\n: b",
    "? {a: b}\n: c",
    "%YAML 9.9\n---",
    "...",
    "---",
    "x: " + "[" * 3000,
    "x: " + "{a: " * 3000,
    "- " * 3000,
    '{"schema": 1, "record": "reading", "number": [0], "reading": {}}',
    "x: =",
    "x: !!binary '%'",
    "x: !!set {a, b}",
    "x: !!omap [a]",
    "x: !!bool many",
    "x: !!int ''",
    "x: !!timestamp now",
    "x: 0x" + "f" * 6000,
    "x: " + "9" * 6000,
    "x: 1:30:30",
    "x: .nan",
    "x: -.inf",
    "x: 2026-13-45",
    'x: "\\ud800"',
    'x: "\\UFFFFFFFF"',
    "x: |\n  text\n ",
    "x: \t1",
    "x: \0",
    "x: \x85\u2028",
    "x: &",
    "x: *",
    "x: !",
    "# " + "x" * 5000,
)
"""Text that YAML has a surprise for."""

ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1")


def places_of(value: object, at: Place = ()) -> Iterator[Place]:
    """Yield the place of everything within a value, the value itself left out."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*at, key)
            yield from places_of(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield (*at, index)
            yield from places_of(inner, (*at, index))


def holder_of(value: Any, place: Place) -> Any:
    """Return the mapping or list that holds what is at a place."""
    for step in place[:-1]:
        value = value[step]
    return value


@st.composite
def spoiled(draw: st.DrawFn, whole: Any, junk: st.SearchStrategy[Any]) -> Any:
    """Return a copy with one to three things wrong."""
    data = copy.deepcopy(whole)
    for _ in range(draw(st.integers(1, 3))):
        places = list(places_of(data))
        if places:
            _spoil(draw, data, draw(st.sampled_from(places)), junk)
    return data


def _spoil(
    draw: st.DrawFn, data: Any, place: Place, junk: st.SearchStrategy[Any]
) -> None:
    """Spoil what is at a place."""
    holder: Any = holder_of(data, place)
    last: Any = place[-1]
    match draw(st.sampled_from(["junk", "drop", "rename", "nest", "text", "twice"])):
        case "junk":
            holder[last] = draw(junk)
        case "drop":
            del holder[last]
        case "rename" if isinstance(holder, dict):
            holder[draw(TEXTS)] = holder.pop(last)
        case "nest":
            holder[last] = (
                [holder[last]] if draw(st.booleans()) else {"x": holder[last]}
            )
        case "text":
            holder[last] = str(holder[last])
        case "twice" if isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
        case _:
            holder[last] = None


@st.composite
def torn(draw: st.DrawFn, data: bytes, canary: str) -> bytes:
    """Return a text as editors, other programs and disks leave it."""
    for _ in range(draw(st.integers(1, 3))):
        data = _torn_once(draw, data, canary)
    return data


def _torn_once(draw: st.DrawFn, data: bytes, canary: str) -> bytes:
    place = draw(st.integers(0, len(data)))
    lines = data.split(b"\n")
    line = draw(st.integers(0, len(lines) - 1))
    match draw(
        st.sampled_from(
            ["cut", "bytes", "line", "double", "swap", "crlf", "code", "mix"]
        )
    ):
        case "cut":
            return data[:place]
        case "bytes":
            return data[:place] + draw(st.binary(max_size=8)) + data[place + 1 :]
        case "line":
            text = draw(st.sampled_from(LINES)).replace("{canary}", canary)
            lines.insert(line, text.encode("utf-8", "surrogatepass"))
        case "double":
            lines.insert(line, lines[line])
        case "swap":
            lines[line], lines[0] = lines[0], lines[line]
        case "crlf":
            return data.replace(b"\n", b"\r\n")
        case "code":
            encoding = draw(st.sampled_from(ENCODINGS))
            return data.decode("utf-8", "replace").encode(encoding, "replace")
        case _:
            del lines[line]
    return b"\n".join(lines)


def as_yaml(value: object) -> bytes:
    """Return a value as YAML."""
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True).encode()


def as_json(value: object) -> bytes:
    """Return a value as JSON, as Python writes what JSON has no word for."""
    return json.dumps(value).encode()


def as_json_lines(values: list[object]) -> bytes:
    """Return values as lines of JSON."""
    return b"".join(as_json(value) + b"\n" for value in values)


def documents(
    whole: Any, write: Callable[[Any], bytes], *, canary: str
) -> st.SearchStrategy[bytes]:
    """Return files that began as `whole`, and some that never were one."""
    junk = YAML_JUNK if write is as_yaml else JUNK
    bad = spoiled(whole, junk).map(write)
    return st.one_of(
        bad,
        bad,
        torn(write(whole), canary),
        bad.flatmap(lambda data: torn(data, canary)),
        torn(b"", canary),
        st.binary(max_size=100),
    )


WORDS = st.one_of(
    TEXTS,
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(
        ["none", "True", "no", "0x10", "1e3", "9" * 5000, "1_000", " 4 ", "²", "+1"]
    ),
)
"""What may stand behind a flag, or behind the name of a setting."""

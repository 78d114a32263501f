"""Load YAML that people write: plain values only, and nothing that could surprise.

On top of PyYAML's safe loader: a key that stands twice is an error, not the last one
silently; `0:16` and `2:16` are text, not times in base 60; aliases, deep nesting and
huge numbers, which can take memory and time without bound, are refused. What the
values mean is the caller's.
"""

import re
from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError

from autoloader.values.decode import shown

MOST_DEPTH = 40
"""Deepest nesting that is read; a contract has 4."""

MOST_BITS = 1024
"""Largest whole number that is read: any larger one is beyond a float as well."""

_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_TEXT = "tag:yaml.org,2002:str"
_SURROGATE = re.compile("[\ud800-\udfff]")


def plain_yaml(text: str, *, called: str) -> Any:
    """Return what a text of one YAML document holds; None where it is empty.

    Args:
        text: the document.
        called: what an error calls it, such as its path.

    Raises:
        ValueError: it is no YAML, or none that is read here; says where and why.
    """
    try:
        loader = _PlainLoader(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        where = "" if mark is None else f" in line {mark.line + 1}"
        msg = f"{called} is no YAML{where}: {_problem(exc)}"
        raise ValueError(msg) from exc
    except yaml.YAMLError as exc:
        msg = f"{called} is no YAML: {_cut(str(exc).splitlines()[0])}"
        raise ValueError(msg) from exc
    except (ArithmeticError, ValueError) as exc:  # PyYAML lets them through
        msg = f"{called} is no YAML: an escape such as \\U00110000 names no letter"
        raise ValueError(msg) from exc


class _PlainLoader(yaml.SafeLoader):
    """PyYAML's safe loader with the rules of this module."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Return the next node; refuse aliases and what is nested too deep."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]  # a stub
        mark: Any = event.start_mark
        if isinstance(event, yaml.AliasEvent):
            problem = f"the alias *{event.anchor} is not read here, write the value out"
            raise ComposerError(None, None, problem, mark)
        if self._depth == MOST_DEPTH:
            problem = f"values are nested more than {MOST_DEPTH} deep"
            raise ComposerError(None, None, problem, mark)
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """Return a value's tag; `2:16` is a range to people, not 136."""
        tag = super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]  # a stub
        return _TEXT if tag in _NUMBERS and ":" in value else tag

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Return a mapping; refuse a key that stands twice."""
        lines: dict[tuple[str, str], int] = {}
        for key, _value in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(key, yaml.ScalarNode):
                continue  # no key that is read here; PyYAML has its own words for it
            name, line = (key.tag, key.value), key.start_mark.line + 1
            if name in lines:
                problem = f"the key {shown(key.value)} stands twice, "
                problem += f"first in line {lines[name]}"
                raise ConstructorError(None, None, problem, key.start_mark)
            lines[name] = line
        return super().construct_mapping(node, deep=deep)

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        """Return a value; refuse a text that says it is of a type that it is not."""
        try:
            value: Any = super().construct_object(node, deep=deep)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            kind = node.tag.rpartition(":")[2]
            words = shown(node.value) if isinstance(node, yaml.ScalarNode) else "it"
            problem = f"{words} is no {kind}"
            raise ConstructorError(None, None, problem, node.start_mark) from None
        if isinstance(value, int) and value.bit_length() > MOST_BITS:
            problem = f"a number of more than {MOST_BITS} bits is not read here"
            raise ConstructorError(None, None, problem, node.start_mark)
        if isinstance(value, str) and _SURROGATE.search(value):
            problem = f"{shown(value)} is half a letter"
            raise ConstructorError(None, None, problem, node.start_mark)
        return value


def _problem(exc: yaml.MarkedYAMLError) -> str:
    """Return the parser's words; what it was about to do is left out."""
    parts = [exc.context or "", exc.problem or ""]
    if parts[0].startswith("while "):
        del parts[0]
    return _cut(", ".join(part for part in parts if part))


def _cut(text: str) -> str:
    """Return a text of a length that fits into a sentence."""
    return text if len(text) <= 200 else f"{text[:197]}..."

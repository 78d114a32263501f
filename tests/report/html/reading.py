"""A page as a browser takes it apart, by the parser of the standard library."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "link", "img", "br", "hr", "input"}
"""Elements without an end."""


@dataclass(slots=True)
class Node:
    """An element with its attributes, and all text in it."""

    name: str
    attributes: dict[str, str | None]
    within: tuple[str, ...]
    text: str = ""
    children: list[Node] = field(default_factory=list)


class Reader(HTMLParser):
    """Reads a page into a list of its elements, in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.nodes: list[Node] = []
        self.unclosed: list[str] = []
        self._open: list[Node] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        within = tuple(node.name for node in self._open)
        node = Node(tag, dict(attrs), within)
        self.nodes.append(node)
        if self._open:
            self._open[-1].children.append(node)
        if tag not in VOID:
            self._open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element of a drawing that holds nothing."""
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        """Leave an element, which must be the one that was begun last."""
        if not self._open or self._open[-1].name != tag:
            self.unclosed.append(tag)
            return
        self._open.pop()

    def handle_data(self, data: str) -> None:
        """Note text of all elements around it."""
        for node in self._open:
            node.text += data

    def all(self, *names: str) -> list[Node]:
        """Return the elements of these names, in order."""
        return [node for node in self.nodes if node.name in names]

    def named(self, name: str) -> Node:
        """Return the element with an id."""
        return next(node for node in self.nodes if node.attributes.get("id") == name)

    def data(self) -> dict[str, Any]:
        """Return what the page carries along."""
        found: dict[str, Any] = json.loads(self.named("page-data").text)
        return found

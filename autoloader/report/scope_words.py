"""Say in one line what the rates of a study are of.

Pure: scope and facts in, words out, without a full stop.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from autoloader.export.scope_section import MEASURES
from autoloader.units import format_rate, in_number
from autoloader.values.decode import value_of
from autoloader.values.scope import AccessFacts, Scope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoloader.values.scope import DatasetFacts

_DECODED = {"inside": "decoded inside", "outside": "decoded after the loader"}

_ORDERS = {
    "sequential": "in order",
    "stream": "in the stream's order",
    "stream, shuffled": "shuffled by the stream",
}


def scope_words(scope: Scope, facts: DatasetFacts) -> str:
    """Return examples and order; source, decoding, transforms; cache; what is left out.

    Args:
        scope: which examples, in which order.
        facts: what they are made of, and where they come from.
    """
    units = {each.name: each.per_example for each in facts.units}
    return _said(scope, facts.access, units)


def section_words(section: Mapping[str, Any]) -> str:
    """Return the same of the section `scope` of a recommendation.

    Raises:
        StoredFileError: it is none; says which field is wrong.
    """
    names = {item.name for item in fields(Scope)}
    held = {name: value for name, value in section.items() if name in names}
    found = section.get("access")
    access = (
        None if found is None else value_of(AccessFacts, found, place="scope.access")
    )
    units = {
        name: amount
        for name, amount in section.get("per_example", {}).items()
        if name != "bytes"
    }
    return _said(value_of(Scope, held, place="scope"), access, units)


def _said(scope: Scope, access: AccessFacts | None, units: Mapping[str, float]) -> str:
    made = [f"transforms {scope.transforms}"]
    if access is not None:
        decoded = _DECODED.get(access.decoding)
        made = [_source(access), *([decoded] if decoded else []), *made]
    parts = [
        f"{_extent(scope)}, {_order(scope)}",
        ", ".join(made),
        f"page cache {scope.cache}",
        MEASURES,
    ]
    if units:
        counted = (f"{format_rate(amount)} {name}" for name, amount in units.items())
        parts.insert(1, f"{', '.join(counted)} an example")
    return "; ".join(parts)


def _extent(scope: Scope) -> str:
    if scope.of is None:
        return f"the first {scope.examples:,} examples"
    return f"{scope.examples:,} of {scope.of:,} examples"


def _order(scope: Scope) -> str:
    """Return the order; a class is the user's own sampler."""
    if scope.order == "shuffled":
        return f"shuffled with seed {scope.seed}"
    return _ORDERS.get(scope.order) or f"as {scope.order} draws with seed {scope.seed}"


def _source(access: AccessFacts) -> str:
    """Return where the examples come from."""
    if access.source == "memory":
        return "from memory"
    types = ", ".join(access.file_systems)
    if access.source == "network" and access.connections:
        count = access.connections
        said = f"over {count:,} {in_number(count, 'connection')}"
        return f"{said} and files ({types})" if types else said
    named = types if access.files else "not seen by name"
    return f"{access.source} files" + (f" ({named})" if named else "")

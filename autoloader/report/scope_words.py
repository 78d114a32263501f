"""Say in one line what the rates of a study are of.

Pure: scope and facts in, words out, without a full stop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.export.scope_section import MEASURES
from autoloader.units import format_rate

if TYPE_CHECKING:
    from autoloader.values.scope import AccessFacts, DatasetFacts, Scope

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
    made = [f"transforms {scope.transforms}"]
    if facts.access is not None:
        decoded = _DECODED.get(facts.access.decoding)
        made = [_source(facts.access), *([decoded] if decoded else []), *made]
    parts = [
        f"{_extent(scope)}, {_order(scope)}",
        ", ".join(made),
        f"page cache {scope.cache}",
        MEASURES,
    ]
    if facts.units:
        counted = (
            f"{format_rate(each.per_example)} {each.name}" for each in facts.units
        )
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
        said = f"over {count:,} connection{'' if count == 1 else 's'}"
        return f"{said} and files ({types})" if types else said
    named = types if access.files else "not seen by name"
    return f"{access.source} files" + (f" ({named})" if named else "")

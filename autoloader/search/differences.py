"""Tell in what two studies differ: their keys, and the datasets that they read.

Pure: plain values in, sentences out. What a key is made of is `search.folder`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoloader.units import format_bytes
from autoloader.values.decode import shown

if TYPE_CHECKING:
    from autoloader.values.scope import DatasetFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One part in which the keys of two studies differ."""

    field: str
    """Where it stands in the key: `scope.seed`."""
    old: str
    """What it was, cut to what fits into a sentence."""
    new: str
    """What it is now."""

    @property
    def sentence(self) -> str:
        """What differs, in words that follow "kept apart:"."""
        part, _, flag = self.field.partition(".")
        if part == "code":
            return f"the code of {flag} has changed"
        name = self.field.removesuffix("_bytes")
        return f"its {name} was {self.old}, now {self.new}"


def key_differences(
    old: Mapping[str, Any], new: Mapping[str, Any], place: str = ""
) -> tuple[Difference, ...]:
    """Return the parts in which two keys differ, by their dotted names.

    Args:
        old: a key, as `StudyKey.to_dict` wrote it.
        new: another one.
        place: what the names begin with.
    """
    found: list[Difference] = []
    for name in dict.fromkeys((*new, *old)):
        was, now = old.get(name), new.get(name)
        is_code = place == "code."
        if was == now or (is_code and None in (was, now)):
            continue  # what was not named has no code that could have changed
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            found += key_differences(was, now, f"{place}{name}.")
        else:
            old_word, new_word = _words(name, was, now)
            found.append(Difference(field=f"{place}{name}", old=old_word, new=new_word))
    return tuple(found)


def what_differs(old: DatasetFacts, new: DatasetFacts) -> str | None:
    """Return how the dataset differs from the one that a study began with, or None."""
    if old.length != new.length:
        return (
            f"the dataset has {new.length} examples, the study began with {old.length}"
        )
    if old.label != new.label:
        return f"the label is {new.label!r}, the study began with {old.label!r}"
    if old.fields != new.fields:
        return "the fields of an example are not those that the study began with"
    if old.baseline != new.baseline:
        return "the settings of your DataLoader are not those that the study began with"
    return None


def _words(name: str, was: object, now: object) -> tuple[str, str]:
    """Return how two values are told; sizes in their units where that tells them."""
    if name.endswith("_bytes"):
        sizes = _size(was), _size(now)
        if sizes[0] != sizes[1]:
            return sizes
    return _word(was), _word(now)


def _size(value: object) -> str:
    return format_bytes(value) if isinstance(value, int) else _word(value)


def _word(value: object) -> str:
    return "not given" if value is None else shown(value)

"""Hold examples against a contract, and say in words where they break it.

Pure: what an example is made of goes in, sentences come out. Never content: sizes,
types and names of fields only. Nothing is inferred here (`audit.contract_inference`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from autoloader.units import counted
from autoloader.values.contract import VARIES, Shape, parse_size

if TYPE_CHECKING:
    from autoloader.values.contract import Contract, ContractField

Kind = tuple[str, str, str | None, Shape | None]
"""Name, type, dtype and shape of one field of an example."""

Kinds = tuple[Kind, ...]
"""All fields of an example: what it is made of."""

MOST_CACHED = 50_000
"""Kinds whose words are remembered; images that all differ in size must not add up."""

CHANNELS = frozenset({1, 2, 3, 4})
"""Channels that an image may have."""


class Wording(NamedTuple):
    """How a difference is said."""

    says: str
    """Stands before what is right."""
    unknown: str
    """Said of a field that should not be there; `{}` is its name."""


BY_CONTRACT = Wording("the contract says", "{} is not in the contract")
BY_OTHERS = Wording("others are", "{} is there, others have none")


class ContractCheck:
    """Says what of an example breaks a contract.

    Args:
        contract: what is right.
        wording: whether a contract says so, or the other examples.
    """

    def __init__(self, contract: Contract, wording: Wording = BY_CONTRACT) -> None:
        self.contract = contract
        self._wording = wording
        self._fields = {field.path: field for field in contract.fields}
        self._groups = [
            [(name, *parse_size(name)) for name in group]
            for group in contract.equal_sizes
        ]
        self._known: dict[Kinds, tuple[str, ...]] = {}

    def violations(self, kinds: Kinds, label_value: int | None) -> tuple[str, ...]:
        """Return in words what breaks the contract; nothing where it is kept.

        Args:
            kinds: what the example is made of.
            label_value: its label; None where that is no whole number.
        """
        words = self._known.get(kinds)
        if words is None:
            if len(self._known) >= MOST_CACHED:
                self._known.clear()
            words = self._known[kinds] = tuple(self._of_kinds(kinds))
        label = self._of_label(kinds, label_value)
        return words if label is None else (*words, label)

    def _of_kinds(self, kinds: Kinds) -> list[str]:
        if is_none(kinds) and not self._takes_none():
            return ["example is None"]
        words = self._of_missing(kinds)
        for kind in kinds if self._fields else ():
            field = self._fields.get(kind[0])
            if field is not None:
                found = self._of_field(field, kind)
                words += [] if found is None else [found]
            elif not self._is_hollow(kind):
                words.append(self._wording.unknown.format(_called(kind[0])))
        return [*dict.fromkeys(words), *self._of_sizes(kinds)]

    def _takes_none(self) -> bool:
        """Whether an example may be None as a whole."""
        whole = self._fields.get("")
        if whole is None:
            return not self._fields
        return whole.optional or whole.type == "none"

    def _of_missing(self, kinds: Kinds) -> list[str]:
        """Return the fields that are not there, or what is None above them."""
        present = {kind[0] for kind in kinds}
        hollow = [kind[0] for kind in kinds if self._is_hollow(kind)]
        words = []
        for path, field in self._fields.items():
            if path not in present and not field.optional:
                above = next((top for top in hollow if path.startswith(f"{top}.")), "")
                lack = f"{_called(above)} is None" if above else None
                words.append(lack or f"{_called(path)} is missing")
        return words

    def _is_hollow(self, kind: Kind) -> bool:
        """Whether there is None where the contract has fields below."""
        return kind[1] == "none" and any(
            path.startswith(f"{kind[0]}.") for path in self._fields
        )

    def _of_field(self, field: ContractField, kind: Kind) -> str | None:
        """Return the first thing that is wrong with a field."""
        name, (_, type_, dtype, shape) = _called(field.path), kind
        if type_ == "none" and field.type != "none":
            return None if field.optional else f"{name} is None"
        if field.type not in {VARIES, type_}:
            return f"{name} is {type_}, {self._wording.says} {field.type}"
        if field.dtype not in {None, VARIES, dtype}:
            return f"{name} is {dtype}, {self._wording.says} {field.dtype}"
        wanted = self._broken_shape(field, shape)
        if wanted is None:
            return None
        return f"{name} is {_sized(shape)}, {self._wording.says} {wanted}"

    def _broken_shape(self, field: ContractField, shape: Shape | None) -> str | None:
        """Return what a shape should be; None where it is right."""
        if field.shape is None:
            return None
        is_free = self.contract.rules.shapes == "free"
        if shape is None or len(shape) != len(field.shape):
            count = len(field.shape)
            return counted(count, "dimension") if is_free else _sized(field.shape)
        pairs = zip(shape, field.shape, strict=True)
        if not is_free and any(
            None not in pair and pair[0] != pair[1] for pair in pairs
        ):
            return _sized(field.shape)
        if field.axes is not None:
            channels = shape[-3] if field.axes == "channels_first" else shape[-1]
            if channels is not None and channels not in CHANNELS:
                return field.axes.replace("_", " ")
        return None

    def _of_sizes(self, kinds: Kinds) -> list[str]:
        """Return the groups of equal sizes that are not equal."""
        if not self._groups:
            return []
        shapes = {name: shape for name, _, _, shape in kinds if shape is not None}
        words = []
        for group in self._groups:
            sizes = {
                name: shapes[path][axis]
                for name, path, axis in group
                if path in shapes and axis < len(shapes[path])
            }
            if len(set(sizes.values()) - {None}) > 1:
                *first, last = sizes
                words.append(f"{', '.join(first)} and {last} differ")
        return words

    def _of_label(self, kinds: Kinds, value: int | None) -> str | None:
        label = self.contract.label
        if label is None or label.low is None or label.high is None:
            return None
        if value is not None:
            is_within = label.low <= value <= label.high
            return (
                None if is_within else f"label is outside {label.low} to {label.high}"
            )
        types = {kind[1] for kind in kinds if kind[0] == label.path}
        if types - {"none"}:
            return f"label is no whole number of {label.low} to {label.high}"
        return None if self._fields else "label is missing"


def is_none(kinds: Kinds) -> bool:
    """Return whether an example is None as a whole."""
    return len(kinds) == 1 and kinds[0][:2] == ("", "none")


def _called(path: str) -> str:
    """Return a field's name as it stands in a sentence."""
    if not path:
        return "example"
    return f"field {path}" if path[0].isdigit() else path


def _sized(shape: Shape | None) -> str:
    """Return a shape in words: `3 x 16 x any`."""
    if shape is None:
        return "without a regular shape"
    if not shape:
        return "a single number"
    if len(shape) == 1:
        return "of any length" if shape[0] is None else f"of length {shape[0]}"
    return " x ".join("any" if size is None else str(size) for size in shape)

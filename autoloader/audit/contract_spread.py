"""How far examples differ in what they are made of, kept up while they are read.

Widening by what is known already changes nothing, so a kind may be noted once or often.
Counts nothing and keeps no ids (`audit.contract_inference`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoloader.audit.contract import CHANNELS
from autoloader.values.contract import VARIES, ContractField, size_name

if TYPE_CHECKING:
    from autoloader.audit.contract import Kind, Kinds
    from autoloader.values.contract import Axes, Shape

_Size = tuple[str, int]
"""A field's name and one of its axes."""


class Spread:
    """What all kinds of examples have in common, and what varies over them."""

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}
        self._groups: list[dict[_Size, int]] | None = None
        self._varying: set[_Size] = set()

    def widen(self, kinds: Kinds) -> None:
        """Take in what an example is made of."""
        is_first = self._groups is None
        present = {kind[0] for kind in kinds}
        for name, column in self._columns.items():
            column.is_lacked |= name not in present
        for kind in kinds:
            column = self._columns.setdefault(kind[0], _Column(is_lacked=not is_first))
            column.widen(kind)
        self._split(kinds)

    def _split(self, kinds: Kinds) -> None:
        """Part the sizes that are no longer equal; what is not always there leaves."""
        sizes = {
            (name, axis): size
            for name, _, _, shape in kinds
            for axis, size in enumerate(shape or ())
            if size is not None
        }
        parted: list[dict[_Size, int]] = []
        for group in [sizes] if self._groups is None else self._groups:
            by_value: dict[int, dict[_Size, int]] = {}
            for size, before in group.items():
                now = sizes.get(size)
                if now is None or self._columns[size[0]].has_other_dimensions:
                    continue
                if now != before:
                    self._varying.add(size)
                by_value.setdefault(now, {})[size] = now
            parted += by_value.values()
        self._groups = parted

    def fields(self, random: frozenset[str]) -> tuple[ContractField, ...]:
        """Return the fields, with None in place of each size that varies.

        Args:
            random: names of fields that change from reading to reading.
        """
        return tuple(
            ContractField(
                path=name,
                type=column.type or "none",
                dtype=column.dtype,
                shape=column.shape,
                axes=column.axes,
                random=name in random,
                optional=column.is_optional,
            )
            for name, column in self._columns.items()
        )

    def equal_sizes(self) -> tuple[tuple[str, ...], ...]:
        """Return groups of sizes that vary, and are equal within each example."""
        return tuple(
            tuple(size_name(*size) for size in group)
            for group in self._groups or ()
            if len(group) > 1 and not self._varying.isdisjoint(group)
        )


@dataclass(slots=True, kw_only=True)
class _Column:
    """One field over all kinds."""

    is_lacked: bool
    """Whether some examples lack it."""
    is_none: bool = False
    """Whether some have None there."""
    type: str | None = None
    """Type; None until one is seen that is not None."""
    dtype: str | None = None
    shape: Shape | None = None
    has_other_dimensions: bool = False
    """Whether the number of dimensions varies, or some have no shape."""
    can_be: tuple[Axes, ...] = ("channels_first", "channels_last")
    """Layouts of an image that all shapes allow."""

    @property
    def is_optional(self) -> bool:
        """Whether some lack it, or have None where others have a value."""
        return self.is_lacked or (self.is_none and self.type is not None)

    @property
    def axes(self) -> Axes | None:
        """Where the channels of an image are; None: it is none."""
        if self.shape is None or self.type not in {"tensor", "array"}:
            return None
        return next(iter(self.can_be), None)

    def widen(self, kind: Kind) -> None:
        """Take in the field as an example has it."""
        _, type_, dtype, shape = kind
        if type_ == "none":
            self.is_none = True
            return
        self.can_be = tuple(axes for axes in self.can_be if _allows(axes, shape))
        if self.type is None:
            self.type, self.dtype, self.shape = type_, dtype, shape
            return
        if type_ != self.type:
            self.type = VARIES
        if dtype != self.dtype:
            self.dtype = VARIES
        if shape is None or self.shape is None or len(shape) != len(self.shape):
            self.has_other_dimensions |= shape is not None or self.shape is not None
            self.shape = None
        elif shape != self.shape:
            pairs = zip(self.shape, shape, strict=True)
            self.shape = tuple(a if a == b else None for a, b in pairs)


def _allows(axes: Axes, shape: Shape | None) -> bool:
    """Whether a shape can be an image's (or a film's) of that layout."""
    if shape is None or len(shape) not in {3, 4}:
        return False
    sizes = [size or 0 for size in shape[-3:]]
    channels = sizes.pop(0 if axes == "channels_first" else 2)
    return channels in CHANNELS and min(sizes) > channels

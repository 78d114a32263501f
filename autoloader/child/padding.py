"""Hold arriving batches against the masks that a contract says they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.audit.padding import padding_violations
from autoloader.child.assembly import mask_rows
from autoloader.child.digest import name_of, walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.child.digest import Path
    from autoloader.child.recorder import Carried
    from autoloader.values.contract import Padding

MOST = 1000
"""Breaches that are kept."""


class PaddingWatch:
    """Keeps the batches whose mask does not tell how long their examples are."""

    def __init__(self, padding: Sequence[Padding]) -> None:
        self._padding = padding
        self._broken: list[tuple[int, int, str]] = []

    def note(self, carried: Carried) -> None:
        """Hold a batch against each relation."""
        if not self._padding:
            return
        fields = {name_of(path): value for path, value in walk(carried.batch)}
        for padding in self._padding:
            mask: Any = fields.get(padding.mask)
            lengths = _lengths(carried, padding)
            for words in padding_violations(padding, mask_rows(mask), lengths):
                if len(self._broken) < MOST:
                    self._broken.append((carried.epoch, carried.place, words))

    def to_list(self) -> list[list[Any]]:
        """Return epoch, list and words of each breach, as a message."""
        return [list(item) for item in self._broken]


def _lengths(carried: Carried, padding: Padding) -> list[int | None]:
    """Return how long each example's field is; None where it has none."""
    seen = carried.examples
    by_make = [_length(make.paths, make.shapes, padding) for make in seen.makes]
    return [by_make[place] for place in seen.make]


def _length(
    paths: Sequence[Path], shapes: Sequence[Any], padding: Padding
) -> int | None:
    for path, shape in zip(paths, shapes, strict=True):
        if name_of(path) == padding.of and shape and len(shape) > padding.axis:
            return int(shape[padding.axis])
    return None

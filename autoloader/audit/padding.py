"""Whether a batch's mask tells how long each of its examples is.

Pure: how many entries of a mask's row are true, and whether they come first, is counted
where the batch is (`child`); here it is compared with the lengths of the examples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from autoloader.values.contract import Padding, size_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class MaskRows(NamedTuple):
    """A mask of a batch, row by row, one row an example."""

    sums: tuple[int, ...]
    """True entries of each row."""
    prefix: tuple[bool, ...]
    """Whether all true entries of the row come before all others."""


class PaddingSearch:
    """Finds the masks that tell lengths, from batches whose examples are known."""

    def __init__(self) -> None:
        self._holding: dict[Padding, bool] = {}
        self._refuted: set[Padding] = set()

    def note(
        self,
        masks: Mapping[str, MaskRows],
        lengths: Mapping[tuple[str, int], Sequence[int]],
    ) -> None:
        """Take in one batch.

        Args:
            masks: rows of each field of the batch that may be a mask, by name.
            lengths: sizes of the batch's examples, in its order, by the name of the
                example's field and the axis; only what every example has.
        """
        for mask, rows in masks.items():
            for (of, axis), sizes in lengths.items():
                padding = Padding(mask=mask, of=of, axis=axis)
                if padding in self._refuted:
                    continue
                if padding_violations(padding, rows, sizes):
                    self._refuted.add(padding)
                else:
                    varies = len(set(sizes)) > 1
                    self._holding[padding] = self._holding.get(padding, False) or varies

    def build(self) -> tuple[Padding, ...]:
        """Return what held in every batch noted, one padding a mask.

        A relation shows only in a batch whose examples differ in length: a mask of ones
        over equal lengths says nothing, and is left out.
        """
        found: dict[str, Padding] = {}
        for padding, was_shown in self._holding.items():
            if was_shown and padding not in self._refuted:
                found.setdefault(padding.mask, padding)
        return tuple(found.values())


def padding_violations(
    padding: Padding, rows: MaskRows | None, lengths: Sequence[int | None]
) -> tuple[str, ...]:
    """Return in words what of a batch breaks the relation; nothing where it holds.

    Args:
        padding: the relation.
        rows: the mask of the batch; None where the batch has none.
        lengths: how long the field of each example is, in the order of the batch; None
            for an example that lacks it, which is not compared.
    """
    if rows is None:
        return (f"{padding.mask} is missing in the batch",)
    count = len(lengths)
    if len(rows.sums) != count:
        return (
            f"{padding.mask} has {len(rows.sums)} rows, the batch has {count} examples",
        )
    known = [place for place, length in enumerate(lengths) if length is not None]
    words = []
    wrong = sum(rows.sums[place] != lengths[place] for place in known)
    if wrong:
        words.append(
            f"{wrong} of {count} rows of {padding.mask} mark another number of entries "
            f"than {size_name(padding.of, padding.axis)} of their examples"
        )
    scattered = sum(not rows.prefix[place] for place in known)
    if scattered:
        words.append(
            f"in {scattered} of {count} rows of {padding.mask} the true entries do not "
            "come first"
        )
    return tuple(words)

"""Put one batch together in one process, before any worker does.

What cannot be collated by one process is a fault of the dataset, not of a setting: it
is named by id here, instead of by an exception in each trial. The same batch tells
which of its fields are masks.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import default_collate

from autoloader.audit.contract_inference import ContractBuilder
from autoloader.audit.padding import MaskRows, PaddingSearch
from autoloader.child.digest import leaves, name_of, walk
from autoloader.errors import DatasetError
from autoloader.values.outcome import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from autoloader.audit.contract import Kinds
    from autoloader.values.contract import Padding

NUMBERS = frozenset({"int", "float", "bool", "number", "complex"})
"""Kinds of leaves that default_collate puts into one tensor, whatever their mixture."""


class Assembly:
    """Gathers what default_collate would have to stack.

    Args:
        collate: the user's collate_fn; None: PyTorch's.
    """

    def __init__(self, collate: Callable[[Any], Any] | None) -> None:
        self._collate = collate or default_collate
        self._stacked = ContractBuilder()
        self._typed = ContractBuilder()
        self.example_bytes: float | None = None
        """Bytes that an example has in the batch that was put together, padding
        included; None where none was."""

    @property
    def stacks(self) -> bool:
        """Whether all examples of a batch must be alike."""
        return self._collate is default_collate

    def note(self, index: Any, kinds: Kinds) -> None:
        """Note what an example is made of."""
        if self.stacks:
            self._stacked.note(index, _as_stacked(kinds))
            self._typed.note(index, _without_shapes(kinds))

    def odd(self) -> Finding | None:
        """Return the examples that cannot be stacked with the others."""
        return self._stacked.deviations(share=0.0) if self.stacks else None

    def check(self, examples: Sequence[tuple[Any, Any]]) -> None:
        """Put a batch together of a few examples.

        Args:
            examples: id and example of each.

        Raises:
            DatasetError: they cannot be collated in one process.
        """
        odd = self.odd()
        if odd is not None:
            raise DatasetError(odd.sentence, hint=odd.hint)
        try:
            batch = self._collate([example for _, example in examples])
        except Exception as exc:
            ids = ", ".join(str(index) for index, _ in examples[:3])
            msg = (
                f"collate_fn fails in one process on examples {ids} ...: "
                f"{type(exc).__name__}: {exc}"
            ).removesuffix(": ")
            hint = "no DataLoader setting mends that; see what it is given"
            raise DatasetError(msg, hint=hint) from exc
        size = sum(leaf.size for leaf in leaves(batch))
        self.example_bytes = size / max(1, len(examples))

    def caution(self) -> Finding | None:
        """Return that numbers are of differing dtypes, so that batches are too."""
        odd = self._typed.deviations(share=0.0) if self.stacks else None
        if odd is None:
            return None
        return Finding(
            code="contract_violation",
            count=odd.count,
            ids=odd.ids,
            message=odd.message,
            hint="default_collate takes a batch's dtype from its first example, so it "
            "changes from batch to batch: give all examples one dtype",
        )

    def padding(self, examples: Sequence[tuple[Any, Any]]) -> tuple[Padding, ...]:
        """Return which masks of a batch tell how long its examples are.

        Looked for where collate_fn is the user's own.
        """
        if self.stacks:
            return ()
        listed = [example for _, example in examples]
        search = PaddingSearch()
        search.note(masks_of(self._collate(listed)), lengths_of(listed))
        return search.build()


def masks_of(batch: Any) -> dict[str, MaskRows]:
    """Return the fields of a batch that may be masks: rows of 0 and 1, by name."""
    return {
        name_of(path): rows
        for path, value in walk(batch)
        if (rows := mask_rows(value)) is not None
    }


def mask_rows(value: Any) -> MaskRows | None:
    """Return how many entries of each row are true, and whether they come first.

    Args:
        value: a field of a batch; a mask is a tensor (batch, length) of bool or of
            whole numbers or floats that are all 0 or 1.
    """
    if not isinstance(value, torch.Tensor) or not _is_plain(value) or value.dim() != 2:
        return None
    if value.dtype is not torch.bool and not bool(((value == 0) | (value == 1)).all()):
        return None
    true = value.bool()
    sums = true.sum(dim=1)
    places = torch.arange(true.shape[1]).expand_as(true)
    prefix = (true == (places < sums[:, None])).all(dim=1)
    return MaskRows(tuple(sums.tolist()), tuple(prefix.tolist()))


def _is_plain(value: torch.Tensor) -> bool:
    """Whether a tensor has sizes and values that can be asked for like any other's."""
    is_odd = value.is_nested or value.is_quantized or value.is_meta
    return not is_odd and value.layout is torch.strided


def lengths_of(examples: Sequence[Any]) -> Mapping[tuple[str, int], list[int]]:
    """Return the sizes of a batch's examples, of fields that all of them have."""
    found: dict[tuple[str, int], list[int]] = {}
    for example in examples:
        for key, size in _sizes(example):
            found.setdefault(key, []).append(size)
    return {key: sizes for key, sizes in found.items() if len(sizes) == len(examples)}


def _sizes(example: Any) -> Iterator[tuple[tuple[str, int], int]]:
    for path, value in walk(example):
        if isinstance(value, torch.Tensor) and not _is_plain(value):
            continue
        for axis, size in enumerate(getattr(value, "shape", ())):
            yield (name_of(path), axis), int(size)


@lru_cache(maxsize=4096)
def _as_stacked(kinds: Kinds) -> Kinds:
    """Return what must be the same for examples to be stacked: numbers are numbers."""
    return tuple(
        (name, "number", None, ()) if type_ in NUMBERS else (name, type_, None, shape)
        for name, type_, _, shape in kinds
    )


@lru_cache(maxsize=4096)
def _without_shapes(kinds: Kinds) -> Kinds:
    return tuple((name, type_, dtype, None) for name, type_, dtype, _ in kinds)

"""Look at a user's own class of loader: whether trials can be of it.

A class may make its batches in its own way: `__iter__`, in a loader whose state can be
saved, say. The gate puts digests beside what collate_fn returns, so such a class has to
hand that through. Whether it does is tried here, on two examples in this process. What
it changes, drops or adds could not be compared: it is left out then, and that is said.
"""

from __future__ import annotations

from inspect import isgenerator
from itertools import islice
from typing import TYPE_CHECKING, Any

from torch.utils.data.dataloader import _BaseDataLoaderIter

from autoloader.audit.findings import own_iteration_caution
from autoloader.child.loader import ListSampler, as_of_class
from autoloader.values.config import LoaderConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch.utils.data import DataLoader

    from autoloader.child.loader import LoaderParts
    from autoloader.values.outcome import Finding

BATCHES = 2
"""Batches of one example each that are read in each of two epochs."""

_LOOKED_INTO = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What code raises that expects another batch than it gets."""


def settle_class(
    parts: LoaderParts, ids: Sequence[Any] | None
) -> tuple[bool, list[Finding]]:
    """Return whether trials are of the user's class, and the caution where not.

    Args:
        parts: the dataset and the user's loader.
        ids: of examples; None: a stream, which is read from its start.
    """
    names, loader = parts.own_iteration, parts.loader
    if not names or loader is None:
        return False, []
    if _hands_through(parts, loader, ids):
        return True, []
    return False, [own_iteration_caution(type(loader).__qualname__, names)]


def _hands_through(
    parts: LoaderParts, loader: DataLoader[Any], ids: Sequence[Any] | None
) -> bool:
    """Return whether each epoch gives what collate_fn made, all of it, and no more."""
    config = LoaderConfig(
        num_workers=0, batch_size=1 if parts.batching == "size" else None
    )
    listed = None if ids is None else list(ids[:BATCHES])
    if parts.batching == "lists" and listed is not None:
        listed = [[index] for index in listed]
    sampler = None if listed is None else ListSampler(listed)
    built = parts.build(config, sampler)
    if _holds_iterator(loader, built):
        return False
    collates: tuple[Callable[[Any], Any], ...] = (built.collate_fn, _Sealed)
    for collate in collates:
        tried = as_of_class(loader, built)
        made = _Keeping(collate)
        tried.collate_fn = made
        try:
            if not all(_gives(tried, made) for _epoch in range(2)):
                return False
        except _LOOKED_INTO:
            return False
    return True


def _holds_iterator(loader: DataLoader[Any], built: DataLoader[Any]) -> bool:
    """Return whether it keeps an iterator of its own, over what it was made with."""
    added = [value for name, value in vars(loader).items() if name not in vars(built)]
    return any(
        isinstance(value, _BaseDataLoaderIter) or isgenerator(value) for value in added
    )


class _Sealed:
    """Stands for a batch that nobody can look into."""

    def __init__(self, _examples: Any) -> None:
        pass


class _Keeping:
    """Stands for a collate_fn, and keeps what it made."""

    def __init__(self, collate: Callable[[Any], Any]) -> None:
        self._collate = collate
        self.made: list[Any] = []

    def __call__(self, examples: Any) -> Any:
        """Return a batch."""
        self.made.append(self._collate(examples))
        return self.made[-1]


def _gives(loader: DataLoader[Any], made: _Keeping) -> bool:
    """Return whether an epoch gives the very batches that are made meanwhile.

    Of a stream, two of them, however far ahead the loader reads.
    """
    made.made.clear()
    given = list(islice(loader, BATCHES + 1))
    if len(given) <= BATCHES and len(given) != len(made.made):
        return False
    pairs = zip(given, made.made, strict=False)
    return bool(given) and all(batch is kept for batch, kept in pairs)

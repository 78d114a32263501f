"""Build a DataLoader for a config over the scope's index list.

The user's own collate_fn, worker_init_fn, generator, timeout, start method, in_order
and drop_last are kept, and so is a class of their own where `child.own_class` has seen
that it may. The dataset object is never wrapped: `get_worker_info().dataset` stays the
user's.
"""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
)

from autoloader.values.config import LoaderConfig

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autoloader.values.scope import Order, ScopeRequest


ITERATION = ("__iter__", "_get_iterator", "_index_sampler", "_auto_collation")
"""What of a DataLoader makes its batches; all else that it does follows from its
attributes, which trials are given."""


class ListSampler(Sampler[Any]):
    """Yield a given index list; which one is set from outside, epoch by epoch.

    DataLoader draws two iterators when its workers start, so that counting calls of
    `__iter__` would not count epochs.
    """

    def __init__(self, indices: Sequence[Any]) -> None:
        self.indices = indices
        """What the next epoch reads."""

    def __iter__(self) -> Iterator[Any]:
        """Return the indices of an epoch."""
        return iter(self.indices)

    def __len__(self) -> int:
        """Return the length of an epoch."""
        return len(self.indices)


@dataclass(frozen=True, slots=True)
class LoaderParts:
    """What the user gave, taken apart: the dataset and what surrounds it."""

    dataset: Any
    loader: DataLoader[Any] | None
    """The user's own loader; None for a bare dataset."""
    is_of_own_class: bool = False
    """Whether loaders are of the user's own class, which hands batches through as they
    are made."""

    @classmethod
    def of(cls, found: Any) -> LoaderParts:
        """Take a Dataset or DataLoader apart."""
        if isinstance(found, DataLoader):
            return cls(found.dataset, found)
        return cls(found, None)

    @property
    def is_iterable(self) -> bool:
        """Whether the dataset streams instead of being indexed."""
        return isinstance(self.dataset, IterableDataset)

    @property
    def batching(self) -> Literal["size", "lists", "single"]:
        """How batches are made: cut to a size, listed by a sampler, or not at all."""
        if self.loader is None:
            return "size"
        if self.loader.batch_sampler is None:
            return "single"
        batch_sampler, size = self.loader.batch_sampler, self.loader.batch_size
        is_plain = type(batch_sampler) is BatchSampler
        # its class made it of a size, as torchdata's does; None: it was given one
        is_cut = isinstance(batch_sampler, BatchSampler) and size is not None
        return "size" if is_plain or is_cut or self.is_iterable else "lists"

    @property
    def drop_last(self) -> bool:
        """Whether an incomplete last batch is left out."""
        return bool(self.loader is not None and self.loader.drop_last)

    @property
    def start_method(self) -> str:
        """How workers are started."""
        context = (
            self.loader.multiprocessing_context if self.loader is not None else None
        )
        if context is None:
            return multiprocessing.get_start_method()
        return str(context.get_start_method())

    @property
    def own_iteration(self) -> tuple[str, ...]:
        """What the user's class of loader does otherwise than DataLoader itself."""
        kind = DataLoader if self.loader is None else type(self.loader)
        return tuple(
            name
            for name in ITERATION
            if getattr(kind, name, None) is not getattr(DataLoader, name)
        )

    def baseline(self) -> dict[str, Any] | None:
        """Return the user's settings; None for a bare dataset."""
        loader = self.loader
        if loader is None:
            return None
        config = LoaderConfig.canonical(
            num_workers=loader.num_workers,
            batch_size=loader.batch_size,
            prefetch_factor=loader.prefetch_factor,
            pin_memory=bool(loader.pin_memory),
            persistent_workers=bool(loader.persistent_workers),
        )
        return config.to_dict()

    def sampler(self, order: Order | None, seed: int) -> Sampler[Any]:
        """Return the sampler that an epoch's index list is drawn from."""
        generator = torch.Generator().manual_seed(seed)
        if self.loader is not None and order != "shuffled":
            sampler = self.loader.sampler
            if isinstance(sampler, RandomSampler):
                sampler.generator = generator
            return sampler  # type: ignore[return-value]  # torch: Sampler | Iterable
        if order == "as-is":
            return SequentialSampler(self.dataset)
        return RandomSampler(self.dataset, generator=generator)

    def draw(self, request: ScopeRequest) -> tuple[list[Any], str]:
        """Return one epoch's index list, and the name of its order."""
        sampler = self.sampler(request.order, request.seed)
        if hasattr(sampler, "set_epoch"):
            sampler.set_epoch(0)
        torch.manual_seed(request.seed)
        name: str
        match type(sampler).__name__:
            case "RandomSampler":
                name = "shuffled"
            case "SequentialSampler":
                name = "sequential"
            case other:
                name = other
        return list(sampler), name

    def draw_lists(self, request: ScopeRequest) -> tuple[list[list[Any]], str]:
        """Return one epoch's index lists by the user's own batch_sampler, its name."""
        loader = self.loader
        batch_sampler: Any = None if loader is None else loader.batch_sampler
        inner: Any = getattr(batch_sampler, "sampler", None)
        for sampler in (batch_sampler, inner):
            if hasattr(sampler, "set_epoch"):
                sampler.set_epoch(0)
            if getattr(sampler, "generator", None) is not None:
                sampler.generator.manual_seed(request.seed)
        torch.manual_seed(request.seed)
        return [list(batch) for batch in batch_sampler], type(batch_sampler).__name__

    def build(
        self,
        config: LoaderConfig,
        sampler: ListSampler | None,
        *,
        start_method: str | None = None,
    ) -> DataLoader[Any]:
        """Return a loader that reads the sampler's index list in each epoch.

        Args:
            config: the settings.
            sampler: what an epoch reads; None for a stream.
            start_method: fork, forkserver or spawn; None: the loader's own.
        """
        kwargs = config.dataloader_kwargs()
        if self.batching == "lists":
            kwargs.pop("batch_size")
            kwargs["batch_sampler"] = sampler
        elif sampler is not None:
            kwargs["sampler"] = sampler
        if self.loader is not None:
            kwargs.update(
                collate_fn=self.loader.collate_fn,
                worker_init_fn=self.loader.worker_init_fn,
                in_order=self.loader.in_order,
                generator=self.loader.generator,
            )
            if config.pin_memory and self.loader.pin_memory_device:
                kwargs["pin_memory_device"] = self.loader.pin_memory_device
            if self.batching == "size":
                kwargs["drop_last"] = self.loader.drop_last
            if config.num_workers:
                kwargs.update(
                    timeout=self.loader.timeout,
                    multiprocessing_context=self.loader.multiprocessing_context,
                )
        if config.num_workers and start_method is not None:
            kwargs["multiprocessing_context"] = start_method
        built = DataLoader(self.dataset, **kwargs)
        if self.loader is None or not self.is_of_own_class:
            return built
        return as_of_class(self.loader, built)


def as_of_class(loader: DataLoader[Any], built: DataLoader[Any]) -> DataLoader[Any]:
    """Return a loader that is built already, as one of another loader's class.

    Its constructor is not called: that may want arguments which nobody keeps, or wrap a
    collate_fn once more. What DataLoader has no attribute for stays as it was.
    """
    kind: Any = type(loader)
    made: DataLoader[Any] = kind.__new__(kind)
    vars(made).update({**vars(loader), **vars(built)})
    return made

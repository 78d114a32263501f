"""What a user's own loader is stays: in a loader of another config, or in words."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, islice
from typing import Any

import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    SequentialSampler,
    default_collate,
)
from torchdata.stateful_dataloader import StatefulDataLoader

from autoloader.child.loader import ListSampler, LoaderParts
from autoloader.child.own_class import settle_class
from autoloader.values.config import LoaderConfig
from tests.datasets import Honest

VITAL = "ignore:'set_vital' is deprecated:UserWarning"
"""What torchdata calls when a loader is made."""


class Named(DataLoader[Any]):
    """Adds a keyword with a default."""

    def __init__(self, *args: Any, name: str = "train", **others: Any) -> None:
        super().__init__(*args, **others)
        self.name = name


class Requires(DataLoader[Any]):
    """Cannot be made without another argument, of which it keeps nothing."""

    def __init__(self, dataset: Any, size: int, *, store: str) -> None:
        super().__init__(dataset, batch_size=size)


class Collates:
    """Makes a batch of what another one makes."""

    def __init__(self, inner: Callable[[list[Any]], Any]) -> None:
        self.inner = inner

    def __call__(self, examples: list[Any]) -> Any:
        """Return a batch."""
        return {"batch": self.inner(examples)}


class Wraps(DataLoader[Any]):
    """Puts its collate_fn into another one, as loaders of graphs do."""

    def __init__(self, dataset: Any, collate_fn: Any = None, **others: Any) -> None:
        wrapped = Collates(collate_fn or default_collate)
        super().__init__(dataset, collate_fn=wrapped, **others)


class Doubles(DataLoader[Any]):
    """Gives each batch twice."""

    def __iter__(self) -> Any:
        """Yield each batch, and once more."""
        for batch in super().__iter__():
            yield batch
            yield batch


class Halves(DataLoader[Any]):
    """Leaves every second batch out."""

    def __iter__(self) -> Any:
        """Yield every second batch."""
        return islice(super().__iter__(), 0, None, 2)


class Converts(DataLoader[Any]):
    """Makes other batches of what are tensors."""

    def __iter__(self) -> Any:
        """Yield each batch with another dtype."""
        for batch in super().__iter__():
            pixels, *others = batch if isinstance(batch, list) else (batch,)
            if isinstance(pixels, torch.Tensor):
                yield pixels.half(), *others
            else:
                yield batch


class Counts(DataLoader[Any]):
    """Looks into each batch, and gives it on."""

    seen = 0

    def __iter__(self) -> Any:
        """Yield each batch."""
        for batch in super().__iter__():
            self.seen += len(batch[0])
            yield batch


class Remembers(DataLoader[Any]):
    """Keeps an iterator that was made with it."""

    def __init__(self, *args: Any, **others: Any) -> None:
        super().__init__(*args, **others)
        self.forever = super().__iter__()

    def __iter__(self) -> Any:
        """Yield what it has."""
        return iter(self.forever)


class HandsOn(DataLoader[Any]):
    """Iterates in its own way, and gives what it gets."""

    def __iter__(self) -> Any:
        """Yield each batch."""
        yield from super().__iter__()


class Endless(IterableDataset[Any]):
    """A stream without an end."""

    def __iter__(self) -> Iterator[Any]:
        """Count."""
        return ((torch.tensor([number]), 1) for number in count())


def built(loader: DataLoader[Any], **settings: Any) -> DataLoader[Any]:
    """Return what a trial reads in its place."""
    config = LoaderConfig.canonical(**{"num_workers": 0, "batch_size": 4, **settings})
    return LoaderParts.of(loader).build(config, ListSampler([3, 1, 4, 1, 5]))


@pytest.mark.parametrize(
    "loader",
    [
        Named(Honest(), batch_size=8, name="test"),
        Requires(Honest(), 8, store="s3"),
        Wraps(Honest(), batch_size=8),
    ],
)
def test_a_class_that_makes_batches_as_dataloader_does_is_the_same(
    loader: DataLoader[Any],
) -> None:
    """All that it does lies in its attributes: nothing of it is left out."""
    assert settle_class(LoaderParts.of(loader), [3, 4]) == (False, [])
    assert built(loader).collate_fn is loader.collate_fn


def test_a_collate_fn_that_wraps_another_is_wrapped_once() -> None:
    """The class is not asked to do it again."""
    (first, _second) = built(Wraps(Honest(), batch_size=8))

    assert set(first) == {"batch"}
    assert first["batch"][0].shape == (4, 3, 4)


@pytest.mark.parametrize(
    "loader",
    [
        Doubles(Honest()),
        Halves(Honest()),
        Converts(Honest()),
        Counts(Honest()),
        Remembers(Honest()),
        Doubles(Endless(), batch_size=4),
        Doubles(Honest(), batch_size=None),
        Doubles(Honest(), batch_sampler=[[1, 2], [3]]),
    ],
    ids=[
        "doubles",
        "halves",
        "converts",
        "counts",
        "remembers",
        "of a stream",
        "of single examples",
        "of lists",
    ],
)
def test_a_class_that_changes_what_is_made_is_left_out_and_said(
    loader: DataLoader[Any],
) -> None:
    """Its batches could not be compared, so no rate may be read of them."""
    ids = None if isinstance(loader.dataset, Endless) else [3, 4, 5]

    is_own, (caution,) = settle_class(LoaderParts.of(loader), ids)

    name = type(loader).__name__
    assert not is_own
    assert caution.code == "loader_class_left_out"
    assert caution.message == (
        f"trials iterate a DataLoader: what {name} does of its own (__iter__) is "
        "neither checked nor timed"
    )
    assert caution.hint == (
        "autoloader.watch(loader) times it where it is used, in the training"
    )
    assert ids is None or type(built(loader)) is DataLoader


@pytest.mark.parametrize(
    ("kind", "dataset", "batching"),
    [
        (StatefulDataLoader, Honest(), {"batch_size": 8}),
        (StatefulDataLoader, Endless(), {"batch_size": 8}),
        (StatefulDataLoader, Honest(), {"batch_size": None}),
        (StatefulDataLoader, Honest(), {"batch_sampler": [[1, 2], [3]]}),
        (HandsOn, Honest(), {"batch_size": 8}),
    ],
    ids=["sized", "stream", "single", "lists", "handing on"],
)
@pytest.mark.filterwarnings(VITAL)
def test_a_class_that_hands_batches_through_is_tried_as_it_is(
    kind: type[DataLoader[Any]], dataset: Any, batching: dict[str, Any]
) -> None:
    """With whatever it has of its own, and settings that are tried."""
    loader = kind(dataset, **batching)
    ids = None if isinstance(loader.dataset, Endless) else [3, 4, 5]
    parts = LoaderParts.of(loader)

    assert settle_class(parts, ids) == (True, [])
    config = LoaderConfig.canonical(num_workers=0, batch_size=loader.batch_size)
    listed: list[Any] = [[3], [1]] if parts.batching == "lists" else [3, 1]
    sampler = None if ids is None else ListSampler(listed)
    found = replace(parts, is_of_own_class=True).build(config, sampler)
    assert type(found) is type(loader)
    assert len(list(islice(found, 3))) == (
        3 if ids is None else 1 if parts.batching == "size" else 2
    )


@pytest.mark.filterwarnings(VITAL)
def test_what_a_class_keeps_of_its_own_is_in_each_of_its_loaders() -> None:
    """And settings are those that are tried."""
    loader = StatefulDataLoader(Honest(), batch_size=8, snapshot_every_n_steps=5)
    parts = replace(LoaderParts.of(loader), is_of_own_class=True)
    config = LoaderConfig.canonical(
        num_workers=2, batch_size=4, persistent_workers=True
    )

    found: Any = parts.build(config, ListSampler([3, 1]), start_method="spawn")

    assert found.snapshot_every_n_steps == 5
    assert (found.num_workers, found.batch_size, found.prefetch_factor) == (2, 4, 2)
    assert found.persistent_workers
    assert found.multiprocessing_context.get_start_method() == "spawn"
    assert (loader.num_workers, loader.batch_size) == (0, 8)


def test_a_bare_dataset_has_no_class_to_settle() -> None:
    """Nor has a plain loader."""
    assert settle_class(LoaderParts.of(Honest()), [1]) == (False, [])
    assert settle_class(LoaderParts.of(DataLoader(Honest())), [1]) == (False, [])


def begin(worker: int) -> None:
    """Begin a worker."""


def test_what_surrounds_the_dataset_is_kept() -> None:
    """Whatever the settings are."""
    generator = torch.Generator().manual_seed(7)
    loader = DataLoader(
        Honest(),
        batch_size=8,
        num_workers=1,
        timeout=9.0,
        worker_init_fn=begin,
        multiprocessing_context="spawn",
        generator=generator,
        in_order=False,
        drop_last=True,
    )

    found = built(loader, num_workers=2)

    assert found.generator is generator
    assert found.worker_init_fn is begin
    assert found.multiprocessing_context is loader.multiprocessing_context
    assert (found.timeout, found.in_order, found.drop_last) == (9.0, False, True)
    assert (found.num_workers, found.batch_size) == (2, 4)


def test_the_device_of_pinned_memory_is_kept_where_there_is_any() -> None:
    """Without pinning it means nothing, and some versions warn of it."""
    loader = DataLoader(Honest(), batch_size=8, pin_memory_device="cuda:1")

    assert built(loader).pin_memory_device == ""
    assert built(loader, pin_memory=True).pin_memory_device == "cuda:1"


def test_a_generator_makes_the_same_seeds_of_workers_in_each_trial() -> None:
    """It is in the state that the user left it in, whenever a process begins anew."""

    def seed() -> int:
        generator = torch.Generator().manual_seed(7)
        loader = built(DataLoader(Honest(), batch_size=8, generator=generator))
        return int(iter(loader)._base_seed)

    assert seed() == seed()


@pytest.mark.filterwarnings(VITAL)
def test_lists_are_the_users_own_where_they_gave_what_makes_them() -> None:
    """A class may have a BatchSampler of its own, and cut to a size all the same."""

    class Buckets(BatchSampler):
        """Makes lists of another kind."""

    sized: DataLoader[Any] = StatefulDataLoader(Honest(), batch_size=8)
    buckets = Buckets(SequentialSampler(Honest()), 8, drop_last=False)
    given = DataLoader(Honest(), batch_sampler=buckets)
    plain = DataLoader(Honest(), batch_size=8)

    found = [LoaderParts.of(loader).batching for loader in (sized, given, plain)]

    assert found == ["size", "lists", "size"]

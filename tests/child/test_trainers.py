"""A trainer's loader: found, made plain, made anew with other settings."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    TensorDataset,
)

from autoloader.child.trainers import plain_loader, remade, trained_with
from autoloader.errors import UsageError

NUMBERS = TensorDataset(torch.arange(10))


def first_of(examples: list[Any]) -> list[Any]:
    """Collate examples of one tensor each."""
    return [value for (value,) in examples]


class Wrapped:
    """What Accelerate puts around a loader: the loader within, under a name."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self.base_dataloader = loader


def named(name: str, module: str, **members: Any) -> Any:
    """Return an object whose class has this name in this module."""
    return type(name, (), {"__module__": module, **members})()


def trainer_with(loader: Any) -> Any:
    """Return what is told by its class's name as a Trainer of transformers."""
    return named(
        "Trainer", "transformers.trainer", get_train_dataloader=lambda self: loader
    )


class DataModule:
    """What Lightning's class of a longer name asks of its subclasses."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self.calls: list[str] = []

    def prepare_data(self) -> None:
        """Note that data are prepared."""
        self.calls.append("prepared")

    def setup(self, stage: str) -> None:
        """Note for which stage."""
        self.calls.append(stage)

    def train_dataloader(self) -> Any:
        """Return the loader, or what stands for it."""
        return self.loader


LIGHTNING = type(
    "LightningDataModule", (DataModule,), {"__module__": "lightning.pytorch.core.data"}
)


class Photos(LIGHTNING):  # type: ignore[misc,valid-type]  # made above, for its name
    """A user's own."""


def test_a_trainers_loader_has_its_batch_size_again() -> None:
    """Accelerate hands the batch sampler on, whose size could not be varied."""
    sampler = RandomSampler(NUMBERS)
    batches = BatchSampler(sampler, batch_size=4, drop_last=True)
    within = DataLoader(NUMBERS, batch_sampler=batches, collate_fn=first_of)

    found = trained_with(trainer_with(Wrapped(within)))

    assert type(found) is DataLoader
    assert (found.batch_size, found.drop_last) == (4, True)
    assert found.sampler is sampler
    assert found.collate_fn is first_of


def test_what_deals_batches_to_ranks_stays() -> None:
    """It is no plain BatchSampler, and makes the lists of one rank."""

    class Shard(BatchSampler):
        """Every second batch."""

    batches = Shard(SequentialSampler(NUMBERS), batch_size=4, drop_last=False)
    within = DataLoader(NUMBERS, batch_sampler=batches)

    found = plain_loader(Wrapped(within), object())

    assert found is within


def test_a_data_module_is_set_up_before_it_is_asked() -> None:
    """As a Trainer does before it fits."""
    loader = DataLoader(NUMBERS, batch_size=4)
    module = Photos(loader)

    found = trained_with(module)

    assert found is loader
    assert module.calls == ["prepared", "fit"]


@pytest.mark.parametrize("found", [NUMBERS, DataLoader(NUMBERS), 3])
def test_anything_else_is_left_as_it_is(found: Any) -> None:
    """A class of the same name elsewhere as well."""
    mine = named("Trainer", "train", get_train_dataloader=None)

    assert trained_with(found) is found
    assert trained_with(mine) is mine


def test_several_loaders_are_refused() -> None:
    """One is tuned at a time."""
    loaders = {"a": DataLoader(NUMBERS), "b": DataLoader(NUMBERS)}

    with pytest.raises(UsageError) as caught:
        trained_with(Photos(loaders))

    assert caught.value.message == (
        "Photos trains with a dict, and one DataLoader is needed"
    )
    assert caught.value.hint == "write a function that returns the one, and name it"


def test_a_loader_made_anew_keeps_what_is_not_changed() -> None:
    """Its sampler's order too, and what workers need where there are some."""
    generator = torch.Generator().manual_seed(3)
    loader = DataLoader(
        NUMBERS,
        batch_size=4,
        sampler=SequentialSampler(NUMBERS),
        collate_fn=first_of,
        drop_last=True,
        num_workers=2,
        timeout=30,
        multiprocessing_context="fork",
        generator=generator,
    )

    found = remade(loader, num_workers=1, prefetch_factor=5, persistent_workers=True)

    assert (found.num_workers, found.prefetch_factor) == (1, 5)
    assert found.persistent_workers
    assert found.timeout == 30
    assert found.multiprocessing_context.get_start_method() == "fork"
    assert found.generator is generator
    assert found.sampler is loader.sampler
    assert (found.batch_size, found.drop_last) == (4, True)
    assert found.collate_fn is first_of


def test_a_loader_made_anew_without_workers_works() -> None:
    """What needs them is left out."""
    loader = DataLoader(
        NUMBERS, batch_size=4, num_workers=2, timeout=30, persistent_workers=True
    )

    found = remade(loader, num_workers=0)

    assert [len(batch) for (batch,) in found] == [4, 4, 2]


def test_another_batch_size_is_taken() -> None:
    """With the sampler that was there."""
    loader = DataLoader(NUMBERS, batch_size=4, shuffle=True)

    found = remade(loader, batch_size=5)

    assert [len(batch) for (batch,) in found] == [5, 5]
    assert found.sampler is loader.sampler


def test_own_lists_and_single_examples_stay_such() -> None:
    """Each is another way to make batches."""
    lists = DataLoader(NUMBERS, batch_sampler=[[0, 1], [2]])
    single = DataLoader(NUMBERS, batch_size=None)

    assert [len(batch) for (batch,) in remade(lists, num_workers=0)] == [2, 1]
    assert len(list(remade(single, num_workers=0))) == 10


def test_a_stream_is_made_anew_without_a_sampler() -> None:
    """PyTorch refuses one there."""

    class Stream(IterableDataset[int]):
        """Five numbers."""

        def __iter__(self) -> Any:
            """Yield them."""
            return iter(range(5))

    found = remade(DataLoader(Stream(), batch_size=2, drop_last=True), batch_size=3)

    assert [len(batch) for batch in found] == [3]


def test_a_class_that_is_made_in_another_way_is_named() -> None:
    """Its author knows how."""

    class Mine(DataLoader[Any]):
        """Takes a dataset, and nothing else."""

        def __init__(self, dataset: Dataset[Any]) -> None:
            super().__init__(dataset, batch_size=2)

    with pytest.raises(UsageError) as caught:
        remade(Mine(NUMBERS), num_workers=1)

    assert caught.value.message.startswith(
        "a Mine cannot be made with other settings: "
    )
    assert caught.value.hint == (
        "its class is not made as a DataLoader is; set them where it is made"
    )

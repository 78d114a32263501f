"""What stands for the others is read first; the rest follows in its order."""

from typing import Any

import pytest
from torch.utils.data import DataLoader, WeightedRandomSampler

from autoloader.child.loader import LoaderParts
from autoloader.child.representatives import batch_size_of, lists_of
from autoloader.values.scope import ScopeRequest


def lists(
    found: Any, examples: int | None = None, size: int = 8
) -> tuple[list[list[Any]], int]:
    """Return the lists of a dataset or loader."""
    return lists_of(LoaderParts.of(found), ScopeRequest(examples=examples), size)


def test_first_last_and_random_ones_come_first() -> None:
    """As many as fill a batch, each once."""
    found, count = lists(list(range(100)))

    assert count == 8
    assert found[0][:2] == [0, 99]
    assert len(set(found[0])) == 8
    assert [index for listed in found[1:] for index in listed] == list(range(100))


def test_a_shuffled_loader_is_read_in_order() -> None:
    """A failure is found at the same place each time."""
    loader: DataLoader[Any] = DataLoader(list(range(20)), batch_size=4, shuffle=True)  # type: ignore[arg-type]

    found, _ = lists(loader, size=4)

    assert [index for listed in found[1:] for index in listed] == list(range(20))


def test_what_a_sampler_repeats_is_read_once() -> None:
    """Weights do not matter to what can fail."""
    data = list(range(6))
    sampler = WeightedRandomSampler([1.0] * 6, num_samples=50)
    loader: DataLoader[Any] = DataLoader(data, sampler=sampler)  # type: ignore[arg-type]

    found, _ = lists(loader)

    listed = [index for part in found[1:] for index in part]
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize(("length", "chosen"), [(1, 1), (2, 2), (3, 3)])
def test_a_small_dataset_has_as_many_as_it_has(length: int, chosen: int) -> None:
    """Nothing is read twice in one batch."""
    found, count = lists(list(range(length)))

    assert count == chosen
    assert sorted(found[0]) == list(range(length))


def test_examples_limit_what_follows() -> None:
    """The last one is looked at all the same."""
    found, _ = lists(list(range(100)), examples=10)

    assert found[0][1] == 99
    assert sum(map(len, found[1:])) == 10


def test_the_batch_size_is_the_users_or_a_small_one() -> None:
    """A flag, then the loader's own."""
    loader: DataLoader[Any] = DataLoader([1, 2], batch_size=2)  # type: ignore[arg-type]

    assert batch_size_of(LoaderParts.of(loader), 3) == 3
    assert batch_size_of(LoaderParts.of(loader), None) == 2
    assert batch_size_of(LoaderParts.of([1, 2]), None) == 8

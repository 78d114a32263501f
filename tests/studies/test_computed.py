"""Studies whose examples lie in no file: tensors and skewed."""

import pytest
import torch
from torch.utils.data import DataLoader

from studies.skewed.dataset import BINS, LEAST_STEPS, MOST_STEPS, Orbits
from studies.tensors import dataset as tensors
from tests.studies.reading import equal


def test_tensors_are_those_of_the_article_each_time() -> None:
    """1,000 x 3 x 32 x 32 and ten classes, the same in every process."""
    found, again = tensors.tensors(), tensors.tensors()

    assert len(found) == 1000
    assert found[0][0].shape == (3, 32, 32)
    assert set(found.tensors[1].tolist()) == set(range(10))
    assert equal(found.tensors, again.tensors)


def test_making_tensors_leaves_the_global_generator_alone() -> None:
    """A study draws from a generator of its own."""
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)

    tensors.tensors()

    assert torch.equal(torch.rand(1), expected)


def test_the_loader_of_tensors_has_the_defaults_of_pytorch() -> None:
    """It is the baseline: no workers, shuffled, batches of 32."""
    loader = tensors.loader()

    assert isinstance(loader, DataLoader)
    assert (loader.num_workers, loader.batch_size) == (0, 32)
    assert isinstance(loader.sampler, torch.utils.data.RandomSampler)


def test_an_orbit_is_the_same_each_time() -> None:
    """An id has its steps, its starting point and so its content."""
    found, again = Orbits(20), Orbits(20)

    assert all(equal(found[index], again[index]) for index in range(20))


def test_an_orbit_is_a_density_with_a_class() -> None:
    """Shares of 64 parts that add up to one, and one of ten classes."""
    density, label = Orbits(4)[2]

    assert density.shape == (BINS,)
    assert density.dtype is torch.float32
    assert density.sum().item() == pytest.approx(1)
    assert density.min() >= 0
    assert label in range(10)


def test_orbits_differ() -> None:
    """No two of them are taken for each other."""
    orbits = Orbits(20)

    assert len({orbits[index][0].numpy().tobytes() for index in range(20)}) == 20


def test_the_cost_of_orbits_is_heavy_tailed_and_bounded() -> None:
    """The dearest hundredth takes a fifth of all steps; no example takes for ever."""
    steps = sorted(Orbits().steps)

    dearest = steps[-len(steps) // 100 :]

    assert sum(dearest) > sum(steps) / 5
    assert steps[0] >= LEAST_STEPS
    assert steps[-1] <= MOST_STEPS
    assert steps[-1] > 50 * steps[len(steps) // 2]


def test_orbits_end() -> None:
    """An index beyond the last one is an IndexError, as of a list."""
    with pytest.raises(IndexError):
        Orbits(4)[4]

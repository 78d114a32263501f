"""What the search proposes, PyTorch takes; what it would refuse is never proposed."""

from dataclasses import replace
from typing import Literal

import pytest
from torch.utils.data import DataLoader

from autoloader.search.space import Space, SpaceRequest, incumbents
from autoloader.values.config import LoaderConfig
from autoloader.values.machine import Accelerator
from tests.conformance.marked import Marked
from tests.fakes import a_machine, a_scope, some_facts

GPU = Accelerator(
    name="an accelerator", kind="cuda", memory_bytes=16 << 30, driver=None
)


@pytest.mark.parametrize("least", [0, 1])
def test_pytorch_takes_every_config_of_a_space(least: int) -> None:
    """No prefetch and nothing kept without workers; each loader can be iterated."""
    space = Space.of(
        SpaceRequest(num_workers=(least, 2), batch_size=(8, 16)),
        facts=some_facts(),
        scope=a_scope(),
        machine=a_machine(),
    )
    first = incumbents(space, facts=some_facts())

    configs = {*space.configs(), *(config for config, _ in first)}
    loaders = [
        DataLoader(Marked(), timeout=0, **config.dataloader_kwargs())
        for config in configs
    ]

    assert len(loaders) == len(configs)
    assert {config.num_workers for config in configs} == {0, 1, 2}
    without = [config for config in configs if config.num_workers == 0]
    assert {config.prefetch_factor for config in without} == {None}
    assert {config.persistent_workers for config in without} == {False}
    kept = [config for config in configs if config.num_workers > 0]
    assert all((config.prefetch_factor or 0) >= 1 for config in kept)


@pytest.mark.parametrize("batching", ["lists", "single"])
def test_no_batch_size_is_searched_where_it_is_not_free(
    batching: Literal["lists", "single"],
) -> None:
    """A batch_sampler, or a dataset that batches itself, has the last word."""
    facts = replace(some_facts(), batching=batching)

    space = Space.of(SpaceRequest(), facts=facts, scope=a_scope(), machine=a_machine())

    assert space.batch_size == (None,)
    assert {config.batch_size for config in space.configs()} == {None}


@pytest.mark.parametrize(
    ("accelerator", "pinned"),
    [
        (None, (False,)),
        ("mps", (False,)),
        ("cuda", (False, True)),
        ("xpu", (False, True)),
    ],
)
def test_pinning_is_searched_only_where_pytorch_pins_memory(
    accelerator: str | None, pinned: tuple[bool, ...]
) -> None:
    """For Apple's devices DataLoader leaves it, whatever it was told."""
    facts = replace(some_facts(), accelerator=accelerator)

    space = Space.of(SpaceRequest(), facts=facts, scope=a_scope(), machine=a_machine())

    assert space.pin_memory == pinned
    assert {config.pin_memory for config in space.configs()} == set(pinned)


def test_a_device_that_pytorch_does_not_find_opens_no_pinning() -> None:
    """NVIDIA's driver lists one, and PyTorch was built without CUDA."""
    machine = replace(a_machine(), accelerators=(GPU,))

    space = Space.of(
        SpaceRequest(), facts=some_facts(), scope=a_scope(), machine=machine
    )

    assert space.pin_memory == (False,)


def test_settings_are_plain_numbers_for_pytorch() -> None:
    """BatchSampler refuses numbers of numpy, which searches are made of."""
    config = LoaderConfig.canonical(num_workers=0, batch_size=8)

    assert type(config.dataloader_kwargs()["batch_size"]) is int

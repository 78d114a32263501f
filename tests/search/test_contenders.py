"""Who is compared with whom, and what is refused."""

from dataclasses import replace

import pytest

from autoloader.errors import UsageError
from autoloader.search.contenders import contenders_of
from autoloader.values.config import LoaderConfig
from autoloader.values.scope import DatasetFacts
from tests.fakes import a_scope, some_facts

OWN = LoaderConfig.canonical(num_workers=3, batch_size=16)


def named(
    *texts: str, facts: DatasetFacts | None = None, batch_size: int | None = None
) -> list[tuple[str, str, int, int | None]]:
    """Return letter, source, workers and batch size of who is compared."""
    found = contenders_of(
        texts, batch_size=batch_size, facts=facts or some_facts(), scope=a_scope()
    )
    assert [item.number for item in found] == list(range(len(found)))
    return [
        (item.name, item.source, item.config.num_workers, item.config.batch_size)
        for item in found
    ]


def test_given_configs_go_by_letters_in_their_order() -> None:
    """Equal ones are not merged."""
    assert named("num_workers=4", "num_workers=4", "num_workers=0,batch_size=8") == [
        ("A", "given", 4, 32),
        ("B", "given", 4, 32),
        ("C", "given", 0, 8),
    ]


def test_one_alone_is_compared_with_pytorchs_default() -> None:
    """With the same batch size, so that they differ in nothing else."""
    assert named("num_workers=4,batch_size=8") == [
        ("A", "pytorch_default", 0, 8),
        ("B", "given", 4, 8),
    ]


def test_one_alone_is_compared_with_the_loaders_own() -> None:
    """A DataLoader has settings of its own; its batch size is everybody's."""
    assert named("num_workers=4", facts=some_facts(baseline=OWN)) == [
        ("A", "yours", 3, 16),
        ("B", "given", 4, 16),
    ]


def test_the_loaders_own_is_compared_with_the_default() -> None:
    """Where no config is given."""
    assert named(facts=some_facts(baseline=OWN)) == [
        ("A", "pytorch_default", 0, 16),
        ("B", "yours", 3, 16),
    ]


def test_a_batch_size_holds_where_a_config_names_none() -> None:
    """The flag's, and no more than the dataset has."""
    small = replace(a_scope(5), epoch_examples=5)

    found = contenders_of(
        ["num_workers=1"], batch_size=None, facts=some_facts(), scope=small
    )

    assert named("num_workers=1", batch_size=64)[1][3] == 64
    assert found[1].config.batch_size == 5


@pytest.mark.parametrize(
    ("texts", "facts", "message", "hint"),
    [
        (
            (),
            some_facts(),
            "there is nothing to compare: no --config, and the dataset has no loader",
            "--config num_workers=2 --config num_workers=4",
        ),
        (
            ("num_workers=0",),
            some_facts(),
            "there is nothing to compare: 0 workers, batch 32 is PyTorch's default",
            "add another --config, or name it twice to see how much readings scatter",
        ),
        (
            ("num_workers=3",),
            some_facts(baseline=OWN),
            "there is nothing to compare: 3 workers, prefetch 2, batch 16 is what the "
            "DataLoader has",
            "add another --config, or name it twice to see how much readings scatter",
        ),
        (
            ("num_workers=3,batch_size=8",),
            replace(some_facts(), batching="lists"),
            "batch_size cannot be set: the batch_sampler makes the batches, got 8",
            "leave batch_size out",
        ),
        (
            ("num_workers=3,batch_size=8",),
            replace(some_facts(), batching="single"),
            "batch_size cannot be set: the dataset makes the batches, got 8",
            "leave batch_size out",
        ),
    ],
)
def test_what_cannot_be_compared_is_wrong_use(
    texts: tuple[str, ...], facts: DatasetFacts, message: str, hint: str
) -> None:
    """Word for word."""
    with pytest.raises(UsageError) as caught:
        named(*texts, facts=facts)

    assert caught.value.message == message
    assert caught.value.hint == hint

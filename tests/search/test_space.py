"""Which configs may be tried, and which are tried first."""

from autoloader.search.space import Space, SpaceRequest, incumbents
from autoloader.values.config import LoaderConfig
from tests.fakes import a_machine, a_scope, some_facts

SPACE = Space(
    num_workers=(0, 4),
    prefetch_factor=(2, 4),
    pin_memory=(False,),
    persistent_workers=(False, True),
    batch_size=(64, 32),
)
DEFAULT = LoaderConfig(num_workers=0, batch_size=64)


def test_more_workers_are_allowed_where_work_waits() -> None:
    """CPU-bound work stops near the CPUs, waiting work may go far beyond."""
    request = SpaceRequest(batch_size=(16,))
    busy = Space.of(request, facts=some_facts(), scope=a_scope(), machine=a_machine())
    waiting = Space.of(
        request,
        facts=some_facts(example_s=0.01, cpu_s=0.0005),
        scope=a_scope(),
        machine=a_machine(),
    )

    assert busy.num_workers == (0, 3)
    assert waiting.num_workers == (0, 60)


def test_for_a_bare_dataset_pytorchs_default_alone_is_tried_first() -> None:
    """What else is worth a trial follows from its reading."""
    assert incumbents(SPACE, facts=some_facts()) == [(DEFAULT, "pytorch_default")]


def test_the_users_own_config_is_tried_first() -> None:
    """Even where the space would not propose it."""
    own = LoaderConfig.canonical(num_workers=7, prefetch_factor=9, batch_size=64)

    first = incumbents(SPACE, facts=some_facts(baseline=own))

    assert own not in SPACE.configs()
    assert first == [(own, "yours"), (DEFAULT, "pytorch_default")]


def test_the_users_own_config_may_be_pytorchs_default() -> None:
    """It is tried once, as theirs."""
    assert incumbents(SPACE, facts=some_facts(baseline=DEFAULT)) == [(DEFAULT, "yours")]


def test_a_loader_that_makes_its_own_batches_gets_the_preferred_size() -> None:
    """So that it can be compared with what is searched."""
    own = LoaderConfig.canonical(num_workers=2)

    (first, _), *_ = incumbents(SPACE, facts=some_facts(baseline=own))

    assert first == LoaderConfig.canonical(num_workers=2, batch_size=64)

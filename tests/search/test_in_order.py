"""The exhaustive search: everything once, and time for the finish afterwards."""

from autoloader.search.budget import FINISH_SHARE, Budget
from autoloader.search.strategy import InOrder
from autoloader.values.config import LoaderConfig

CONFIGS = tuple(
    LoaderConfig.canonical(num_workers=workers, batch_size=8) for workers in range(4)
)


def test_every_config_is_proposed_once_the_simplest_first() -> None:
    """What was read and what cannot be tried is left out; then it is at its end."""
    proposer = InOrder(configs=CONFIGS)
    read: dict[LoaderConfig, list[float]] = {}
    proposed = []

    while (found := proposer.propose(read, {CONFIGS[2]})) is not None:
        proposed.append(found.config)
        read[found.config] = [100.0]

    assert proposed == [CONFIGS[0], CONFIGS[1], CONFIGS[3]]


def test_the_finish_has_its_share_however_long_the_search_took() -> None:
    """Twenty minutes of search leave race and verification half of three, no less."""
    now = 0.0
    budget = Budget(180.0, lambda: now, 0.0)
    now = 1200.0

    finish = budget.for_the_finish()

    assert finish.left_s == 180.0 * FINISH_SHARE + budget.ceilings_s
    assert finish.spent_s == 1200.0

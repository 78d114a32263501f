"""What was not tried is told together: by reason, counted, and no more than needed."""

import json

from autoloader.search.passed_over import PassedOver, by_reason, in_words
from autoloader.values.config import LoaderConfig

MEMORY = "at least as much memory as 4 workers, which ran out of it"
FILES = "at least as many open files as 2 workers, which reached their limit"


def config(workers: int) -> LoaderConfig:
    """Return a config of batch 8."""
    return LoaderConfig.canonical(num_workers=workers, batch_size=8)


def test_configs_stand_under_their_reason_the_most_frequent_first() -> None:
    """In the order in which they were proposed, each once."""
    skipped = [
        (config(3), FILES),
        (config(6), MEMORY),
        (config(5), MEMORY),
        (config(6), MEMORY),
    ]

    assert by_reason(skipped) == (
        PassedOver(reason=MEMORY, configs=(config(6), config(5))),
        PassedOver(reason=FILES, configs=(config(3),)),
    )


def test_a_thousand_configs_are_one_clause() -> None:
    """Nobody reads a line for each."""
    groups = by_reason((config(workers), MEMORY) for workers in range(1000))

    assert in_words(groups) == f"1000 configs: {MEMORY}"


def test_three_reasons_are_told_and_others_counted() -> None:
    """Those with the most configs."""
    skipped = [
        (config(place), f"reason {letter}")
        for letter, count in zip("abcde", (5, 4, 3, 2, 1), strict=True)
        for place in range(count)
    ]

    assert in_words(by_reason(skipped)) == (
        "5 configs: reason a; 4 configs: reason b; 3 configs: reason c; "
        "3 configs for like reasons"
    )


def test_one_config_is_one() -> None:
    """And none is nothing to tell."""
    assert in_words(by_reason([(config(4), MEMORY)])) == f"1 config: {MEMORY}"
    assert in_words(()) is None


def test_scripts_get_each_config() -> None:
    """As plain values."""
    (group,) = by_reason([(config(4), MEMORY)])

    assert json.loads(json.dumps(group.to_dict())) == {
        "reason": MEMORY,
        "configs": [config(4).to_dict()],
    }

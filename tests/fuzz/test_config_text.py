"""Whatever text stands for a config: settings that DataLoader takes, or wrong use."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoloader.errors import UsageError
from autoloader.export.config_file import settings_text
from autoloader.values.config import MOST, LoaderConfig
from tests.fuzz.spoiling import WORDS

QUICK, MANY = 100, 1000
"""Texts."""

NAMES = st.sampled_from(
    [
        "num_workers", "prefetch_factor", "pin_memory", "persistent_workers",
        "batch_size", "workers", "", "num_workers ", "NUM_WORKERS",
    ]
)  # fmt: skip

PARTS = st.tuples(NAMES, st.sampled_from(["=", "=", "", "=="]), WORDS)


def holds(text: str) -> None:
    """Check that a text is a config that can be kept, or refused by a sentence."""
    try:
        config = LoaderConfig.parse(settings_text(text), batch_size=8)
    except UsageError as exc:
        assert 0 < len(exc.message) < 400  # noqa: PT017  # either way is right
        return

    assert LoaderConfig.from_dict(config.to_dict()) == config
    assert 0 <= config.num_workers <= MOST


def fuzz(count: int, *, is_seeded: bool) -> None:
    """Try so many texts."""

    @settings(max_examples=count, deadline=None, database=None, derandomize=is_seeded)
    @given(st.lists(PARTS, max_size=4))
    def run(parts: list[tuple[str, str, str]]) -> None:
        holds(",".join("".join(part) for part in parts))

    run()


def test_any_text_is_a_config_or_wrong_use() -> None:
    """The same few for everybody."""
    fuzz(QUICK, is_seeded=True)


@pytest.mark.full
def test_many_texts_are_configs_or_wrong_use() -> None:
    """Others each time."""
    fuzz(MANY, is_seeded=False)

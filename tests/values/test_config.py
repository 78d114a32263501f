"""One point of the space: canonical, checked, read and written."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoloader.errors import StoredFileError, UsageError
from autoloader.values.config import LoaderConfig

CONFIGS = st.builds(
    LoaderConfig.canonical,
    num_workers=st.integers(0, 64),
    batch_size=st.none() | st.integers(1, 4096),
    prefetch_factor=st.none() | st.integers(1, 16),
    pin_memory=st.booleans(),
    persistent_workers=st.booleans(),
)


@settings(deadline=None)
@given(CONFIGS)
def test_a_config_comes_back_equal_from_plain_data(config: LoaderConfig) -> None:
    """Both forms that are written are read."""
    assert LoaderConfig.from_dict(config.to_dict()) == config
    assert LoaderConfig.from_dict(config.dataloader_kwargs()) == config


@settings(deadline=None)
@given(CONFIGS)
def test_a_config_comes_back_equal_from_its_text(config: LoaderConfig) -> None:
    """What `--config` takes can say every config."""
    text = ",".join(f"{name}={value}" for name, value in config.to_dict().items())

    assert LoaderConfig.parse(text, batch_size=1) == config


def test_two_equal_loaders_are_equal_configs() -> None:
    """Without workers, what only workers do is left out."""
    one = LoaderConfig.canonical(
        num_workers=0, prefetch_factor=4, persistent_workers=True, batch_size=8
    )

    assert one == LoaderConfig(num_workers=0, batch_size=8)
    assert hash(one) == hash(LoaderConfig(num_workers=0, batch_size=8))


def test_workers_prefetch_what_pytorch_would_by_default() -> None:
    """A config always says how far workers read ahead."""
    config = LoaderConfig.canonical(num_workers=2, batch_size=8)

    assert config.prefetch_factor == 2


def test_whole_numbers_of_numpy_become_plain_ones() -> None:
    """PyTorch takes them for workers, and JSON does not."""
    config = LoaderConfig.canonical(
        num_workers=np.int64(2), prefetch_factor=np.int32(4), batch_size=np.int64(8)
    )

    assert [type(value) for value in config.to_dict().values()] == [
        int,
        int,
        bool,
        bool,
        int,
    ]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"num_workers": -2},
            "num_workers must be a whole number of at least 0, got -2",
        ),
        (
            {"num_workers": 1.0},
            "num_workers must be a whole number of at least 0, got 1.0",
        ),
        (
            {"num_workers": True},
            "num_workers must be a whole number of at least 0, got True",
        ),
        (
            {"num_workers": 0.0},
            "num_workers must be a whole number of at least 0, got 0.0",
        ),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1, got 0"),
        (
            {"num_workers": 1, "prefetch_factor": 0},
            "prefetch_factor must be a whole number of at least 1, got 0",
        ),
        ({"pin_memory": "no"}, "pin_memory must be True or False, got 'no'"),
        (
            {"num_workers": 1, "persistent_workers": 1},
            "persistent_workers must be True or False, got 1",
        ),
    ],
)
def test_what_dataloader_would_refuse_is_refused(
    values: dict[str, Any], sentence: str
) -> None:
    """The sentence names the setting, the rule and the value."""
    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}$"):
        LoaderConfig.canonical(**{"num_workers": 0, "batch_size": 8, **values})


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"prefetch_factor": 2},
            "prefetch_factor needs num_workers of at least 1, got prefetch_factor=2 "
            "with num_workers=0",
        ),
        (
            {"persistent_workers": True},
            "persistent_workers needs num_workers of at least 1, got 0",
        ),
        (
            {"num_workers": 2},
            "prefetch_factor must be a whole number of at least 1, got None",
        ),
    ],
)
def test_only_a_canonical_config_can_be_built(
    values: dict[str, Any], sentence: str
) -> None:
    """Two spellings of one loader would be measured twice."""
    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}$"):
        LoaderConfig(**{"num_workers": 0, "batch_size": 8, **values})


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("", LoaderConfig(num_workers=0, batch_size=32)),
        (
            "num_workers=4",
            LoaderConfig(num_workers=4, prefetch_factor=2, batch_size=32),
        ),
        (
            " num_workers = 4 , prefetch_factor=8,pin_memory=yes, batch_size=none,",
            LoaderConfig(
                num_workers=4, prefetch_factor=8, pin_memory=True, batch_size=None
            ),
        ),
        (
            "num_workers=1,prefetch_factor=None,persistent_workers=1,pin_memory=0",
            LoaderConfig(
                num_workers=1,
                prefetch_factor=2,
                persistent_workers=True,
                batch_size=32,
            ),
        ),
    ],
)
def test_a_config_is_read_from_text(text: str, config: LoaderConfig) -> None:
    """What is not named is PyTorch's default, the batch size what holds elsewhere."""
    assert LoaderConfig.parse(text, batch_size=32) == config


NAMES = "num_workers, prefetch_factor, pin_memory, persistent_workers, batch_size"


@pytest.mark.parametrize(
    ("text", "sentence", "hint"),
    [
        (
            "num_worker=2",
            f"a config is name=value with names {NAMES}, got 'num_worker=2'",
            "did you mean 'num_workers'?",
        ),
        (
            "num_workers",
            f"a config is name=value with names {NAMES}, got 'num_workers'",
            "did you mean 'num_workers'?",
        ),
        (
            "num_workers=1,num_workers=2",
            "a config names each setting once, got num_workers twice",
            None,
        ),
        ("num_workers=two", "num_workers must be a whole number, got 'two'", None),
        ("num_workers=none", "num_workers must be a whole number, got 'none'", None),
        ("pin_memory=maybe", "pin_memory must be yes or no, got 'maybe'", None),
        (
            "prefetch_factor=2",
            "prefetch_factor needs num_workers of at least 1, got prefetch_factor=2 "
            "with num_workers=0",
            None,
        ),
    ],
)
def test_a_text_that_is_no_config_is_refused(
    text: str, sentence: str, hint: str | None
) -> None:
    """A misspelt setting is never left out silently."""
    with pytest.raises(UsageError) as caught:
        LoaderConfig.parse(text, batch_size=32)

    assert str(caught.value) == sentence
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("data", "sentence", "hint"),
    [
        ([], "LoaderConfig must be a mapping, got list", None),
        (
            {"num_workers": 0, "batchsize": 8},
            "LoaderConfig has no field 'batchsize'",
            "did you mean 'batch_size'?",
        ),
        ({"batch_size": 8}, "LoaderConfig lacks the field 'num_workers'", None),
        (
            {"num_workers": "4", "batch_size": 8},
            "LoaderConfig.num_workers must be int, got '4'",
            None,
        ),
        (
            {"num_workers": -1, "batch_size": 8},
            "LoaderConfig cannot be used: num_workers must be a whole number of at "
            "least 0, got -1",
            None,
        ),
        (
            {"num_workers": 0, "batch_size": 2**31},
            "LoaderConfig cannot be used: batch_size must be at most 2147483647, got "
            "2147483648",
            None,
        ),
    ],
)
def test_stored_data_that_is_no_config_is_refused(
    data: object, sentence: str, hint: str | None
) -> None:
    """A damaged file is told apart from a wrong flag."""
    with pytest.raises(StoredFileError) as caught:
        LoaderConfig.from_dict(data)

    assert str(caught.value) == sentence
    assert caught.value.hint == hint


def test_only_what_dataloader_takes_is_handed_to_it() -> None:
    """PyTorch refuses prefetch_factor where there are no workers."""
    config = LoaderConfig(num_workers=0, batch_size=8)

    assert config.dataloader_kwargs() == {
        "batch_size": 8,
        "num_workers": 0,
        "pin_memory": False,
        "persistent_workers": False,
    }


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (LoaderConfig(num_workers=0, batch_size=8), "0 workers, batch 8"),
        (
            LoaderConfig(
                num_workers=1,
                prefetch_factor=2,
                pin_memory=True,
                persistent_workers=True,
                batch_size=None,
            ),
            "1 worker, prefetch 2, kept, pinned",
        ),
    ],
)
def test_a_config_is_described_in_one_line(config: LoaderConfig, text: str) -> None:
    """People read what differs from the plainest loader."""
    assert config.describe() == text

"""What a file says of a night before it: read, or refused with the place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from autoloader.errors import StoredFileError
from autoloader.export.baseline import read_baseline, read_request
from autoloader.export.recommendation import Recommendation
from autoloader.values.config import LoaderConfig
from tests.fakes import a_machine

if TYPE_CHECKING:
    from autoloader.search.baseline import Baseline

FILE = Path("autoloader.yaml")

TWO = {"batch_size": 64, "num_workers": 2, "prefetch_factor": 2}

RATIOS = [0.5, 0.51, 0.49]


def entry(workers: int, ratios: Any = RATIOS) -> dict[str, Any]:
    """Return a compared config of so many workers."""
    return {
        "dataloader": {"batch_size": 64, "num_workers": workers},
        "epoch_rate": {"median": 1.0, "low": None, "high": None},
        "ratios": ratios,
    }


def a_file(**sections: Any) -> Recommendation:
    """Return a recommendation, some sections of it replaced."""
    whole = {
        "schema": 1,
        "dataset": "data.py:train",
        "dataloader": TWO,
        "target": {
            "examples_per_s": 475.0,
            "share_of_best": 0.95,
            "memory_bytes": 2**32,
            "met": True,
            "ranks": 2,
        },
        "measured": {"readings": [500, 505.0]},
        "compared": {"pytorch_default": entry(0), "yours": None, "fastest": entry(4)},
        "verified": {"examples": 800},
        "scope": {"examples": 1600},
        "request": {"folder": "..", "flags": {"dataset": "data.py:train"}},
        "machine": a_machine().to_dict(),
        **sections,
    }
    return Recommendation({name: value for name, value in whole.items() if value != ()})


def read(**sections: Any) -> Baseline:
    """Return the baseline in a file with these sections."""
    return read_baseline(a_file(**sections), FILE)


def error_of(**sections: Any) -> StoredFileError:
    """Return the error that reading ends in."""
    with pytest.raises(StoredFileError) as caught:
        read(**sections)
    return caught.value


def test_the_stored_config_and_its_rivals_are_read() -> None:
    """PyTorch's default first; prefetching as PyTorch does where nothing is said."""
    found = read()

    assert found.config == LoaderConfig.canonical(num_workers=2, batch_size=64)
    assert found.rates == (500.0, 505.0)
    assert [rival.name for rival in found.rivals] == ["pytorch_default", "fastest"]
    assert found.rivals[0].ratios == (0.5, 0.51, 0.49)
    assert found.rivals[1].config == LoaderConfig.canonical(
        num_workers=4, batch_size=64
    )
    assert found.configs[0] == found.config
    assert (found.examples, found.verified, found.ranks) == (1600, 800, 2)


@pytest.mark.parametrize(
    ("compared", "names"),
    [
        ({"pytorch_default": None, "fastest": entry(4)}, ["fastest"]),
        ({"pytorch_default": entry(0), "fastest": entry(2)}, ["pytorch_default"]),
        (
            {"pytorch_default": entry(0), "fastest": entry(2), "yours": entry(3)},
            ["pytorch_default", "yours"],
        ),
        (
            {"pytorch_default": entry(0), "fastest": entry(4), "yours": entry(3)},
            ["pytorch_default", "fastest"],
        ),
        ({"pytorch_default": entry(0), "fastest": entry(0)}, ["pytorch_default"]),
        ({"pytorch_default": entry(0, [0.5, 0.5]), "fastest": None}, []),
        ({}, []),
    ],
)
def test_rivals_are_other_configs_with_enough_rounds(
    compared: dict[str, Any], names: list[str]
) -> None:
    """One beside PyTorch's default, at most."""
    assert [rival.name for rival in read(compared=compared).rivals] == names


def test_a_share_stays_one_and_a_rate_is_one() -> None:
    """The rate that a share came to is not what is wanted."""
    rate = {"examples_per_s": 300.0, "share_of_best": None, "met": True}

    assert read().target.share_of_best == 0.95
    assert read().target.examples_per_s is None
    assert read(target=rate).target.examples_per_s == 300.0
    assert read(target=rate).ranks == 1


@pytest.mark.parametrize(("flags", "is_asked"), [({}, False), ({"memory": "8G"}, True)])
def test_memory_counts_where_it_was_asked_for(
    flags: dict[str, str], is_asked: bool
) -> None:
    """What the machine left says nothing of tonight."""
    found = read(request={"folder": ".", "flags": flags})

    assert found.is_memory_asked is is_asked


def test_a_batch_sampler_leaves_the_batch_size_out() -> None:
    """Of rivals too."""
    settings = {"num_workers": 0}
    entries = {"pytorch_default": {"dataloader": settings, "ratios": RATIOS}}

    assert read(compared=entries).rivals[0].config == LoaderConfig(
        num_workers=0, batch_size=None
    )


def test_a_file_without_a_request_says_how_it_gets_one() -> None:
    """As earlier versions wrote it."""
    error = error_of(request=())

    assert error.message == (
        "autoloader.yaml does not say how it was asked for, so that nothing is repeated"
    )
    assert error.hint == (
        "an earlier version wrote it: `autoloader tune --dataset data.py:train --out "
        "autoloader.yaml` with the same flags does"
    )


def test_a_file_of_an_object_that_a_script_handed_over_says_so() -> None:
    """No night could make it anew."""
    error = error_of(request=(), dataset="__main__.Photos object")

    assert error.hint == (
        "__main__.Photos object was an object of a running script, gone with it: "
        "`autoloader tune --dataset MODULE:FUNCTION --out autoloader.yaml`, with a "
        "function that makes it, does"
    )


def test_the_request_is_the_folder_and_the_flags() -> None:
    """As they stand."""
    assert read_request(a_file(), FILE) == ("..", {"dataset": "data.py:train"})


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"request": 3}, "request must be a mapping, got 3"),
        ({"request": {"flags": {}}}, "request.folder must be str, got None"),
        ({"request": {"folder": "."}}, "request.flags must be a mapping, got None"),
        ({"scope": ()}, "scope must be a mapping, got None"),
        (
            {"scope": {"examples": 0}},
            "scope.examples must be a whole number of at least 1, got 0",
        ),
        ({"measured": ()}, "measured must be a mapping, got None"),
        (
            {"measured": {"readings": [1.0, "x"]}},
            "measured.readings must be a list of numbers above 0, got [1.0, 'x']",
        ),
        (
            {"measured": {"readings": []}},
            "measured.readings must have a rate, got none",
        ),
        ({"verified": 3}, "verified must be a mapping, got 3"),
        (
            {"verified": {"examples": True}},
            "verified.examples must be a whole number of at least 1, got True",
        ),
        ({"compared": ()}, "compared must be a mapping, got None"),
        (
            {"compared": {"fastest": 3}},
            "compared.fastest must be a mapping, got 3",
        ),
        (
            {"compared": {"fastest": entry(4, [0.5, 10**400])}},
            "compared.fastest.ratios must be a list of numbers above 0, got "
            "[0.5, <a number of 1329 bits>]",
        ),
        (
            {"compared": {"fastest": {"dataloader": {"num_workers": "x"}}}},
            "compared.fastest.dataloader.num_workers must be int, got 'x'",
        ),
        (
            {"target": {"met": True, "share_of_best": "x"}},
            "target.share_of_best must be float | None, got 'x'",
        ),
        (
            {"target": {"met": True}},
            "target cannot be used: a target is either a rate or a share of the best, "
            "not both",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    sections: dict[str, Any], message: str
) -> None:
    """The file, the section, the value, the rule."""
    assert error_of(**sections).message == f"autoloader.yaml: {message}"

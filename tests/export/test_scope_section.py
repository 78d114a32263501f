"""The scope as the file states it, and whether the page cache was as it says."""

from dataclasses import replace
from typing import Any

import pytest

from autoloader.export.scope_section import (
    cache_cautions,
    cold_caution,
    excluded,
    rates_in_units,
    scope_section,
    warm_caution,
)
from autoloader.values.outcome import Reading
from autoloader.values.scope import AccessFacts, DatasetFacts, SourceSpec, UnitFacts
from tests.fakes import a_scope, some_facts

MIB = 2**20

ACCESS = AccessFacts(
    source="local",
    files=100,
    file_systems=("ext4",),
    connections=0,
    read_bytes_per_example=float(MIB),
    storage_bytes_per_example=0.0,
    decoding="inside",
)


def facts(**access: Any) -> DatasetFacts:
    """Return the facts of a dataset of files of 1 MiB, or of others."""
    return replace(some_facts(), access=replace(ACCESS, **access))


def reading(
    cache: Any, storage_bytes: int | None, replaced: Any = None, examples: int = 100
) -> Reading:
    """Return a reading of 100 examples."""
    return Reading(
        purpose="search",
        num_workers=0,
        kept=False,
        arrivals_s=(1.0,),
        counts=(examples,),
        warm_batches=0,
        steady_batches=1,
        total_s=1.0,
        epoch_examples=100,
        cache=cache,
        storage_bytes=storage_bytes,
        replaced_because=replaced,
    )


def test_the_section_has_no_password() -> None:
    """The file is for others to read; all else of the arguments is in it."""
    source = SourceSpec(
        spec="data.py:make",
        arguments=(("url", "postgres://user:secret@host/x"), ("size", 8)),
    )

    section = scope_section(source, a_scope(), facts(), [])

    assert section["arguments"] == [["url", "postgres://user:***@host/x"], ["size", 8]]


def test_the_section_states_what_all_trials_have_in_common() -> None:
    """Order and seed, source, decoding, cache, units, and what is left out."""
    scope = replace(a_scope(100), cache="cold")
    found = replace(facts(), units=(UnitFacts(name="tokens", per_example=12.5),))
    readings = [reading("cold", 0, "too_short"), reading("cold", 0)]

    section = scope_section(
        SourceSpec(spec="data:train", arguments=(("size", 8),)), scope, found, readings
    )

    assert section["examples"] == section["of"] == 100
    assert (section["order"], section["seed"]) == ("shuffled", 0)
    assert section["cache"] == "cold"
    assert section["transforms"] == "fixed"
    assert section["measures"] == "loader alone"
    assert section["arguments"] == [["size", 8]]
    assert section["access"]["source"] == "local"
    assert section["access"]["decoding"] == "inside"
    assert section["per_example"] == {"bytes": 768, "tokens": 12.5}
    assert section["excluded"]["readings_too_short"] == 1
    assert section["dataset_class"] == "Fake"
    assert section["start_method"] == "fork"
    assert section["fields"][0]["path"] == "0"
    assert "contract" not in section


def test_a_dataset_that_was_not_watched_says_so() -> None:
    """As one of an older study."""
    source = SourceSpec(spec="data:train")

    section = scope_section(source, a_scope(), some_facts(), [])

    assert section["access"] is None
    assert cache_cautions([reading("cold", 0), reading("warm", 9)], some_facts()) == []


def test_what_does_not_count_is_counted_by_its_reason() -> None:
    """And what each rate leaves out stands beside it."""
    reasons = [None, "too_short", "spoiled", "spoiled", None]

    found = excluded([reading("warm", 0, reason) for reason in reasons])

    assert found == {
        "epoch_rate": "nothing: start and end of the workers are in it",
        "steady_rate": "start-up and warm-up, and the batches after its window",
        "readings_too_short": 1,
        "readings_spoiled": 2,
        "replaced_readings": "each was taken again at once, and that one counts",
        "applies_to": "every config that is compared, by the same rules",
    }


def test_a_rate_is_told_in_every_unit() -> None:
    """Examples first, then bytes, then what the user counts."""
    units = (UnitFacts(name="tokens", per_example=12.5),)

    found = rates_in_units(200.0, replace(some_facts(), units=units))

    assert list(found.items()) == [
        ("examples_per_s", 200.0),
        ("bytes_per_s", 153_600.0),
        ("tokens_per_s", 2500.0),
    ]


def test_cold_readings_whose_bytes_came_from_storage_are_right() -> None:
    """Half of them is enough; what was replaced is left out."""
    readings = [reading("cold", 50 * MIB), reading("cold", 0, "spoiled")]

    assert cache_cautions(readings, facts()) == []


@pytest.mark.parametrize(
    ("access", "storage_bytes", "code", "message"),
    [
        (
            {},
            10 * MIB,
            "cache_not_cold",
            "files were dropped from the page cache, and 10.0 MiB of 100.0 MiB came "
            "from storage in 1 of 1 readings",
        ),
        (
            {"read_bytes_per_example": 0.0},
            0,
            "cache_not_cold",
            "files were dropped from the page cache, and nothing came from storage in "
            "1 of 1 readings",
        ),
        (
            {"files": 0},
            100 * MIB,
            "cache_not_cold",
            "no file was seen that could be dropped from the page cache",
        ),
        (
            {"file_systems": ("tmpfs",)},
            0,
            "cache_not_cold",
            "files on tmpfs lie in memory, from which nothing can be dropped",
        ),
        (
            {"file_systems": ("ext4", "nfs4"), "source": "network"},
            0,
            "cache_unconfirmed",
            "files were dropped from the page cache; whether the readings then had "
            "them from storage is not told on ext4, nfs4",
        ),
        (
            {"file_systems": ()},
            None,
            "cache_unconfirmed",
            "files were dropped from the page cache; whether the readings then had "
            "them from storage is not told on this system",
        ),
    ],
)
def test_cold_readings_that_were_not_cold_are_a_caution(
    access: dict[str, Any], storage_bytes: int | None, code: str, message: str
) -> None:
    """Or that nobody can tell."""
    found = cold_caution([reading("cold", storage_bytes)], facts(**access))

    assert found is not None
    assert (found["code"], found["count"], found["message"]) == (code, 1, message)
    assert found["hint"]


def test_a_pass_that_reads_the_scope_again_is_half_warm() -> None:
    """Each reading is judged by itself: configs are compared reading by reading."""
    once, thrice = reading("cold", 100 * MIB), reading("cold", 100 * MIB, examples=300)

    found = cold_caution([once, once, thrice], facts())

    assert found is not None
    assert found["count"] == 1
    assert found["message"].endswith(
        "100.0 MiB of 300.0 MiB came from storage in 1 of 3 readings"
    )


def test_few_files_are_read_over_and_over_and_are_cold_all_the_same() -> None:
    """A buffer of 64 KiB, rows of 768 bytes: the whole file is all that can come."""
    one = facts(files=1, read_bytes_per_example=65536.0)

    assert cold_caution([reading("cold", 100 * 768)], one) is None
    assert cold_caution([reading("cold", 4096)], one) is not None


def test_mapped_files_need_only_something_from_storage() -> None:
    """Read calls do not tell how much it must have been."""
    mapped = facts(read_bytes_per_example=0.0)

    assert cold_caution([reading("cold", 4096)], mapped) is None


def test_warm_readings_that_had_much_from_storage_are_a_caution() -> None:
    """More than a tenth of what they read."""
    found = warm_caution([reading("warm", 11 * MIB)], facts())

    assert found is not None
    assert (found["code"], found["count"]) == ("cache_not_warm", 1)
    assert found["message"] == (
        "11.0 MiB of 100.0 MiB that were read came from storage, not from the page "
        "cache"
    )


@pytest.mark.parametrize(
    ("access", "storage_bytes"),
    [({}, 10 * MIB), ({}, None), ({"read_bytes_per_example": 0.0}, 10 * MIB)],
)
def test_warm_readings_are_taken_as_warm_where_nothing_says_otherwise(
    access: dict[str, Any], storage_bytes: int | None
) -> None:
    """A tenth may come from storage; what is not told is no doubt."""
    assert warm_caution([reading("warm", storage_bytes)], facts(**access)) is None


def test_cautions_of_both_kinds_are_given() -> None:
    """In a study of both, as one whose readings were taken by hand."""
    readings = [reading("warm", 50 * MIB), reading("cold", 0)]

    codes = [item["code"] for item in cache_cautions(readings, facts())]

    assert codes == ["cache_not_cold", "cache_not_warm"]

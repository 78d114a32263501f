"""The scope in one line."""

from dataclasses import replace
from typing import Any

import pytest

from autoloader.export.scope_section import scope_section
from autoloader.report.scope_words import scope_words, section_words
from autoloader.values.scope import SourceSpec, StreamFacts, UnitFacts
from tests.report.fakes import FACTS, SCOPE


def test_the_line_says_what_rates_are_of() -> None:
    """Examples and order; source; cache; what is left out."""
    assert scope_words(SCOPE, FACTS) == (
        "1,600 of 1,600 examples, shuffled with seed 0; local files (ext4), decoded "
        "inside, transforms random; page cache warm; loader alone"
    )


def test_units_of_the_user_stand_beside_examples() -> None:
    """How much of each an example has."""
    units = (
        UnitFacts(name="tokens", per_example=512.25),
        UnitFacts(name="lines", per_example=3.5),
    )

    said = scope_words(SCOPE, replace(FACTS, units=units))

    assert "; 512 tokens, 3.5 lines an example; local files" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"of": None, "order": "stream"}, "the first 1,600 examples, in the stream's"),
        ({"order": "stream, shuffled"}, "1,600 of 1,600 examples, shuffled by the st"),
        ({"order": "sequential"}, "1,600 of 1,600 examples, in order; "),
        (
            {"order": "WeightedRandomSampler", "seed": 3},
            "1,600 of 1,600 examples, as WeightedRandomSampler draws with seed 3; ",
        ),
    ],
)
def test_the_order_is_the_sampler_s(change: dict[str, Any], said: str) -> None:
    """Or the stream's own."""
    scope = replace(SCOPE, epoch_examples=None, **change)

    assert scope_words(scope, FACTS).startswith(said)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"source": "memory", "decoding": "none_seen"}, "; from memory, transforms"),
        ({"decoding": "outside"}, "; local files (ext4), decoded after the loader, "),
        ({"files": 0, "file_systems": ()}, "; local files (not seen by name), deco"),
        (
            {"source": "network", "file_systems": ("ext4", "nfs4")},
            "; network files (ext4, nfs4), decoded inside",
        ),
        (
            {"source": "network", "connections": 1, "file_systems": ()},
            "; over 1 connection, decoded inside",
        ),
        (
            {"source": "network", "connections": 3},
            "; over 3 connections and files (ext4), decoded inside",
        ),
    ],
)
def test_the_source_is_named_with_what_was_seen(
    change: dict[str, Any], said: str
) -> None:
    """File systems by type, connections by number."""
    assert FACTS.access is not None
    facts = replace(FACTS, access=replace(FACTS.access, **change))

    assert said in scope_words(SCOPE, facts)


def test_what_was_not_watched_is_left_out() -> None:
    """As in an older study."""
    said = scope_words(SCOPE, replace(FACTS, access=None))

    assert "; transforms random; page cache warm; " in said


@pytest.mark.parametrize(
    "stream",
    [
        None,
        StreamFacts(
            is_complete=True, keeps_order=False, needs_worker=False, declared=None
        ),
    ],
)
def test_the_section_of_a_file_is_told_in_the_same_words(
    stream: StreamFacts | None,
) -> None:
    """Whether a study has just ended or was stored."""
    units = (UnitFacts(name="tokens", per_example=512.25),)
    scope, facts = replace(SCOPE, stream=stream), replace(FACTS, units=units)
    section = scope_section(SourceSpec(spec="data.py:train"), scope, facts, ())

    assert section_words(section) == scope_words(scope, facts)


def test_a_section_without_units_and_access_is_told() -> None:
    """Older files have neither."""
    section = scope_section(SourceSpec(spec="x"), SCOPE, FACTS, ())
    del section["per_example"], section["access"]

    assert section_words(section) == scope_words(SCOPE, replace(FACTS, access=None))

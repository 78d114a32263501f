"""Which of several training processes one is, and what it reads."""

from dataclasses import replace

from autoloader.values.ranks import RankPlace, scope_of_rank, share_of
from tests.fakes import a_scope


def test_a_rank_finds_its_place_in_its_environment() -> None:
    """By the names that launchers use."""
    place = RankPlace(rank=1, ranks=4, port=29_500)

    found = place.environment()

    assert found == {
        "RANK": "1",
        "LOCAL_RANK": "1",
        "WORLD_SIZE": "4",
        "LOCAL_WORLD_SIZE": "4",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29500",
        "AUTOLOADER_RANKED": "1",
    }
    assert RankPlace.of(found) == place
    assert RankPlace.of({"RANK": "1", "WORLD_SIZE": "4"}) is None


def test_a_share_is_as_long_as_that_of_others() -> None:
    """Padded, as DistributedSampler does."""
    assert [share_of(count, 4) for count in (0, 1, 4, 5, 101)] == [0, 1, 1, 2, 26]


def test_a_rank_of_a_whole_epoch_has_a_whole_epoch() -> None:
    """Its share is all that it reads; what was dropped is not counted."""
    whole = replace(a_scope(), examples=101, distinct=101, of=101, epoch_examples=101)

    padded = scope_of_rank(whole, 2, examples=51, distinct=51)
    dropped = scope_of_rank(whole, 2, examples=50, distinct=50)

    assert (padded.examples, padded.of, padded.epoch_examples) == (51, 51, 51)
    assert (dropped.examples, dropped.of, dropped.epoch_examples) == (50, 50, 50)


def test_a_rank_of_a_part_keeps_the_length_of_its_epoch() -> None:
    """The scope is a part of the epoch: so is its share."""
    part = replace(a_scope(), examples=100, distinct=100, of=1000, epoch_examples=1000)
    open_end = replace(part, of=None, epoch_examples=None)

    found = scope_of_rank(part, 4, examples=25, distinct=25)

    assert (found.examples, found.of, found.epoch_examples) == (25, 250, 250)
    unknown = scope_of_rank(open_end, 4, examples=25, distinct=25)
    assert (unknown.of, unknown.epoch_examples) == (None, None)

"""Random fields that repeat are told, and those that do not are not."""

from hypothesis import given
from hypothesis import strategies as st

from autoloader.audit.randomness import judge_randomness

DIGEST = st.integers(0, 2**64 - 1)


def codes(found: list[object]) -> list[str]:
    """Return the codes of findings."""
    return [getattr(item, "code", "") for item in found]


def test_workers_that_read_the_same_are_counted() -> None:
    """Two of three workers draw the same numbers."""
    found = judge_randomness({0: [1, 2], 1: [1, 2], 2: [3, 4]}, [])

    assert codes(list(found)) == ["streams_identical"]
    assert found[0].count == 2
    assert found[0].message == "2 of 3 workers draw the same numbers"


def test_a_second_epoch_like_the_first_is_told() -> None:
    """All examples that both epochs have are the same."""
    found = judge_randomness({}, [{"0/0": 1, "0/1": 2}, {"0/0": 1, "0/1": 2}])

    assert codes(list(found)) == ["epochs_identical"]
    assert found[0].count == 2


@given(st.lists(DIGEST, min_size=2, max_size=20, unique=True))
def test_one_example_that_differs_clears_an_epoch(digests: list[int]) -> None:
    """A field that is random with some chance repeats often, and not always."""
    first: dict[object, int] = {str(at): it for at, it in enumerate(digests)}
    second: dict[object, int] = {**first, "0": digests[0] ^ 1}

    assert judge_randomness({}, [first, second]) == []


def test_nothing_is_said_of_one_worker_or_one_epoch() -> None:
    """There is nothing to compare."""
    assert judge_randomness({0: [1, 2]}, [{"0/0": 1}]) == []


def test_what_chance_repeats_is_nobodys_fault() -> None:
    """A flip repeats itself in half of the examples: eight of them say nothing."""
    few = {0: [1] * 8, 1: [1] * 8}
    many = {0: [1] * 32, 1: [1] * 32}

    assert judge_randomness(few, [], share=0.5) == []
    assert [item.code for item in judge_randomness(many, [], share=0.5)] == [
        "streams_identical"
    ]


def test_epochs_that_rarely_differ_may_be_the_same() -> None:
    """One picture in a hundred changes: a hundred that do not are no wonder."""
    same = [{place: place for place in range(100)}] * 2

    assert judge_randomness({}, same, share=0.01) == []
    assert [item.code for item in judge_randomness({}, same, share=0.5)] == [
        "epochs_identical"
    ]

"""What grows from epoch to epoch, told from what a queue or an allocator keeps."""

from autoloader.audit.growth import judge_growth

MIB = 1 << 20


def codes(
    descriptors: dict[str, list[int | None]] | None = None,
    private_bytes: dict[str, list[int | None]] | None = None,
) -> list[str]:
    """Return the codes of what is said of these counts."""
    found = judge_growth(descriptors or {}, private_bytes or {}, limit=1024)
    return [item.code for item in found]


def test_a_process_that_opens_more_in_each_epoch_is_named_with_the_end() -> None:
    """The limit tells when it will be over."""
    (found,) = judge_growth(
        {"the training process": [20, 20], "worker 1": [64, 115]}, {}, limit=1024
    )

    assert found.code == "descriptors_growing"
    assert found.message == (
        "worker 1 holds 51 more open files after another epoch; "
        "the limit of 1024 is reached in about 18 epochs"
    )


def test_without_a_limit_no_end_is_foretold() -> None:
    """Not every system tells one."""
    (found,) = judge_growth({"worker 0": [10, 30]}, {}, limit=None)

    assert found.message == "worker 0 holds 20 more open files after another epoch"


def test_memory_that_grows_over_the_same_examples_is_named() -> None:
    """By the worker that grew most."""
    (found,) = judge_growth(
        {}, {"worker 0": [60 * MIB, 80 * MIB], "worker 1": [60 * MIB, 114 * MIB]},
        limit=None,
    )  # fmt: skip

    assert found.code == "memory_growing"
    assert found.message == (
        "worker 1 holds 54.0 MiB more memory of its own after another epoch over the "
        "same examples, 60.0 MiB after the first"
    )


def test_a_few_descriptors_and_bytes_are_no_growth() -> None:
    """A queue holds a few more or less, an allocator keeps some to itself."""
    assert codes({"worker 0": [64, 71]}) == []
    assert codes(None, {"worker 0": [60 * MIB, 75 * MIB]}) == []
    assert codes(None, {"worker 0": [900 * MIB, 940 * MIB]}) == []


def test_what_shrinks_is_no_growth() -> None:
    """A cache that is emptied is none."""
    assert codes({"worker 0": [90, 20]}, {"worker 0": [90 * MIB, 20 * MIB]}) == []


def test_what_was_not_counted_says_nothing() -> None:
    """Other systems do not tell, and one epoch is no growth."""
    assert codes({"worker 0": [None, 90], "worker 1": [20]}) == []

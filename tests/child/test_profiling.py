"""A profile names the functions that carry the time, C functions by their own names."""

import sys
import zlib
from collections.abc import Iterator

import pytest

from autoloader.child.profiling import (
    MOST_EXAMPLES,
    MOST_FUNCTIONS,
    heaviest,
    hot_functions,
    name_of_function,
)

DATA = bytes(range(256)) * 2_000


@pytest.fixture(autouse=True)
def no_tracer() -> Iterator[None]:
    """Take away what measures coverage by a profile function, if anything does."""
    before = sys.getprofile()
    sys.setprofile(None)
    yield
    sys.setprofile(before)


def compressing(index: int) -> bytes:
    """Read an example that is nearly all compression."""
    return zlib.compress(DATA, 9) + bytes([index % 256])


def test_a_function_in_c_that_takes_nearly_all_is_named() -> None:
    """Not the Python function that calls it."""
    found = hot_functions(compressing, range(8), seed=0)

    assert found[0].name == "zlib.compress"
    assert found[0].share > 0.8
    assert found[0].calls_per_example == 1


def test_only_a_part_of_many_examples_is_read() -> None:
    """Spread over all of them."""
    read: list[int] = []

    hot_functions(read.append, range(100 * MOST_EXAMPLES), seed=0)

    assert read == list(range(0, 100 * MOST_EXAMPLES, 100))


def test_no_further_example_is_read_when_the_time_is_up() -> None:
    """One is read in any case."""
    read: list[int] = []

    hot_functions(read.append, range(8), seed=0, most_s=-1.0)

    assert read == [0]


def test_nothing_to_read_has_no_profile() -> None:
    """An empty list of ids."""
    assert hot_functions(compressing, [], seed=0) == ()


def test_a_profiler_that_is_at_work_is_left_alone() -> None:
    """Its figures would be spoiled, and ours as well."""
    sys.setprofile(lambda *_args: None)

    found = hot_functions(compressing, range(8), seed=0)

    sys.setprofile(None)
    assert found == ()


def test_what_raises_leaves_no_profiler_behind() -> None:
    """Nor a list: an example that was read well before is not given again."""

    def fails(index: int) -> None:
        raise KeyError(index)

    found = hot_functions(fails, range(8), seed=0)

    assert found == ()
    assert sys.getprofile() is None


def test_only_functions_with_a_share_are_named_and_few_of_them() -> None:
    """The heaviest first."""
    times = {f"module.f{number}": (1.0 + number, 2) for number in range(12)}

    found = heaviest({**times, "module.tiny": (0.1, 900)}, examples=2)

    assert len(found) == MOST_FUNCTIONS
    assert found[0].name == "module.f11"
    assert found[0].calls_per_example == 1
    assert "module.tiny" not in {item.name for item in found}


def test_no_time_is_shared_by_nobody() -> None:
    """Nothing is divided by it."""
    assert heaviest({"module.f": (0.0, 1)}, examples=1) == ()
    assert heaviest({"module.f": (1.0, 1)}, examples=0) == ()


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (("~", 0, "<method 'resize' of 'ImagingCore' objects>"), "ImagingCore.resize"),
        (("~", 0, "<built-in method torch.rand>"), "torch.rand"),
        (("/home/me/data.py", 7, "load"), "package.data.load"),
        (("/elsewhere/reader.py", 9, "read"), "reader.read"),
        (("<dynamic-code>", 3, "__getitem__"), "__main__.__getitem__"),
    ],
)
def test_names_have_no_paths(key: tuple[str, int, str], name: str) -> None:
    """A module's own name where it is known, else that of its file."""
    assert name_of_function(key, {"/home/me/data.py": "package.data"}) == name

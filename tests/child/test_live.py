"""A live object becomes a dataset in a child, as what a SPEC names does."""

import multiprocessing
import pickle
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from autoloader.child.source import load_source
from autoloader.errors import DatasetError, UsageError
from autoloader.handover import handed_over
from autoloader.values.scope import LiveObject, SourceSpec
from tests.datasets import Honest


@pytest.fixture(autouse=True)
def own_search_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the path for modules as it is: reading puts places in order."""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def live() -> Iterator[LiveObject]:
    """Return an object that was handed over."""
    with handed_over(Honest()) as found:
        yield found


def source(live: LiveObject, **arguments: object) -> SourceSpec:
    """Return what a child is ordered to read."""
    return SourceSpec(spec="an object", arguments=tuple(arguments.items()), live=live)


def test_imports_are_told_before_it_is_built(live: LiveObject) -> None:
    """Threads that they start are not the dataset's."""
    told: list[str] = []

    found = load_source(source(live), on_imported=lambda: told.append("imported"))

    assert type(found) is Honest
    assert told == ["imported"]


def test_a_function_gives_it_with_its_arguments() -> None:
    """As `--arg` does for a SPEC."""

    def make(count: int) -> list[int]:
        return list(range(count))

    with handed_over(make) as live:
        found = load_source(source(live, count=3))

    assert found == [0, 1, 2]


def test_an_object_takes_no_arguments(live: LiveObject) -> None:
    """It is there already."""
    with pytest.raises(UsageError) as caught:
        load_source(source(live, count=3))

    assert caught.value.message == "an object is a Honest and takes no --arg"


def test_what_is_no_dataset_is_told(live: LiveObject) -> None:
    """By the rule of every dataset."""
    with handed_over(lambda: 3) as of_three, pytest.raises(UsageError) as caught:
        load_source(source(of_three))

    assert caught.value.message == "an object is an int, which is no dataset"


def test_a_module_that_a_fresh_process_lacks_is_named(live: LiveObject) -> None:
    """The user's process made it by itself, say."""
    lacking = replace(live, modules=("no_such_module",))

    with pytest.raises(DatasetError) as caught:
        load_source(source(lacking))

    assert caught.value.message == (
        "an object cannot be handed over: ModuleNotFoundError: No module named "
        "'no_such_module'"
    )
    assert caught.value.hint == "pip install what provides 'no_such_module'"


def test_places_of_the_users_process_come_first(
    live: LiveObject, tmp_path: Path
) -> None:
    """Its modules may have the names of others."""
    (tmp_path / "of_the_user.py").write_text("VALUE = 3\n")
    named = replace(
        live,
        modules=("of_the_user",),
        search_path=(str(tmp_path), *dict.fromkeys(sys.path)),
    )

    load_source(source(named))

    assert sys.path[0] == str(tmp_path)
    assert len(sys.path) == len(set(sys.path))
    assert sys.modules.pop("of_the_user").VALUE == 3


def test_workers_are_started_as_the_users_process_starts_them(
    live: LiveObject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`set_start_method` is called once, in the main program."""
    seen: list[object] = []
    monkeypatch.setattr(
        multiprocessing,
        "set_start_method",
        lambda method, force: seen.append((method, force)),
    )

    load_source(source(replace(live, start_method=None)))
    load_source(source(replace(live, start_method="spawn")))

    assert seen == [("spawn", True)]


def test_two_things_are_in_the_file(live: LiveObject) -> None:
    """The object, and behind it what `__main__` defines of it."""
    with Path(live.file).open("rb") as file:
        unpickler = pickle.Unpickler(file)  # noqa: S301  # written by us
        found, definitions = unpickler.load(), unpickler.load()

    assert type(found) is Honest
    assert definitions == {}

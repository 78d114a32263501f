"""What the user's `__main__` defines is found in a child, and in workers."""

import json
import os
import pickle
import sys
from multiprocessing import context
from pathlib import Path
from types import ModuleType

import cloudpickle
import pytest

from autoloader.child.definitions import (
    VARIABLE,
    define_main,
    find_definitions,
    names_told,
)
from autoloader.child.pickling import unpicklable_path


@pytest.fixture(autouse=True)
def main(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return a `__main__` that is put away in the end, as the variable is."""
    found = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", found)
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.delenv(VARIABLE)
    return found


def a_class() -> type:
    """Return a class as a script defines it."""
    return type("Photos", (), {"__module__": "__main__", "size": 3})


def test_pickle_finds_a_class_of_the_users_script() -> None:
    """Its objects, and those that workers send, are told by its name."""
    photos = a_class()
    define_main({"Photos": photos}, file="/tmp/main")

    restored = pickle.loads(pickle.dumps(photos()))  # noqa: S301  # written above

    assert type(restored) is photos
    assert names_told() == ("Photos",)
    assert unpicklable_path(photos(), "dataset") is None


def test_a_notebook_has_no_file_that_workers_could_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Forked ones have the class; for others, pickle says that it is not there."""
    photos = a_class()
    define_main({"Photos": photos}, file=None)
    from_a_fork = pickle.loads(pickle.dumps(photos()))  # noqa: S301  # written here

    monkeypatch.setattr(context, "get_spawning_popen", object)

    assert type(from_a_fork) is photos
    with pytest.raises(pickle.PicklingError, match="Photos"):
        pickle.dumps(photos())
    assert unpicklable_path(photos(), "dataset") == ("dataset", "__main__.Photos")


def test_a_spawned_worker_reads_definitions_when_it_is_asked(
    main: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Not before: its search path is not there yet."""
    file = tmp_path / "main"
    monkeypatch.setenv(VARIABLE, json.dumps([str(file), ["Photos"]]))

    find_definitions()
    with pytest.raises(AttributeError, match="has no attribute '__file__'"):
        _ = main.__file__
    file.write_bytes(cloudpickle.dumps({"Photos": a_class()}))

    assert main.Photos.size == 3
    assert main.Photos is main.Photos


def test_without_definitions_main_is_left_alone(main: ModuleType) -> None:
    """As for every dataset that a SPEC names."""
    find_definitions()

    assert "__getattr__" not in vars(main)
    assert VARIABLE not in os.environ
    assert names_told() == ()

"""A live object is pickled once, into files that only its owner reads."""

import errno
import functools
import os
import stat
import sys
import threading
from pathlib import Path
from typing import IO, Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from autoloader import handover
from autoloader.child.live import read_live
from autoloader.errors import StoredFileError, UsageError
from autoloader.handover import handed_over, name_of
from autoloader.values.scope import LiveObject
from tests.datasets import Honest


class Holds(Dataset[Any]):
    """A dataset that holds something."""

    def __init__(self, held: object) -> None:
        self.held: Any = held

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Any:
        return index


def make() -> Honest:
    """Return a dataset."""
    return Honest()


def local_class() -> type[Dataset[Any]]:
    """Return a class that no module names, made anew at each call."""

    class Local(Dataset[Any]):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> Any:
            return index

    return Local


@pytest.fixture(autouse=True)
def own_search_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the path for modules as it is: reading puts places in order."""
    monkeypatch.setattr(sys, "path", list(sys.path))


def read_back(found: object) -> Any:
    """Return what a child would read."""
    with handed_over(found) as live:
        return read_live(live)


@pytest.mark.parametrize(
    ("found", "name"),
    [
        (Honest(), "tests.datasets.Honest object"),
        (Honest, "tests.datasets.Honest"),
        (make, f"{__name__}.make"),
        (functools.partial(make), f"{__name__}.make"),
        (lambda: None, f"{__name__}.<lambda>"),
        (Holds(0).__getitem__, f"{__name__}.Holds.__getitem__"),
        (DataLoader(Honest()), "DataLoader of a tests.datasets.Honest object"),
        ([1, 2], "builtins.list object"),
    ],
)
def test_an_object_has_a_name_that_people_read(found: object, name: str) -> None:
    """It stands where a SPEC would."""
    assert name_of(found) == name


def test_what_is_read_is_what_was_given() -> None:
    """With its tensors, functions and all."""
    held = {"weights": torch.arange(5), "scale": lambda value: value * 3}

    found = read_back(Holds(held))

    assert type(found) is Holds
    assert found.held["weights"].tolist() == [0, 1, 2, 3, 4]
    assert found.held["scale"](4) == 12


def test_a_class_without_a_name_goes_by_value() -> None:
    """A child cannot import it."""
    found = read_back(local_class()())

    assert (len(found), found[2]) == (3, 2)


def test_files_are_for_their_owner_alone_and_gone_in_the_end() -> None:
    """They hold whatever the dataset holds."""
    with handed_over(Holds(1)) as live:
        path = Path(live.file)
        modes = [stat.S_IMODE(item.stat().st_mode) for item in (path, path.parent)]
        size = path.stat().st_size

    assert modes == [0o600, 0o700]
    assert size == live.size_bytes
    assert not path.parent.exists()


def test_a_child_is_told_which_modules_it_needs_and_where_they_are() -> None:
    """It imports them before it builds the dataset, as it does with a SPEC."""
    sys.path.insert(0, "")

    with handed_over(Holds(Honest())) as live:
        pass

    assert {__name__, "tests.datasets"} <= set(live.modules)
    assert live.search_path[0] == str(Path.cwd())
    assert "" not in live.search_path
    assert live.main_file is None


def signature(found: object) -> str:
    """Return the signature of an object."""
    with handed_over(found) as live:
        return live.signature


def test_an_object_is_known_by_its_content() -> None:
    """A study goes on with the same, and with no other."""
    assert signature(Holds(1)) == signature(Holds(1))
    assert signature(Holds(1)) != signature(Holds(2))


def test_a_class_that_is_defined_again_is_the_same() -> None:
    """Its random number, which cloudpickle gives it each time, is left out."""
    assert signature(local_class()()) == signature(local_class()())


@pytest.mark.parametrize(
    ("held", "path", "kind"),
    [
        (threading.Lock(), "dataset.held", "lock"),
        ({"a": [0, threading.Lock()]}, "dataset.held['a'][1]", "lock"),
    ],
)
def test_what_cannot_be_pickled_is_named_by_its_path(
    held: object, path: str, kind: str
) -> None:
    """And the way out is a function, or a SPEC."""
    with pytest.raises(UsageError) as caught, handed_over(Holds(held)):
        pass

    assert caught.value.message == (
        f"{path} ({kind}) cannot be pickled, and other processes get "
        f"{__name__}.Holds object by pickle"
    )
    assert caught.value.hint == (
        "give a function that makes it, or its SPEC: module:attribute or "
        "path/file.py:attribute"
    )


def test_what_a_function_captured_is_named_behind_it() -> None:
    """A closure is handed over with its variables."""
    lock = threading.Lock()

    def build() -> Any:
        return Holds(lock)

    with pytest.raises(UsageError) as caught, handed_over(build):
        pass

    assert caught.value.message.startswith(
        "test_what_a_function_captured_is_named_behind_it.<locals>.build -> lock "
        "(lock) cannot be pickled"
    )


def test_an_open_file_is_no_text(tmp_path: Path) -> None:
    """Its content would go instead, and workers would share no offset."""
    path = tmp_path / "lines"
    path.write_text("a\nb\n")

    with (
        path.open(encoding="utf-8") as file,
        pytest.raises(UsageError, match=r"dataset\.held \(TextIOWrapper\) cannot be "),
        handed_over(Holds(file)),
    ):
        pass


def test_a_loader_leaves_its_workers_behind() -> None:
    """Kept ones are in it, once it was iterated; trials have their own."""
    loader = DataLoader(Honest(), batch_size=5)
    loader._iterator = threading.Lock()  # type: ignore[assignment]  # what it holds

    found = read_back(loader)

    assert found._iterator is None
    assert (found.batch_size, type(found.dataset)) == (5, Honest)
    assert loader._iterator is not None


def test_a_disk_without_room_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no fault of the object."""

    class Full:
        def write(self, data: bytes) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def __enter__(self) -> "Full":
            return self

        def __exit__(self, *_told: object) -> None:
            pass

    def full(path: Path) -> IO[bytes]:
        return Full()  # type: ignore[return-value]  # what is used of a file

    monkeypatch.setattr(handover, "_created", full)

    with pytest.raises(StoredFileError) as caught, handed_over(Holds(1)):
        pass

    assert caught.value.message.endswith("cannot be used: No space left on device")
    assert caught.value.hint == "free some space and run the same command again"


def test_a_file_that_was_tidied_away_is_named(tmp_path: Path) -> None:
    """A child cannot tell what was in it."""
    live = LiveObject(file=str(tmp_path / "object"), size_bytes=9, signature="1")

    with pytest.raises(StoredFileError) as caught:
        read_live(live)

    assert caught.value.message == (
        f"{tmp_path / 'object'}, the object that was handed over, is gone or was cut"
    )
    assert caught.value.hint == "TMPDIR=FOLDER names a folder that nothing tidies"

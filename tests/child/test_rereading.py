"""An example that is edited in place, told from one that is drawn at random."""

import os
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from autoloader.child import rereading
from autoloader.child.rereading import edited_in_place
from tests.descriptors import many_descriptors


@pytest.fixture(autouse=True)
def untouched(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget threads and connections that other tests have left in this process."""
    if "threads" not in request.node.name:
        monkeypatch.setattr("threading.active_count", lambda: 1)
    monkeypatch.setattr(rereading, "connected_sockets", lambda pid: 0)


class Cached:
    """Keeps its examples; honest."""

    def __init__(self) -> None:
        self.kept = torch.arange(20.0)[:, None].repeat(1, 3)

    def __getitem__(self, index: int) -> Any:
        return self.kept[index].clone()


class AddsInPlace(Cached):
    """Edits what it keeps."""

    def __getitem__(self, index: int) -> Any:
        self.kept[index] += 1
        return self.kept[index].clone()


class FlipsInPlace(Cached):
    """Negates what it keeps, every second time."""

    def __getitem__(self, index: int) -> Any:
        if random.random() < 0.5:  # noqa: S311  # augmentation, no secret
            self.kept[index] = -self.kept[index] - 1
        return self.kept[index].clone()


class Draws(Cached):
    """Draws anew from the seeded generator of the process."""

    def __getitem__(self, index: int) -> Any:
        return torch.rand(3)


class DrawsFromItsOwn(Cached):
    """Draws anew from a generator of its own, that no seed reaches."""

    def __init__(self) -> None:
        self.generator = random.Random(0)  # noqa: S311  # augmentation, no secret

    def __getitem__(self, index: int) -> Any:
        return self.generator.random()


class TellsTheTime(Cached):
    """Is another one each time."""

    def __getitem__(self, index: int) -> Any:
        return time.perf_counter_ns()


class Fails(Cached):
    """Raises."""

    def __getitem__(self, index: int) -> Any:
        raise KeyError(index)


class Dies(Cached):
    """Ends its process."""

    def __getitem__(self, index: int) -> Any:
        os._exit(3)


INDICES = list(range(9))


@pytest.mark.parametrize("dataset", [AddsInPlace(), FlipsInPlace()])
def test_an_edit_in_place_is_found(dataset: Any) -> None:
    """Its second reading differs, its first does not, whatever was read before."""
    assert edited_in_place(dataset, INDICES, seed=0) in INDICES


@pytest.mark.parametrize(
    "dataset", [Cached(), Draws(), DrawsFromItsOwn(), TellsTheTime()]
)
def test_random_examples_are_not_accused(dataset: Any) -> None:
    """A generator of its own has moved on by the first reading already."""
    assert edited_in_place(dataset, INDICES, seed=0) is None


def test_nothing_is_read_in_this_process() -> None:
    """It stays untouched for what comes."""
    dataset = AddsInPlace()

    edited_in_place(dataset, INDICES, seed=0)

    assert torch.equal(dataset.kept, Cached().kept)


@pytest.mark.parametrize("dataset", [Fails(), Dies()])
def test_what_fails_is_left_to_the_reader(dataset: Any) -> None:
    """It says so with the example's id."""
    assert edited_in_place(dataset, INDICES, seed=0) is None


def test_a_slow_dataset_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is left to end what it does: a cache that it writes stays whole."""
    begun, ended = tmp_path / "begun", tmp_path / "ended"

    class Slow(AddsInPlace):
        def __getitem__(self, index: int) -> Any:
            begun.touch()
            time.sleep(0.3)
            ended.touch()
            return super().__getitem__(index)

    monkeypatch.setattr(rereading, "SLOW_S", 0.05)

    assert edited_in_place(Slow(), INDICES, seed=0) is None
    assert begun.exists()
    assert ended.exists()


def test_a_hanging_dataset_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork that waits for ever is ended."""

    class Waits(Cached):
        def __getitem__(self, index: int) -> Any:
            threading.Event().wait()

    monkeypatch.setattr(rereading, "PATIENCE_S", 0.2)

    assert edited_in_place(Waits(), INDICES, seed=0) is None


def test_a_process_with_threads_is_not_forked() -> None:
    """A lock that a thread holds would be held for ever in the fork."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        assert edited_in_place(AddsInPlace(), INDICES, seed=0) is None
    finally:
        over.set()
        thread.join()


def test_a_fork_is_heard_beyond_what_select_can_name() -> None:
    """A dataset may hold thousands of files open."""
    with many_descriptors():
        found = edited_in_place(AddsInPlace(), INDICES, seed=0)

    assert found in INDICES

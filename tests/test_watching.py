"""A training is watched: its waits, its steps, and what it consumes."""

import copy
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import autoloader
from autoloader.measure.consumption import Consumption
from autoloader.report.consumption import lines_of
from autoloader.watching import Watched
from tests.datasets import Honest


class Clock:
    """Seconds that pass when somebody works."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Slow:
    """A loader of batches of four, each of which takes a second."""

    batch_size = 4

    def __init__(self, clock: Clock, batches: int = 6) -> None:
        self._clock, self._batches = clock, batches

    def __iter__(self) -> Iterator[Any]:
        """Yield batches, and let time pass before each."""
        for _number in range(self._batches):
            self._clock.now += 1.0
            yield np.zeros((4, 2))

    def __len__(self) -> int:
        return self._batches


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return a clock, in a training of one process."""
    for name in ("LOCAL_WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    return Clock()


def train(loader: Watched[Any], clock: Clock, *, epochs: int = 1) -> None:
    """Work three seconds on each batch."""
    for _epoch in range(epochs):
        for _batch in loader:
            clock.now += 3.0


def test_waits_and_steps_are_told_apart(clock: Clock) -> None:
    """A step runs from a batch to when the next one is asked for."""
    watched = Watched(Slow(clock), clock=clock)

    train(watched, clock)

    found = watched.consumption
    assert found == Consumption(
        epochs=1, batches=3, examples=12, wait_s=3.0, compute_s=9.0
    )
    assert found.wait_share == 0.25
    assert found.examples_per_s == pytest.approx(4 / 3)
    assert found.target_examples_per_s == pytest.approx(4 / 3 * 0.95)


def test_first_batches_count_where_no_others_are(clock: Clock) -> None:
    """A short look is better than none."""
    watched = Watched(Slow(clock, batches=4), clock=clock)

    train(watched, clock)

    found = watched.consumption
    assert found is not None
    assert (found.batches, found.wait_s, found.compute_s) == (4, 4.0, 12.0)


def test_epochs_add_up(clock: Clock) -> None:
    """What lies between two of them, a validation say, is neither wait nor step."""
    watched = Watched(Slow(clock), clock=clock)

    train(watched, clock)
    clock.now += 1000.0
    train(watched, clock)

    found = watched.consumption
    assert found is not None
    assert (found.epochs, found.batches, found.compute_s) == (2, 9, 27.0)


def test_a_step_that_is_broken_off_is_left_out(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was not worked on to its end; what came before is told."""
    watched = Watched(Slow(clock), clock=clock)

    for number, _batch in enumerate(watched):
        clock.now += 3.0
        if number == 4:
            break

    assert capsys.readouterr().err == (
        "autoloader: 4 batches, 16 examples of 1 epoch in 16 s: 25 % of the time the "
        "training waited for data\n"
        "without waiting it takes 1.33 examples/s; with a wait of 5 %:\n"
        "autoloader tune --dataset SPEC --target 1.27\n"
    )


def test_it_is_told_after_epochs_1_2_4_and_8(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    """A hundred epochs do not fill the screen."""
    watched = Watched(Slow(clock), clock=clock)

    train(watched, clock, epochs=9)

    told = capsys.readouterr().err.splitlines()[::3]
    assert [line.split(" of ")[1].split(" in ")[0] for line in told] == [
        "1 epoch",
        "2 epochs",
        "4 epochs",
        "8 epochs",
    ]


def test_quiet_tells_nothing_until_it_is_asked(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    """For who writes a log of their own."""
    watched = Watched(Slow(clock), quiet=True, clock=clock)

    watched.report()
    train(watched, clock)
    before = capsys.readouterr().err
    watched.report()

    assert before == "autoloader: no batch was worked on yet\n"
    assert "--target 1.27" in capsys.readouterr().err


def test_the_target_is_of_all_ranks_and_the_first_tells_it(
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As `--target` counts the whole machine."""
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
    monkeypatch.setenv("LOCAL_RANK", "1")
    train(Watched(Slow(clock), clock=clock), clock)
    of_second = capsys.readouterr().err
    monkeypatch.setenv("LOCAL_RANK", "0")

    train(Watched(Slow(clock), clock=clock), clock)

    assert of_second == ""
    assert capsys.readouterr().err.endswith(
        "without waiting it takes 1.33 examples/s, as do 8 ranks each; with a wait "
        "of 5 %:\n"
        "autoloader tune --dataset SPEC --target 10.1 --ranks 8\n"
    )


def batches(*found: Any) -> Any:
    """Return a loader without a batch size that gives these."""
    return list(found)


@pytest.mark.parametrize(
    ("found", "examples"),
    [
        ([torch.zeros(4, 3), torch.zeros(4)], 4),
        ({"ids": ["a", "b", "c"], "image": torch.zeros(3, 2)}, 3),
        ({"meta": {"id": torch.zeros(5)}}, 5),
        ((np.zeros((7, 2)), 3), 7),
        (["a", "b"], 2),
        (torch.zeros(6, 2), 6),
    ],
)
def test_a_batch_tells_how_many_examples_it_brings(
    found: object, examples: int, clock: Clock
) -> None:
    """By its first field that has a size."""
    watched = Watched(batches(found, found), quiet=True, clock=clock)

    train(watched, clock)

    assert watched.consumption is not None
    assert watched.consumption.examples == 2 * examples
    assert not watched.consumption.is_estimated


class Sized(list[Any]):
    """A list of batches that says how many examples each has."""

    batch_size = 4


def test_the_field_is_one_that_has_the_size_of_a_batch(clock: Clock) -> None:
    """The first field of a batch of graphs, or a table, may have another one."""
    loader = Sized(
        [
            {"nodes": np.zeros((33, 2)), "graphs": np.zeros(4)},
            {"nodes": np.zeros((20, 2)), "graphs": np.zeros(3)},
        ]
    )
    watched = Watched(loader, quiet=True, clock=clock)

    train(watched, clock)

    assert watched.consumption is not None
    assert watched.consumption.examples == 7


def test_without_such_a_field_batches_are_taken_to_be_full(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    """And that is said."""
    watched = Watched(Sized([object(), object()]), clock=clock)

    train(watched, clock)

    assert watched.consumption is not None
    assert watched.consumption.examples == 8
    assert "examples/s (batches times batch_size); with" in capsys.readouterr().err


def test_without_any_size_there_is_no_target(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    """Batches are counted all the same."""
    watched = Watched(batches(object(), object()), clock=clock)

    train(watched, clock)

    assert capsys.readouterr().err == (
        "autoloader: 2 batches of 1 epoch in 6.0 s: 0 % of the time the training "
        "waited for data\n"
        "without waiting it takes 0.333 batches/s; how many examples they bring is "
        "not known\n"
    )


def test_a_loop_that_does_nothing_has_no_target() -> None:
    """Its clock may not even have moved."""
    found = Consumption(epochs=1, batches=2, examples=8, wait_s=0.0, compute_s=0.0)

    assert found.wait_share == 0.0
    assert found.target_examples_per_s is None
    assert len(lines_of(found)) == 1


def test_batches_are_what_the_loader_gives() -> None:
    """The very objects, in their order, in each epoch."""
    given = [object(), object(), object()]
    watched = autoloader.watch(given, quiet=True)

    assert [list(watched), list(watched)] == [given, given]


def test_a_batch_lives_no_longer_than_the_training_keeps_it() -> None:
    """A second one in memory would be one too many."""

    class Batch:
        pass

    def load() -> Iterator[Batch]:
        yield Batch()
        yield Batch()

    watched = autoloader.watch(load(), quiet=True)
    left = []
    for batch in watched:
        seen = weakref.ref(batch)
        del batch
        gc.collect()
        left.append(seen() is not None)

    # the generator's own frame keeps none either
    assert left == [False, False]


def test_it_answers_as_the_loader_does() -> None:
    """Its length, its dataset, `set_epoch` of its sampler."""
    loader = DataLoader(Honest(), batch_size=10)

    watched = autoloader.watch(loader, quiet=True)

    assert len(watched) == 11
    assert watched.dataset is loader.dataset
    assert watched.batch_size == 10
    assert watched.loader is loader
    assert copy.copy(watched).loader is loader
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        _ = watched.nothing_of_this_name


def test_a_real_loader_is_counted_to_its_last_batch(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The last one is smaller."""
    watched = autoloader.watch(DataLoader(Honest(), batch_size=10))

    for _pixels, _label in watched:
        pass

    found = watched.consumption
    assert found is not None
    assert (found.batches, found.examples) == (8, 71)
    assert found.compute_s < 0.1
    assert "--target" in capsys.readouterr().err

"""Batches that do not fit the accelerator are outcomes, and bound the space."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from autoloader.errors import StepError
from autoloader.fitting import Fitting
from autoloader.search.budget import Budget
from autoloader.search.record import Record
from autoloader.search.space import Space
from autoloader.values.config import LoaderConfig
from autoloader.values.job import PassPlan
from autoloader.values.outcome import Failure, Status
from autoloader.values.step import StepReading
from tests.fakes import FakeClock
from tests.search.looped import loop
from tests.watchers import Noting

SPACE = Space(
    num_workers=(0, 4),
    prefetch_factor=(2,),
    pin_memory=(False, True),
    persistent_workers=(False,),
    batch_size=(64, 32, 128, 256),
)

FULL = Failure(
    kind="out_of_memory",
    phase="consumer",
    message="--step train.py:step, at batch 1: the accelerator has too little memory",
    hint="smaller batches (--batch-size) need less of it",
    of_accelerator=True,
)

RAISED = Failure(kind="step_exception", phase="consumer", message="it raised")


@dataclass
class Device:
    """Has room for so many examples; fails otherwise where it is said so."""

    room: int
    failure: Failure | None = None
    asked: list[LoaderConfig] = field(default_factory=list)

    def consume(
        self, config: LoaderConfig, *, plan: PassPlan, limit_s: float
    ) -> StepReading | Failure:
        """Return the step alone, or that its batch does not fit."""
        self.asked.append(config)
        if (config.batch_size or 0) > self.room:
            return FULL
        return self.failure or loop(None, wait_s=0.0)

    def step(self, config: LoaderConfig, **_others: Any) -> StepReading | Failure:
        """Fail: nobody asks for it."""
        raise AssertionError(config)


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    """Give an empty record."""
    with Record(tmp_path) as found:
        yield found


def fitting(device: Device, record: Record, space: Space = SPACE) -> Fitting:
    """Return what tries the step."""
    clock = FakeClock()
    watcher: Any = Noting()
    return Fitting(
        space=space,
        runner=device,
        isolation="fork",
        needs_worker=False,
        limit_s=2.7,
        record=record,
        watcher=watcher,
        budget=Budget(180.0, clock, clock()),
    )


def test_where_all_fit_the_largest_alone_is_tried(record: Record) -> None:
    """Smaller ones need less."""
    device = Device(room=256)

    space, reading = fitting(device, record).run()

    assert space == SPACE
    assert reading is not None
    assert [config.batch_size for config in device.asked] == [256]
    assert record.outcomes == ()


def test_what_does_not_fit_is_left_out_and_told(record: Record) -> None:
    """Those that are left stay in the order that the user gave them."""
    device, found = Device(room=64), Noting()
    tried = fitting(device, record)
    tried.watcher = found

    space, reading = tried.run()

    assert space.batch_size == (64, 32)
    assert reading is not None
    assert [config.batch_size for config in device.asked] == [256, 128, 64]
    assert [item.config.batch_size for item in record.outcomes] == [256, 128]
    assert {item.status for item in record.outcomes} == {Status.OUT_OF_MEMORY}
    assert [item.number for item in found.outcomes] == [0, 1]


def test_a_step_that_fails_by_itself_says_nothing_of_sizes(record: Record) -> None:
    """It is told where it is timed for good."""
    space, reading = fitting(Device(room=128, failure=RAISED), record).run()

    assert space.batch_size == (64, 32, 128)
    assert reading is None


def test_where_not_even_the_smallest_fits_nothing_is_searched(record: Record) -> None:
    """The accelerator is named, and what would help."""
    sentence = FULL.message

    with pytest.raises(StepError, match=f"^{re.escape(sentence)}$") as raised:
        fitting(Device(room=8), record).run()

    assert raised.value.hint == FULL.hint
    assert len(record.outcomes) == 4


def test_batches_that_the_dataset_makes_are_not_varied(record: Record) -> None:
    """There is no size to choose."""
    space = replace(SPACE, batch_size=(None,))
    device = Device(room=8)

    assert fitting(device, record, space).run() == (space, None)
    assert device.asked == []


def test_a_dataset_that_needs_a_worker_gets_one(record: Record) -> None:
    """Else its batches could not be read."""
    device = Device(room=256)
    tried = fitting(device, record)
    tried.needs_worker = True

    tried.run()

    assert [config.num_workers for config in device.asked] == [1]

"""Answers of passes become readings, or a failure."""

from typing import Any

import pytest

from autoloader.measure.device_meter import DeviceLook, DeviceMeter
from autoloader.measure.load import Load
from autoloader.measure.planning import wave_plan
from autoloader.trial.readings import ceiling_of, memory_of, reading_of, step_reading_of
from autoloader.values.config import LoaderConfig
from autoloader.values.job import PassOrder
from autoloader.values.outcome import Failure, MemoryReading, Reading
from tests.fakes import a_scope
from tests.measure.ceilings import ceiling

LOAD = Load(
    own_cpu=1.0,
    foreign_cpu=0.0,
    stolen_cpu=0.0,
    throttled_cpu=0.0,
    storage_bytes=None,
    read_bytes=4096,
).to_dict()

ORDER = PassOrder(
    kind="timed",
    config=LoaderConfig.canonical(num_workers=2, batch_size=8),
    logs="trials/0001-timed",
    tmp="tmp",
    reference="reference",
    examples=0,
    purpose="race",
)


def answer(expected: int | None) -> dict[str, Any]:
    """Return what a timed pass of two batches told."""
    return {
        "event": "result",
        "arrivals_s": [0.1, 0.2],
        "counts": [8, 8],
        "expected": expected,
        "epoch_ends_s": [],
        "total_s": 0.3,
        "kept": False,
        "load": LOAD,
    }


def test_a_reading_keeps_what_was_ordered_and_what_arrived() -> None:
    """Purpose and workers are the order's, moments the pass's."""
    found = reading_of(answer(16), ORDER, wave_plan(2), a_scope())

    assert isinstance(found, Reading)
    assert (found.purpose, found.num_workers) == ("race", 2)
    assert (found.arrivals_s, found.counts) == ((0.1, 0.2), (8, 8))
    assert found.own_cpu == 1.0


def test_a_stream_says_nothing_of_how_many_must_arrive() -> None:
    """It may have no end."""
    assert isinstance(reading_of(answer(None), ORDER, wave_plan(2), a_scope()), Reading)


def test_what_did_not_all_arrive_has_no_speed() -> None:
    """It is told how many of how many did."""
    found = reading_of(answer(24), ORDER, wave_plan(2), a_scope())

    assert isinstance(found, Failure)
    assert found.message == "16 of 24 examples arrived"
    assert found.log == "trials/0001-timed"


def test_what_was_weighed_is_kept_whole() -> None:
    """All that the pass told; the event's name is none of it."""
    known = MemoryReading(
        full_queue_bytes=5,
        epoch_end_bytes=(6, 7),
        queued_bytes=1,
        queue_was_full=True,
        resident_bytes=9,
    )

    assert memory_of({"event": "result", **known.to_dict()}) == known


def test_a_pass_over_free_examples_is_kept_whole() -> None:
    """All that the pass told; the event's name is none of it."""
    known = ceiling(2_000)

    assert ceiling_of({"event": "result", **known.to_dict()}) == known


STEP = {
    "event": "result",
    "num_workers": 2,
    "came_s": [0.1],
    "done_s": [0.2],
    "counts": [8],
    "warm_batches": 0,
    "steady_batches": 1,
    "total_s": 0.2,
    "has_device": True,
    "load": LOAD,
}


def test_a_step_reading_leaves_out_what_the_wire_adds() -> None:
    """The rest is the reading, the load with it, and what only the parent knows."""
    found = step_reading_of(STEP, epoch_examples=64)

    assert (found.came_s, found.done_s, found.own_cpu) == ((0.1,), (0.2,), 1.0)
    assert found.epoch_examples == 64
    assert (found.utilisation, found.device) == (None, None)


@pytest.mark.parametrize(
    ("uuid", "utilisation", "clock_mhz"), [("2", 0.25, 1000.0), ("MIG-7", 0.75, None)]
)
def test_a_step_reading_is_of_the_device_that_ran_it(
    uuid: str, utilisation: float, clock_mhz: float | None
) -> None:
    """Of the busiest, and of nothing else, where it is not known which that was."""
    devices = [
        DeviceLook(
            name="A GPU",
            uuid=f"GPU-{number}",
            utilisation=share,
            clock_mhz=1000,
            most_clock_mhz=2000,
        )
        for number, share in ((1, 0.75), (2, 0.25))
    ]
    meter = DeviceMeter(lambda: devices)
    meter.note(1)

    found = step_reading_of(
        {**STEP, "device_uuid": uuid}, epoch_examples=None, meter=meter
    )

    assert found.utilisation == utilisation
    assert (None if found.device is None else found.device.clock_mhz) == clock_mhz

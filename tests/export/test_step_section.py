"""The section `step` holds loops only: rates, waits, what is saved, what limits."""

import json
from dataclasses import replace
from typing import Any

import pytest

from autoloader.export.step_section import step_section
from tests.measure.test_device_doubts import SOUND
from tests.search.looped import LoopTable, config, raced

ZERO, TWO, FOUR = map(config, (0, 2, 4))


def section(table: LoopTable, **rates: float) -> dict[str, Any]:
    """Return the section of the default, two workers being chosen."""
    named = {"pytorch_default": ZERO, "yours": None, "fastest": FOUR, "chosen": TWO}
    return step_section(
        raced(table),
        named,
        judged="chosen",
        base="pytorch_default",
        loader_rates={TWO: rates.get("loader", 80.0)},
    )


def test_a_loop_stands_with_its_rate_its_waits_and_what_it_saves() -> None:
    """0.3 s a batch of 8 become 0.2 s; who has no loop is left out."""
    found = section(LoopTable({ZERO: (0.1,), TWO: (0.0,)}))

    assert list(found["loops"]) == ["pytorch_default", "chosen"]
    chosen = found["loops"]["chosen"]
    assert chosen["dataloader"]["num_workers"] == 2
    assert chosen["loop_rate"]["median"] == pytest.approx(40.0)
    assert chosen["steps_per_s"] == pytest.approx(5.0)
    assert chosen["wait_share"]["mean"] == pytest.approx(0.0, abs=1e-9)
    assert chosen["saved_share"] == pytest.approx(1 / 3)
    assert chosen["relative"]["median"] == pytest.approx(1.5)
    default = found["loops"]["pytorch_default"]
    assert (default["relative"], default["saved_share"]) == (None, None)
    assert default["wait_share"]["mean"] == pytest.approx(1 / 3)
    assert json.loads(json.dumps(found)) == found


def test_a_step_that_hardly_waits_is_the_limit() -> None:
    """Loading is hidden behind it: 0.1 s and 0.2 s make 0.2 s."""
    found = section(LoopTable({ZERO: (0.1,), TWO: (0.0,)}))

    assert found["limited_by"] == "step"
    assert found["alone"] == {
        "examples_per_s": pytest.approx(40.0),
        "step_s": pytest.approx(0.2),
    }
    assert found["overlap"] == {"share": pytest.approx(1.0), "seen": True}


def test_a_step_that_waits_is_limited_by_the_loader() -> None:
    """0.4 s of loading and 0.2 s of computing take 0.6 s: nothing is hidden."""
    found = section(LoopTable({TWO: (0.4,)}), loader=20.0)

    assert found["limited_by"] == "loader"
    assert found["overlap"]["seen"] is False
    assert found["against"] is None
    assert found["loops"]["chosen"]["relative"] is None


def test_a_loop_that_failed_says_why() -> None:
    """It has no figures, and nothing is told of its limit."""
    found = section(LoopTable({ZERO: (0.1,), TWO: (0.0,)}, failing=frozenset({TWO})))

    assert found["loops"]["chosen"] == {
        "dataloader": TWO.dataloader_kwargs(),
        "failed": "was killed",
    }
    assert (found["limited_by"], found["overlap"]) == (None, None)


def test_without_workers_nothing_overlaps_whatever_was_read() -> None:
    """The step alone may have met a busier machine."""
    found = step_section(
        raced(LoopTable({ZERO: (0.0,)})),
        {"chosen": ZERO},
        judged="chosen",
        base="pytorch_default",
        loader_rates={ZERO: 80.0},
    )

    assert found["overlap"] == {"share": 0.0, "seen": False}


def test_what_the_driver_told_of_the_device_stands_with_it() -> None:
    """Of the last loop of the config that is judged; nothing where it told nothing."""
    loops = raced(LoopTable({ZERO: (0.1,), TWO: (0.0,)}))
    seen = [
        replace(item, device=replace(SOUND, clock_mhz=1000.0 + number))
        for number, item in enumerate(loops.readings[TWO])
    ]
    told = replace(loops, readings={**loops.readings, TWO: tuple(seen)})

    found = step_section(
        told, {"chosen": TWO}, judged="chosen", base="chosen", loader_rates={}
    )

    assert found["device"] == seen[-1].to_dict()["device"]
    assert told.devices.count(None) == len(loops.devices) - len(seen)
    assert "device" not in section(LoopTable({ZERO: (0.1,), TWO: (0.0,)}))

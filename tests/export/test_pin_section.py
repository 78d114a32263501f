"""What pinned memory did, as the file states it, and in words."""

from dataclasses import replace
from typing import Any

import pytest

from autoloader.export.pin_section import pin_section
from autoloader.report.pin_words import pin_words
from tests.transfers import a_transfer, pin_readings

GAIN = pin_readings((1000, 1010, 990, 1000), (1400, 1390, 1410, 1400))
NONE = pin_readings((1000, 1010, 990, 1000), (1001, 1009, 991, 1000))


def words(section: dict[str, Any]) -> dict[str, str]:
    """Return the sentences by their labels."""
    return dict(pin_words(section))


def test_both_loops_are_stated_with_their_copies() -> None:
    """Rates are of these loops, and stand in no other section."""
    found = pin_section(GAIN)

    assert found["kept"] is True
    assert found["gain"]["median"] == pytest.approx(1.4, rel=0.01)
    assert found["rounds"] == 4
    assert found["dataloader"] == {
        "batch_size": 64,
        "num_workers": 2,
        "prefetch_factor": 2,
        "pin_memory": False,
        "persistent_workers": False,
    }
    assert (found["device"], found["name"]) == ("cuda", "A GPU")
    assert found["unpinned"]["hidden_share"] == pytest.approx(0.0)
    assert found["pinned"]["hidden_share"] == pytest.approx(0.9)
    assert found["pinned"]["transfer_s"] == pytest.approx(0.01)
    assert found["pinned"]["pinned_bytes"] == 2**27
    assert found["unpinned"]["tensors_pinned"] == 0
    assert found["not_shown"] is None


def test_a_gain_is_told_with_its_interval_and_the_copies() -> None:
    """How much of them is hidden is said as it was seen."""
    said = words(pin_section(GAIN))

    assert said["pinning"].startswith(
        "kept: a loop that moves batches to the accelerator is 1.40\u00d7 (1.3"
    )
    assert said["pinning"].endswith(" as fast with it")
    assert said["transfer"] == (
        "10.0 ms for a batch of 38.1 MiB (3.7 GiB/s), pinned; 90 % of it hidden"
    )


def test_no_gain_is_told_as_such() -> None:
    """With the copies of what is kept: batches as they are."""
    said = words(pin_section(replace(NONE, by="step")))

    assert said["pinning"].startswith(
        "not kept: no gain was seen; the training loop is 1.00\u00d7"
    )
    assert said["transfer"].endswith(", unpinned; 0 % of it hidden")


def test_what_a_device_does_not_tell_is_not_assumed() -> None:
    """The reason stands in its place."""
    mute = a_transfer(transfer_s=None, untimed="xpu has no events that tell the time")

    found = pin_section(replace(GAIN, plain=mute, pinned=mute))

    assert found["pinned"]["hidden_share"] is None
    assert words(found)["transfer"] == "not shown: xpu has no events that tell the time"


def test_what_could_not_be_told_has_its_reason() -> None:
    """Nothing was read."""
    none = replace(
        pin_readings((), (), failed="a worker was killed"), plain=None, pinned=None
    )

    found = pin_section(none)

    assert found["gain"] is None
    assert found["pinned"] == {"loop_rate": None}
    assert words(found) == {
        "pinning": "not kept, for it could not be told: a worker was killed"
    }


def test_rounds_that_never_had_both_tell_no_gain() -> None:
    """Their time was up."""
    assert words(pin_section(pin_readings((1000,), (None,))))["pinning"] == (
        "not kept: no round had both"
    )

"""What of an accelerator casts doubt on readings, and what does not."""

from dataclasses import replace

import pytest

from autoloader.measure.device_doubts import device_doubts
from autoloader.values.device import DeviceSeen

SOUND = DeviceSeen(
    name="A GPU",
    uuid="GPU-1",
    looks=9,
    utilisation=0.9,
    clock_mhz=1700.0,
    most_clock_mhz=1980,
    slowed_by=("its power limit",),
    link_generation=4,
    most_link_generation=4,
    link_width=16,
    most_link_width=16,
    other_processes=0,
)


@pytest.mark.parametrize(
    "seen",
    [
        [],
        [None],
        [SOUND, None],
        [replace(SOUND, link_generation=1), SOUND],
        [replace(SOUND, link_width=None, link_generation=None, other_processes=None)],
    ],
)
def test_a_sound_device_is_no_caution(seen: list[DeviceSeen | None]) -> None:
    """Nor is one that works at its power limit, that rests, or that tells nothing."""
    assert device_doubts(seen) == []


def test_heat_is_told_with_its_passes() -> None:
    """How busy it was is another matter."""
    hot = replace(SOUND, slowed_by=("its power limit", "heat"))

    (found,) = device_doubts([SOUND, hot, None, hot])

    assert found.code == "accelerator_slowed"
    assert found.message == "A GPU was slowed by heat in 2 of 3 passes"


@pytest.mark.parametrize(
    ("others", "words"),
    [
        (1, "1 other process used A GPU as well"),
        (3, "3 other processes used A GPU as well"),
    ],
)
def test_others_on_the_device_are_told(others: int, words: str) -> None:
    """A step's rate is then not its own."""
    (found,) = device_doubts([SOUND, replace(SOUND, other_processes=others)])

    assert found.code == "accelerator_shared"
    assert found.message == words
    assert found.hint == "CUDA_VISIBLE_DEVICES names another device"


def test_a_link_that_never_was_what_it_can_be_is_told() -> None:
    """A slot with fewer lanes, say."""
    (found,) = device_doubts(
        [replace(SOUND, link_width=8), replace(SOUND, link_width=4)]
    )

    assert found.code == "link_narrow"
    assert found.message == (
        "A GPU was seen on PCI Express 4 x8, of 4 x16 that it and its board can have"
    )

"""How busy accelerators are is looked at while the timed loop runs, and only then."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from autoloader.measure.utilisation import UtilisationMeter, look_of_nvml


class Refused(Exception):
    """What the library raises."""


class Library:
    """Two devices, of which one is cut into parts where it is said so."""

    NVMLError = Refused

    def __init__(self, *, is_there: bool = True, is_cut: bool = False) -> None:
        self.is_there, self.is_cut = is_there, is_cut

    def nvmlInit(self) -> None:
        """Load the library."""
        if not self.is_there:
            raise Refused

    def nvmlDeviceGetCount(self) -> int:
        """Return the number of devices."""
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        """Return what the calls about one device take."""
        return index

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        """Return 25 % of the first, 80 % of the second."""
        if self.is_cut:
            raise Refused
        return SimpleNamespace(gpu=[25, 80][handle])


def meter_of(looks: Sequence[Sequence[float] | None]) -> UtilisationMeter:
    """Return a meter that sees these one after the other."""
    left = iter(looks)
    return UtilisationMeter(lambda: next(left))


def test_the_busiest_device_counts_by_its_mean() -> None:
    """Others wait for another job, or for none."""
    meter = meter_of([[0.0, 0.5], [0.1, 1.0], None])

    for steps in range(3):
        meter.note(steps)

    assert meter.share == pytest.approx(0.75)


def test_what_was_seen_before_the_timed_loop_does_not_count() -> None:
    """Its steps begin anew."""
    meter = meter_of([[0.1], [0.9], [0.7]])

    for steps in (2, 0, 5):
        meter.note(steps)

    assert meter.share == pytest.approx(0.8)


def test_another_pass_forgets_the_last_one() -> None:
    """Each has a share of its own, or none."""
    meter = meter_of([[0.1]])
    meter.note(1)

    meter.begin()

    assert meter.share is None


def test_the_library_tells_each_device() -> None:
    """In percent."""
    assert look_of_nvml(Library())() == [0.25, 0.8]


@pytest.mark.parametrize("library", [Library(is_there=False), Library(is_cut=True)])
def test_what_the_library_does_not_tell_is_unknown(library: Library) -> None:
    """Nothing is raised."""
    assert look_of_nvml(library)() is None

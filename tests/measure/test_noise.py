"""When others had the machine while a pass ran."""

from dataclasses import replace

import pytest

from autoloader.measure.noise import is_spoiled, taken_cpu
from autoloader.values.outcome import Reading

QUIET = Reading(
    purpose="race",
    num_workers=2,
    kept=False,
    arrivals_s=(1.0, 2.0),
    counts=(8, 8),
    warm_batches=1,
    steady_batches=1,
    total_s=2.0,
    epoch_examples=100,
    own_cpu=1.9,
)


def test_a_reading_that_had_the_machine_to_itself_is_not_spoiled() -> None:
    """Using all CPUs oneself spoils nothing."""
    assert not is_spoiled(QUIET, cpus=2)


@pytest.mark.parametrize(
    ("foreign", "stolen", "own", "said"),
    [
        (0.5, 0.0, 1.5, True),
        (0.0, 0.5, 1.5, True),
        (0.2, 0.2, 1.5, True),
        (0.2, 0.0, 1.8, False),  # a tenth of the CPUs is little
        (0.5, 0.0, 0.5, False),  # a whole CPU was idle: the pass was not short of it
    ],
)
def test_a_reading_is_spoiled_where_others_took_cpus_that_it_was_short_of(
    foreign: float, stolen: float, own: float, said: bool
) -> None:
    """Programs and hypervisor count alike."""
    reading = replace(QUIET, foreign_cpu=foreign, stolen_cpu=stolen, own_cpu=own)

    assert is_spoiled(reading, cpus=2) is said
    assert taken_cpu(reading) == pytest.approx(foreign + stolen)

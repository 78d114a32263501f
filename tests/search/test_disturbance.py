"""What readings of a replay meet: drawn noise, and noise that was recorded."""

import itertools
import math
from statistics import fmean, pstdev

import pytest

from autoloader.errors import UsageError
from autoloader.search.disturbance import (
    BLOCK_ROUNDS,
    DrawnNoise,
    Noise,
    RecordedNoise,
)
from autoloader.values.config import LoaderConfig

ONE = LoaderConfig(num_workers=0, batch_size=8)
TWO = LoaderConfig.canonical(num_workers=2, batch_size=8)


def logs_of(noise: Noise, *, step_s: float, batch_scatter: float = 0.0) -> list[float]:
    """Return the logarithms of 4,000 readings' slowness, so far apart."""
    drawn = DrawnNoise(noise, seed=1)
    moments = [drawn.at(step_s * turn, ONE, batch_scatter) for turn in range(4000)]
    return [math.log(moment.slower) for moment in moments]


def test_readings_scatter_as_much_as_is_said() -> None:
    """Each for itself, and its own few batches on top."""
    calm = Noise(scatter=0.04, drift=0.0, bursts=0.0)

    own = pstdev(logs_of(calm, step_s=1.0))
    more = pstdev(logs_of(calm, step_s=1.0, batch_scatter=0.03))

    assert own == pytest.approx(0.04, rel=0.05)
    assert more == pytest.approx(0.05, rel=0.05)


def test_a_drift_is_shared_by_readings_that_follow_and_forgotten_later() -> None:
    """After its time a third of it is left; its size is the same always."""
    drifting = Noise(scatter=0.0, drift=0.1, drift_s=60.0, bursts=0.0)

    logs = logs_of(drifting, step_s=60.0)

    middle = fmean(logs)
    pairs = itertools.pairwise(logs)
    shared = fmean((one - middle) * (two - middle) for one, two in pairs)
    assert pstdev(logs) == pytest.approx(0.1, rel=0.1)
    assert shared / 0.1**2 == pytest.approx(math.exp(-1), abs=0.1)


def test_bursts_take_cpus_from_some_readings() -> None:
    """The others are alone."""
    bursting = DrawnNoise(Noise(bursts=0.25, burst_share=0.4), seed=1)

    taken = [bursting.at(float(turn), ONE, 0.0).foreign_share for turn in range(2000)]

    assert set(taken) == {0.0, 0.4}
    assert taken.count(0.4) / 2000 == pytest.approx(0.25, abs=0.03)


def test_the_same_seed_disturbs_alike() -> None:
    """So that two strategies can be compared."""
    first, again = (DrawnNoise(Noise(), seed=7) for _ in range(2))

    assert [first.at(1.0 * turn, ONE, 0.0) for turn in range(9)] == [
        again.at(1.0 * turn, ONE, 0.0) for turn in range(9)
    ]


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("scatter", 1.0, "scatter must be at least 0 and below 1, got 1"),
        ("drift", -0.1, "drift must be at least 0 and below 1, got -0.1"),
        ("drift_s", 0.0, "drift_s must be above 0, got 0"),
        ("bursts", 1.5, "bursts must be at least 0 and at most 0.9, got 1.5"),
        ("burst_share", -1, "burst_share must be at least 0 and at most 0.9, got -1"),
    ],
)
def test_a_size_out_of_range_is_refused(
    field: str, value: float, sentence: str
) -> None:
    """By name, with its range."""
    with pytest.raises(UsageError, match=f"^{sentence}$"):
        Noise(**{field: value})


ROUNDS = {
    ONE: (100.0, 50.0, 100.0, 100.0, 200.0, 100.0),
    TWO: (400.0, 200.0, 400.0, 400.0, 800.0, 400.0),
}


def test_what_a_round_did_to_all_configs_is_replayed_for_all() -> None:
    """Both were half as fast in the second round, and twice as fast in the fifth."""
    noise = RecordedNoise(ROUNDS, seed=0)

    pairs = [
        (noise.at(0.0, ONE, 0.0).slower, noise.at(0.0, TWO, 0.0).slower)
        for _ in range(60)
    ]

    assert {one for one, _two in pairs} == {0.5, 1.0, 2.0}
    assert all(one == two for one, two in pairs)


def test_rounds_that_followed_each_other_still_do() -> None:
    """In blocks; the round after the slow one is never the slow one."""
    rates = tuple(100.0 + number for number in range(9))
    noise = RecordedNoise({ONE: rates}, seed=3)
    places = {104.0 / rate: place for place, rate in enumerate(rates)}

    met = [places[noise.at(0.0, ONE, 0.0).slower] for _ in range(30 * BLOCK_ROUNDS)]

    for first in range(1, len(met), BLOCK_ROUNDS):
        block = met[first - 1 : first - 1 + BLOCK_ROUNDS]
        assert block == [(block[0] + more) % 9 for more in range(BLOCK_ROUNDS)]


def test_a_config_that_was_not_read_in_a_round_takes_one_of_its_other_readings() -> (
    None
):
    """PyTorch's default runs in every second round of a race."""
    noise = RecordedNoise({**ROUNDS, TWO: (300.0,) * 5}, seed=0)

    met = {noise.at(0.0, TWO, 0.0).slower for _ in range(30)}

    assert met == {1.0}


def test_too_few_readings_have_no_noise_to_draw_from() -> None:
    """Five at least."""
    sentence = (
        "^a replayed config needs at least 5 readings, "
        "got 4 of 2 workers, prefetch 2, batch 8$"
    )
    with pytest.raises(UsageError, match=sentence):
        RecordedNoise({TWO: (1.0, 2.0, None, 1.0, 1.0)}, seed=0)

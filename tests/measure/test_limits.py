"""Each limit is named by what was measured, and by nothing less."""

from dataclasses import replace

import pytest

from autoloader.measure.limits import Limit, LimitName, name_limit
from autoloader.measure.observed import Observed
from tests.measure.ceilings import ceiling, costs, observed, reading


def test_cpus_that_are_used_up_by_reading_are_the_transform() -> None:
    """The ceiling is the rate at which the last bit of CPU is used."""
    seen = observed(
        reading(250, workers=1, cpu=1.0),
        reading(950, workers=4, cpu=3.8),
        ceilings=(ceiling(48_000),),
    )

    limit = name_limit(seen)

    assert limit.name is LimitName.TRANSFORM
    assert limit.ceiling_examples_per_s == pytest.approx(1000)
    assert limit.cached_examples_per_s == pytest.approx(48_000)
    assert "3.80 of 4 CPUs are used at 950 examples/s" in limit.evidence
    assert limit.evidence.endswith("CPU time: transform")


def test_cpus_that_stay_idle_with_most_workers_are_extrapolated_least() -> None:
    """Two workers leave a tenth, four hardly any of it, and gain nothing by that."""
    seen = observed(
        reading(1000, workers=2, cpu=1.8), reading(990, workers=4, cpu=1.98), cpus=2.0
    )

    assert name_limit(seen).ceiling_examples_per_s == pytest.approx(1000)


def test_a_ceiling_is_what_three_quarters_of_the_readings_stay_below() -> None:
    """One that half of them exceed is none: what disturbs a reading slows it."""
    rates = (700, 800, 990, 1000, 1010)
    seen = observed(*(reading(rate, workers=4, cpu=4.0) for rate in rates))

    assert name_limit(seen).ceiling_examples_per_s == pytest.approx(1000)


def test_a_ceiling_counts_the_start_of_workers_as_all_rates_do() -> None:
    """An epoch of 1,000 examples that lasts a second, and a tenth to start."""
    seen = observed(reading(1000, workers=4, cpu=4.0, start_s=0.1))

    assert name_limit(seen).ceiling_examples_per_s == pytest.approx(1000 / 1.1)


def test_cpus_that_are_used_up_by_collating_are_the_collate() -> None:
    """The largest stage is named, wherever it runs."""
    heavy = costs(reading_cpu_s=0.001, collate_cpu_s=0.003)
    seen = observed(
        reading(900, workers=4, cpu=3.9), of=heavy, ceilings=(ceiling(1_300),)
    )

    limit = name_limit(seen)

    assert limit.name is LimitName.COLLATE


def test_a_loader_that_is_no_faster_with_free_examples_is_its_own_limit() -> None:
    """Hand-over where that costs more than collate; the CPUs do not matter then."""
    heavy = costs(reading_cpu_s=0.0001, handover_cpu_s=0.0006, takeover_cpu_s=0.0009)
    seen = observed(
        reading(940, workers=2, cpu=1.9),
        reading(960, workers=4, cpu=2.0),
        of=heavy,
        ceilings=(ceiling(1_000),),
    )

    limit = name_limit(seen)

    assert limit.name is LimitName.HANDOVER
    assert limit.ceiling_examples_per_s == pytest.approx(960)
    assert (
        "collate takes 100 us beyond a copy, copy and hand-over 1.5 ms"
        in limit.evidence
    )


def test_a_slow_collate_shows_with_free_examples_as_well() -> None:
    """It is told from the hand-over by what it took in one process."""
    heavy = costs(reading_cpu_s=0.0001, collate_cpu_s=0.002)
    seen = observed(
        reading(480, workers=1, cpu=1.0), of=heavy, ceilings=(ceiling(500, workers=1),)
    )

    assert name_limit(seen).name is LimitName.COLLATE


def test_where_no_workers_are_fastest_nothing_is_handed_over() -> None:
    """Collate is what is left, a plain copy of the batch among it."""
    light = costs(reading_cpu_s=0.000002, collate_cpu_s=0.00002)
    light = replace(light, copy_cpu_s=0.000015)
    seen = observed(
        reading(45_000, workers=0, cpu=1.0),
        of=light,
        ceilings=(ceiling(50_000, workers=0),),
    )

    limit = name_limit(seen)

    assert limit.name is LimitName.COLLATE
    assert limit.evidence.endswith("collate takes 20 us of CPU time an example")


def test_workers_that_gain_nothing_while_cpus_are_idle_wait_for_storage() -> None:
    """Its ceiling is the level that the rate stays at."""
    seen = observed(
        reading(250, workers=1, cpu=0.3),
        reading(500, workers=2, cpu=0.6),
        reading(690, workers=4, cpu=0.8),
        reading(685, workers=8, cpu=0.9),
    )

    limit = name_limit(seen)

    assert limit.name is LimitName.STORAGE
    assert limit.ceiling_examples_per_s == pytest.approx(690)
    assert limit.evidence.startswith("more processes than 4 gain nothing beyond 690")


def test_what_waits_without_reading_a_byte_has_no_name() -> None:
    """A lock, say: storage is not blamed for it."""
    seen = observed(
        reading(400, workers=1, cpu=0.5),
        reading(405, workers=2, cpu=0.5),
        reads_bytes=False,
    )

    assert name_limit(seen).name is LimitName.UNKNOWN


def test_a_rate_that_still_grows_is_limited_by_the_space() -> None:
    """No ceiling is stated: none was seen."""
    seen = observed(
        reading(100, workers=1, cpu=0.1),
        reading(200, workers=2, cpu=0.2),
        reading(400, workers=4, cpu=0.4),
        most_workers=4,
    )

    limit = name_limit(seen)

    assert limit.name is LimitName.SPACE
    assert limit.ceiling_examples_per_s is None
    assert "2.00 times the next fewer" in limit.evidence


def test_too_few_readings_name_nothing() -> None:
    """One number of workers tells neither that more gain nor that they do not."""
    limit = name_limit(observed(reading(100, workers=1, cpu=0.1)))

    assert limit.name is LimitName.UNKNOWN
    assert limit.ceiling_examples_per_s is None


def test_a_step_that_is_slower_than_the_loader_is_the_limit() -> None:
    """However busy the CPUs are."""
    seen = observed(reading(950, workers=4, cpu=3.9), step_s=0.002)

    limit = name_limit(seen)

    assert limit.name is LimitName.CONSUMER
    assert limit.ceiling_examples_per_s == pytest.approx(500)


def test_a_step_that_waits_is_no_limit() -> None:
    """The loader is."""
    seen = observed(reading(950, workers=4, cpu=3.9), step_s=0.0005)

    assert name_limit(seen).name is LimitName.TRANSFORM


def test_workers_that_start_for_half_of_an_epoch_are_the_limit() -> None:
    """The rate between start and end says what longer epochs would have."""
    seen = observed(reading(1000, workers=4, cpu=2.0, start_s=1.0))

    limit = name_limit(seen)

    assert limit.name is LimitName.START_UP
    assert limit.ceiling_examples_per_s == pytest.approx(500)
    assert "start and end of 4 workers take 50 % of an epoch" in limit.evidence


def test_cpu_time_that_grows_more_than_computing_does_is_memory_bandwidth() -> None:
    """4.4 ms in one process, 8 ms with four workers, computing alone 1.1 times."""
    seen = observed(reading(500, workers=4, cpu=4.0), compute_growth=1.1)

    assert name_limit(seen).name is LimitName.MEMORY_BANDWIDTH


@pytest.mark.parametrize("growth", [None, 1.8])
def test_cpu_time_that_halves_of_cores_explain_is_not(growth: float | None) -> None:
    """Nor is anything said of it where computing was not probed."""
    seen = observed(reading(500, workers=4, cpu=4.0), compute_growth=growth)

    assert name_limit(seen).name is LimitName.TRANSFORM


def test_a_limit_is_stored_and_read_back() -> None:
    """By name, as the file has it."""
    limit = name_limit(observed(reading(950, workers=4, cpu=3.8)))

    assert Limit.from_dict(limit.to_dict()) == limit
    assert limit.to_dict()["name"] == "transform"


def test_a_limit_of_nothing_is_refused() -> None:
    """Without a reading there is nothing to name."""
    with pytest.raises(ValueError, match=r"^a limit needs at least one reading$"):
        Observed(cpus=2.0, costs=costs(), readings={}, most_workers=4, reads_bytes=True)


def test_huge_examples_are_the_hand_over_even_where_collate_copies_them() -> None:
    """A collate that is a copy has nothing to be made faster."""
    heavy = replace(costs(reading_cpu_s=0.0001, collate_cpu_s=0.004), copy_cpu_s=0.0036)
    seen = observed(
        reading(200, workers=1, cpu=1.2), of=heavy, ceilings=(ceiling(210, workers=1),)
    )

    assert name_limit(seen).name is LimitName.HANDOVER


def test_workers_that_others_keep_from_the_cpus_are_not_said_to_wait() -> None:
    """They may wait for these only."""
    found = [
        replace(reading(rate, workers=workers, cpu=0.6), foreign_cpu=3.3)
        for workers, rate in ((1, 400), (2, 405))
    ]

    limit = name_limit(observed(*found, machine_cpus=4.0))

    assert limit.name is LimitName.UNKNOWN
    assert limit.ceiling_examples_per_s is None
    assert limit.evidence == (
        "0.10 of 4 CPUs were left idle: workers may wait for these only; other "
        "programs had 3.30 CPUs"
    )


def test_others_that_leave_cpus_idle_explain_nothing() -> None:
    """Who waits then, waits for something else."""
    found = [
        replace(reading(rate, workers=workers, cpu=0.6), foreign_cpu=1.0)
        for workers, rate in ((1, 400), (2, 405))
    ]

    assert name_limit(observed(*found, machine_cpus=4.0)).name is LimitName.STORAGE


def test_a_loader_has_the_cpus_that_others_leave_it() -> None:
    """What uses them up is named all the same; what a quiet machine gives is not."""
    busy = replace(reading(600, workers=4, cpu=2.6), foreign_cpu=1.2)

    limit = name_limit(observed(busy, machine_cpus=4.0))

    assert limit.name is LimitName.TRANSFORM
    assert limit.ceiling_examples_per_s is None
    assert limit.evidence == (
        "2.60 of 4 CPUs are used at 600 examples/s; 91 % of an example's CPU time: "
        "transform; other programs had 1.20 CPUs: no ceiling is told"
    )


def test_cpu_time_that_nobody_told_apart_is_not_blamed_on_reading() -> None:
    """Reading has a tenth of it; collate and hand-over were not looked at."""
    unseen = replace(
        costs(reading_cpu_s=0.0004, collate_cpu_s=None),
        handover_cpu_s=None,
        takeover_cpu_s=None,
    )

    limit = name_limit(observed(reading(950, workers=4, cpu=3.8), of=unseen))

    assert limit.name is LimitName.UNKNOWN
    assert limit.ceiling_examples_per_s is None
    assert limit.evidence.endswith(
        "reading has 10 % of an example's CPU time, and there was no time to tell the "
        "rest apart: a longer --budget has it"
    )


def test_reading_that_has_most_of_the_cpu_time_is_named_without_a_closer_look() -> None:
    """Whatever has the rest, it has less."""
    unseen = replace(
        costs(collate_cpu_s=None), handover_cpu_s=None, takeover_cpu_s=None
    )

    limit = name_limit(observed(reading(800, workers=4, cpu=3.8), of=unseen))

    assert limit.name is LimitName.TRANSFORM
    assert limit.evidence.endswith("84 % of an example's CPU time: transform")


def test_workers_that_cannot_beat_one_process_are_limited_by_their_hand_over() -> None:
    """With free examples they are no faster than one process that reads."""
    heavy = costs(reading_cpu_s=0.0001, handover_cpu_s=0.002, takeover_cpu_s=0.002)
    seen = observed(
        reading(250, workers=0, cpu=1.0),
        reading(190, workers=2, cpu=1.6),
        of=heavy,
        ceilings=(ceiling(270, workers=0), ceiling(200, workers=2)),
    )

    limit = name_limit(seen)

    assert limit.name is LimitName.HANDOVER
    assert limit.ceiling_examples_per_s == pytest.approx(250)
    assert limit.cached_examples_per_s == pytest.approx(200)
    assert limit.evidence.startswith(
        "250 examples/s were read with no workers, and 200 with 2 workers where"
    )


def test_one_process_counts_as_one_that_reads() -> None:
    """A store that serves one request at a time needs no second worker to show it."""
    seen = observed(reading(470, workers=0, cpu=0.1), reading(485, workers=2, cpu=0.2))

    limit = name_limit(seen)

    assert limit.name is LimitName.STORAGE
    assert limit.evidence.startswith("more processes than 1 gain nothing beyond 485")


def test_an_epoch_that_ends_before_the_queue_is_full_tells_nothing() -> None:
    """Not that workers wait, which they do."""
    short = replace(reading(1000, workers=4, cpu=1.0), warm_batches=100)

    limit = name_limit(observed(short))

    assert limit.name is LimitName.UNKNOWN
    assert limit.evidence == (
        "an epoch ends before 4 workers have filled the queue: what longer ones would "
        "have is not told"
    )


def test_a_machine_that_became_slower_is_no_memory_bandwidth() -> None:
    """One process took 7 ms among the trials, 4 when the reference was read."""
    seen = observed(
        reading(143, workers=0, cpu=1.0),
        reading(500, workers=4, cpu=4.0),
        compute_growth=1.1,
    )

    assert name_limit(seen).name is LimitName.TRANSFORM


def test_workers_that_compute_most_of_the_time_are_not_said_to_wait() -> None:
    """Files are read as well, but storage is not blamed for CPUs that are half idle."""
    seen = observed(reading(400, workers=2, cpu=1.6), reading(405, workers=4, cpu=3.0))

    limit = name_limit(seen)

    assert limit.name is LimitName.UNKNOWN
    assert limit.evidence == (
        "more processes than 2 gain nothing beyond 405 examples/s, with 3.00 of 4 CPUs "
        "used: too many to say that workers wait, too few for a limit"
    )


def test_what_was_not_allowed_is_not_the_fastest() -> None:
    """PyTorch's default is read for comparison, and has no workers to start."""
    seen = observed(
        reading(900, workers=0, cpu=1.0),
        reading(1000, workers=2, cpu=1.0, start_s=2.0),
        least_workers=2,
    )

    assert name_limit(seen).name is LimitName.START_UP


def test_one_process_that_waits_says_it_on_a_busy_machine_too() -> None:
    """2 ms for 70 us of CPU time: others that compute explain no such thing."""
    found = [
        replace(reading(rate, workers=workers, cpu=0.1), foreign_cpu=3.8)
        for workers, rate in ((0, 430), (4, 380))
    ]
    waiting = costs(reading_cpu_s=0.00007, reading_s=0.0021)

    limit = name_limit(observed(*found, of=waiting, machine_cpus=4.0))

    assert limit.name is LimitName.STORAGE
    assert limit.ceiling_examples_per_s == pytest.approx(430)


def test_others_that_compute_are_no_memory_bandwidth() -> None:
    """They slow each CPU second, on the other half of a core."""
    busy = replace(reading(300, workers=4, cpu=3.0), foreign_cpu=1.0)

    limit = name_limit(observed(busy, compute_growth=1.0, machine_cpus=4.0))

    assert limit.name is LimitName.TRANSFORM


@pytest.mark.parametrize(
    ("most", "rate", "name"),
    [
        (2, 430, LimitName.STORAGE),
        (2, 450, LimitName.UNKNOWN),
        (4, 510, LimitName.STORAGE),
        (4, 540, LimitName.UNKNOWN),
    ],
)
def test_a_tenth_of_what_more_workers_could_gain_is_nothing(
    most: int, rate: float, name: LimitName
) -> None:
    """Beside 400 of one process: 440 of two, or 520 of four."""
    seen = observed(
        reading(400, workers=1, cpu=0.1), reading(rate, workers=most, cpu=0.3)
    )

    assert name_limit(seen).name is name


def test_a_ceiling_of_one_worker_is_not_that_of_many() -> None:
    """CPUs are idle, and nobody looked at what more workers collate."""
    heavy = costs(reading_cpu_s=0.0001, collate_cpu_s=0.003)
    alone = reading(320, workers=1, cpu=1.0)
    cached = (ceiling(325, workers=1, collate_s=0.003),)

    limit = name_limit(observed(alone, of=heavy, ceilings=cached))
    level = name_limit(
        observed(alone, reading(310, workers=4, cpu=1.0), of=heavy, ceilings=cached)
    )

    assert limit.name is level.name is LimitName.COLLATE
    assert limit.ceiling_examples_per_s is None
    assert level.ceiling_examples_per_s == pytest.approx(320)

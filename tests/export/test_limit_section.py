"""The limit of a study, with stages, functions and advice beside it."""

from dataclasses import replace

import pytest

from autoloader.export.limit_section import limit_section
from autoloader.values.ceiling import HotFunction
from autoloader.values.outcome import Outcome
from tests.measure.ceilings import ceiling, reading
from tests.report.fakes import FACTS, config, measured, refused

HOT = HotFunction(name="ImagingCore.resize", share=0.41, calls_per_example=1.0)


def outcome(workers: int, rate: float, cpu: float) -> Outcome:
    """Return a trial with one reading."""
    found = measured(workers, config(workers), [rate])
    read = (reading(rate, workers=workers, cpu=cpu),)
    return replace(found, readings=read, ceiling=ceiling(48_000))


def test_the_section_names_limit_stages_functions_and_advice() -> None:
    """Plain values, as the file has them."""
    found = limit_section(
        config(4),
        [outcome(1, 250, 1.0), outcome(4, 950, 3.8), refused(9, config(9))],
        facts=FACTS,
        cpus=4.0,
        workers=(0, 16),
        hot=[HOT],
    )

    assert found is not None
    assert found["name"] == "transform"
    assert found["stages"]["reading_cpu_s"] == FACTS.example_cpu_s
    assert found["functions"] == [HOT.to_dict()]
    assert found["advice"][0]["what"].startswith("a faster form of ImagingCore.resize")


def test_other_batch_sizes_say_nothing_of_the_chosen_one() -> None:
    """Their hand-over costs something else."""
    other = replace(config(4), batch_size=8)

    found = limit_section(
        other, [outcome(4, 950, 3.8)], facts=FACTS, cpus=4.0, workers=(0, 16)
    )

    assert found is None


def test_the_best_config_of_each_number_of_workers_counts() -> None:
    """A slow one with as many workers blurs nothing."""
    kept = replace(config(4), persistent_workers=True)
    slow = replace(outcome(4, 400, 2.0), number=7, config=kept)

    found = limit_section(
        config(4),
        [slow, outcome(4, 950, 3.8)],
        facts=FACTS,
        cpus=4.0,
        workers=(0, 16),
    )

    assert found is not None
    assert found["ceiling_examples_per_s"] == pytest.approx(1_000)


def test_of_a_config_that_was_raced_only_the_race_counts() -> None:
    """A single reading of the search may have been a lucky one."""
    raced = outcome(4, 950, 3.8)
    lucky = replace(reading(1_900, workers=4, cpu=3.8), purpose="search")
    both = replace(raced, readings=(lucky, *raced.readings))

    found = limit_section(config(4), [both], facts=FACTS, cpus=4.0, workers=(0, 16))

    assert found is not None
    assert found["ceiling_examples_per_s"] == pytest.approx(1_000)


def test_of_several_ranks_it_is_the_limit_of_one() -> None:
    """With its share of the CPUs, of the rate, and of what others took."""
    one, two = (
        replace(reading(475, workers=4, cpu=cpu), foreign_cpu=0.4) for cpu in (1.8, 2.0)
    )
    alone = replace(one, own_cpu=1.9, foreign_cpu=0.2)

    found, same = (
        limit_section(
            config(4),
            [replace(outcome(4, 475, 1.9), readings=(read,))],
            facts=FACTS,
            cpus=2.0,
            workers=(0, 16),
            machine_cpus=2.0,
        )
        for read in (replace(one, others=(two,)), alone)
    )

    assert found is not None
    assert found == same

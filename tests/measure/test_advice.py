"""Advice rests on a measurement, and promises no more than Amdahl's law."""

from dataclasses import replace

import pytest

from autoloader.measure.advice import Advice, advice_for
from autoloader.measure.limits import Limit, LimitName
from autoloader.values.ceiling import HotFunction
from tests.measure.ceilings import costs, observed, reading
from tests.report.fakes import FACTS

SEEN = observed(reading(950, workers=4, cpu=3.8))


def limit(name: LimitName, ceiling: float | None = 1_000.0) -> Limit:
    """Return a limit by name."""
    return Limit(
        name=name,
        evidence="as measured",
        ceiling_examples_per_s=ceiling,
        cached_examples_per_s=None,
    )


def hot(name: str, share: float) -> HotFunction:
    """Return a function that carries a share of the reading."""
    return HotFunction(name=name, share=share, calls_per_example=1.0)


def test_decoding_what_is_resized_can_be_done_smaller() -> None:
    """Of 4.4 ms of an example 4 are reading, and half of that is decoding."""
    found = advice_for(
        limit(LimitName.TRANSFORM),
        SEEN,
        facts=FACTS,
        hot=[hot("ImagingDecoder.decode", 0.5), hot("ImagingCore.resize", 0.41)],
    )

    assert "Image.draft()" in found[0].what
    assert found[0].most_gain == pytest.approx(1 / (1 - 0.5 / 1.1))
    assert "ImagingDecoder.decode takes 50 %" in found[0].why
    assert found[1].what.startswith("a faster form of ImagingCore.resize")


def test_a_decoder_whose_output_keeps_its_size_is_not_drafted() -> None:
    """Nothing was seen that makes it smaller."""
    found = advice_for(
        limit(LimitName.TRANSFORM),
        SEEN,
        facts=FACTS,
        hot=[hot("ImagingDecoder.decode", 0.5)],
    )

    assert [item.what.startswith("a faster form of") for item in found] == [True]


def test_functions_that_carry_little_are_not_worth_a_word() -> None:
    """Without a hot one there is nothing to say."""
    shares = [hot("a.b", 0.19), hot("c.d", 0.1)]

    assert advice_for(limit(LimitName.TRANSFORM), SEEN, facts=FACTS, hot=shares) == ()


def test_threads_are_advised_against_where_one_process_has_several() -> None:
    """What they gain is a matter of a test: no factor is promised."""
    threaded = observed(
        reading(950, workers=4, cpu=3.8), of=costs(reading_cpu_s=0.006, reading_s=0.002)
    )

    found = advice_for(limit(LimitName.TRANSFORM), threaded, facts=FACTS)

    assert found[0].what.startswith("one thread in each worker")
    assert "uses 3.0 CPUs" in found[0].why
    assert found[0].most_gain is None


def test_storage_is_worth_what_the_cpus_would_allow() -> None:
    """Four CPUs at 4.4 ms an example are 909/s; 690/s were read."""
    seen = observed(reading(690, workers=8, cpu=0.9))

    found = advice_for(limit(LimitName.STORAGE), seen, facts=FACTS)

    assert found[0].most_gain == pytest.approx(4 / 0.0044 / 690)


def test_floats_of_pictures_are_handed_over_as_bytes() -> None:
    """A quarter of them; no other gain is larger, so that it comes first."""
    found = advice_for(limit(LimitName.HANDOVER), SEEN, facts=FACTS)

    assert found[0].what.startswith("hand 0 over as bytes (uint8)")
    assert found[0].most_gain == 4.0
    assert found[1].what.startswith("fewer hand-overs")


def test_whole_numbers_are_not_made_smaller() -> None:
    """They are what is stored."""
    narrow = replace(FACTS, fields=FACTS.fields[1:])

    found = advice_for(limit(LimitName.HANDOVER), SEEN, facts=narrow)

    assert [item.what.startswith("fewer hand-overs") for item in found] == [True]


def test_a_collate_gains_its_own_share_at_most() -> None:
    """Three of four milliseconds."""
    heavy = costs(
        reading_cpu_s=0.0005,
        collate_cpu_s=0.003,
        handover_cpu_s=0.0004,
        takeover_cpu_s=0.0001,
    )
    seen = observed(reading(300, workers=1, cpu=1.0), of=heavy)

    found = advice_for(limit(LimitName.COLLATE), seen, facts=FACTS)

    assert found[0].most_gain == pytest.approx(4.0)


def test_a_collate_that_only_copies_is_not_to_be_made_faster() -> None:
    """Nothing would be gained."""
    plain = replace(costs(collate_cpu_s=0.003), copy_cpu_s=0.0029)
    seen = observed(reading(300, workers=1, cpu=1.0), of=plain)

    assert advice_for(limit(LimitName.COLLATE), seen, facts=FACTS) == ()


def test_workers_that_are_kept_gain_their_start() -> None:
    """From 500/s over all to 1,000/s between start and end."""
    seen = observed(reading(1_000, workers=4, cpu=2.0, start_s=1.0))

    found = advice_for(limit(LimitName.START_UP, 500.0), seen, facts=FACTS)

    assert found[0].most_gain == pytest.approx(2.0)


@pytest.mark.parametrize(
    "name", [LimitName.CONSUMER, LimitName.SPACE, LimitName.UNKNOWN]
)
def test_without_evidence_there_is_no_advice(name: LimitName) -> None:
    """A consumer-bound job needs none, and what is unknown allows none."""
    shares = [hot("a.b", 0.9)]

    assert advice_for(limit(name), SEEN, facts=FACTS, hot=shares) == ()


def test_advice_is_stored_and_read_back() -> None:
    """As the file has it."""
    found = advice_for(limit(LimitName.HANDOVER), SEEN, facts=FACTS)

    assert tuple(Advice.from_dict(item.to_dict()) for item in found) == found

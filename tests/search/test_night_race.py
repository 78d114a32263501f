"""The passes of a night: what runs, in which order, and what ends it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from autoloader.search.baseline import Baseline, Rival
from autoloader.search.known_outcomes import KnownOutcomes
from autoloader.search.night_race import NightRace, NightReadings
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Failure, Status
from autoloader.values.target import Target
from tests.fakes import FakeRunner, a_stopwatch

CRASH = Failure(kind="crashed", phase="timed", message="a worker was killed by SIGBUS")


def config(workers: int) -> LoaderConfig:
    """Return a config of batch 64."""
    return LoaderConfig.canonical(num_workers=workers, batch_size=64)


DEFAULT, STORED, FASTEST = config(0), config(2), config(4)

RATES = {DEFAULT: 250.0, STORED: 500.0, FASTEST: 510.0}

BASELINE = Baseline(
    config=STORED,
    rates=(500.0,) * 6,
    rivals=(
        Rival(name="pytorch_default", config=DEFAULT, ratios=(0.5,) * 6),
        Rival(name="fastest", config=FASTEST, ratios=(1.02,) * 6),
    ),
    target=Target(share_of_best=0.95, memory_bytes=2**40),
    ranks=1,
    is_memory_asked=False,
    examples=1600,
    verified=1200,
)


class Night:
    """One night over a fake runner."""

    def __init__(self, **fakes: Any) -> None:
        self.runner = FakeRunner(rate=lambda item: RATES[item], **fakes)
        self.record = KnownOutcomes()
        self.phases: list[str] = []

    def run(
        self,
        baseline: Baseline = BASELINE,
        *,
        deadline: float = 1e9,
        least_s: float = 0.0,
    ) -> NightReadings:
        """Return what is read."""
        return NightRace(
            stopwatch=a_stopwatch(self.runner),
            record=self.record,
            baseline=baseline,
            past=(),
            deadline=deadline,
            least_s=least_s,
            clock=self.runner.clock,
            on_phase=lambda name, _detail: self.phases.append(name),
            on_round=lambda _number, _rates: None,
        ).run()

    def calls(self, kind: str) -> list[LoaderConfig]:
        """Return which configs had a pass of this kind."""
        return [item for name, item in self.runner.calls if name == kind]


def test_what_is_stored_is_verified_whole_and_all_are_read_in_turns() -> None:
    """Six rounds where nothing is suspicious, every second one in reverse order."""
    night = Night()

    found = night.run()

    assert found.verdict is not None
    assert found.verdict.examples == 1200
    assert found.failure is None
    assert [list(item) for item in found.rounds[:2]] == [
        [STORED, DEFAULT, FASTEST],
        [FASTEST, DEFAULT, STORED],
    ]
    assert len(found.rounds) == 6
    assert night.calls("gate") == [STORED, DEFAULT, FASTEST]
    assert night.phases == ["verification", "gate", "gate", "race"]
    assert night.calls("weigh") == []


def test_something_suspicious_takes_twelve_rounds() -> None:
    """More readings before anything is called a change."""
    gained = replace(BASELINE.rivals[0], ratios=(0.4,) * 6)

    found = Night().run(replace(BASELINE, rivals=(gained,)))

    assert len(found.rounds) == 12


def test_every_reading_is_kept_with_who_it_is_of() -> None:
    """As those of a study are."""
    night = Night()

    night.run()

    outcomes = night.record.outcomes
    assert [item.source for item in outcomes] == [
        "stored",
        "pytorch_default",
        "fastest",
    ]
    assert [item.config for item in outcomes] == [STORED, DEFAULT, FASTEST]
    assert {len(item.counted) for item in outcomes} == {6}
    assert {item.status for item in outcomes} == {Status.MEASURED}


def test_wrong_data_is_never_timed() -> None:
    """Not even beside others."""
    night = Night(wrong=frozenset({STORED}))

    found = night.run()

    assert found.verdict is not None
    assert not found.verdict.passed
    assert found.rounds == ()
    assert night.calls("time") == []


def test_a_rival_whose_data_is_wrong_is_left_out() -> None:
    """The others are read."""
    night = Night(wrong=frozenset({FASTEST}))

    found = night.run()

    assert found.failure is None
    assert FASTEST not in night.calls("time")
    assert DEFAULT in found.rounds[0]


def test_stored_settings_that_do_not_start_are_told() -> None:
    """That is no verdict on the data."""
    found = Night(failing={STORED: CRASH}).run()

    assert found.verdict is None
    assert found.failure == CRASH


class Dying(FakeRunner):
    """Fails one config from its second timed pass on."""

    victim = STORED

    def time(self, config: LoaderConfig, **asked: Any) -> Any:
        """Return a reading, or the end."""
        reading = super().time(config, **asked)
        timed = [item for kind, item in self.calls if kind == "time"]
        return CRASH if config == self.victim and timed.count(config) > 1 else reading


@pytest.mark.parametrize("victim", [STORED, DEFAULT])
def test_a_pass_that_fails_ends_the_night_or_leaves_one_out(
    victim: LoaderConfig,
) -> None:
    """The stored settings are what the night is about."""
    night = Night()
    runner = Dying(rate=lambda item: RATES[item])
    runner.victim = victim
    night.runner = runner

    found = night.run()

    lost = night.record[victim]
    assert (lost.status, lost.failure) == (Status.CRASHED, CRASH)
    assert lost.readings == ()
    if victim == STORED:
        assert found.failure == CRASH
        assert len(found.rounds) == 2
    else:
        assert found.failure is None
        assert len(found.rounds) == 12


def test_memory_that_was_asked_for_is_weighed() -> None:
    """What takes more is no recommendation any more."""
    asked = replace(
        BASELINE,
        is_memory_asked=True,
        target=Target(share_of_best=0.95, memory_bytes=150_000_000),
    )
    night = Night(memory=lambda item: 100_000_000 * item.num_workers)

    found = night.run(asked)

    assert night.calls("weigh") == [STORED]
    assert found.failure is not None
    assert found.failure.kind == "out_of_memory"
    assert found.rounds == ()


def test_what_cannot_fit_is_not_started() -> None:
    """A batch that is larger than all memory that was asked for."""
    asked = replace(
        BASELINE,
        is_memory_asked=True,
        target=Target(share_of_best=0.95, memory_bytes=1000),
    )
    night = Night()

    found = night.run(asked)

    assert found.failure is not None
    assert night.runner.calls == []


def test_the_deadline_ends_the_rounds() -> None:
    """One at least is run."""
    night = Night()

    found = night.run(deadline=night.runner.clock())

    assert len(found.rounds) == 1


def test_the_rounds_have_their_time_however_long_the_gate_took() -> None:
    """Else a slow night would never be seen as one."""
    night = Night()

    found = night.run(deadline=night.runner.clock(), least_s=1e6)

    assert len(found.rounds) == 6

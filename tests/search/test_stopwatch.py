"""Readings that are repeated: too short, or spoiled by others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from autoloader.search.stopwatch import IN_VAIN
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Failure, Outcome, Reading, Status, Verdict
from tests.fakes import FakeRunner, a_stopwatch

if TYPE_CHECKING:
    from autoloader.values.job import PassPlan

TWO = LoaderConfig.canonical(num_workers=2, batch_size=10)


@dataclass
class NoisyRunner(FakeRunner):
    """A runner during whose readings others take CPUs, as a list says."""

    foreign: list[float] = field(default_factory=list)
    failing_times: set[int] = field(default_factory=set)
    plans: list[PassPlan] = field(default_factory=list)

    def time(
        self, config: LoaderConfig, *, verdict: Verdict, purpose: str, plan: PassPlan
    ) -> Reading | Failure:
        """Return the table's reading, disturbed as the list says."""
        self.plans.append(plan)
        if len(self.plans) in self.failing_times:
            return Failure(kind="crashed", phase="timed", message="it crashed")
        found = super().time(config, verdict=verdict, purpose=purpose, plan=plan)
        assert isinstance(found, Reading)
        taken = self.foreign.pop(0) if self.foreign else 0.0
        return replace(found, foreign_cpu=taken, own_cpu=2.0 - taken)


def noisy(rate: float = 100.0, **kwargs: object) -> NoisyRunner:
    """Return a runner of so many examples a second, with a long epoch."""
    return NoisyRunner(rate=lambda _: rate, epoch_examples=10**6, **kwargs)  # type: ignore[arg-type]  # fields of the class


def verdict_of(runner: FakeRunner) -> Verdict:
    """Return the verdict of an honest config."""
    found = runner.gate(TWO, examples=10)
    assert isinstance(found, Verdict)
    return found


def test_a_reading_that_is_long_enough_and_quiet_is_taken_once() -> None:
    """It counts."""
    runner = noisy()

    taken = a_stopwatch(runner).take(TWO, verdict=verdict_of(runner), purpose="race")

    assert isinstance(taken, tuple)
    assert [item.replaced_because for item in taken] == [None]


def test_a_reading_that_is_too_short_is_followed_by_a_longer_one() -> None:
    """Both are handed back, and the first says why it does not count."""
    runner = noisy(rate=100_000.0)

    taken = a_stopwatch(runner).take(TWO, verdict=verdict_of(runner), purpose="search")

    assert isinstance(taken, tuple)
    assert [item.replaced_because for item in taken] == ["too_short", None]
    assert len(taken[1].arrivals_s) > 100 * len(taken[0].arrivals_s) / 4


def test_what_was_learned_of_a_config_is_kept() -> None:
    """Its next reading is long enough at once; after a restart as well."""
    runner = noisy(rate=100_000.0)
    stopwatch = a_stopwatch(runner)
    verdict = verdict_of(runner)
    first = stopwatch.take(TWO, verdict=verdict, purpose="search")
    assert isinstance(first, tuple)
    outcome = Outcome(
        number=0,
        config=TWO,
        status=Status.MEASURED,
        source="search",
        isolation="fork",
        seconds=1.0,
        verdict=verdict,
        readings=first,
    )
    later = a_stopwatch(runner)
    later.remember([outcome])

    again = stopwatch.take(TWO, verdict=verdict, purpose="race")
    resumed = later.take(TWO, verdict=verdict, purpose="race")

    assert isinstance(again, tuple)
    assert isinstance(resumed, tuple)
    assert len(again) == len(resumed) == 1
    assert outcome.counted == first[1:]


def test_a_spoiled_reading_is_repeated_once() -> None:
    """The repeat stands for it, and it says so."""
    runner = noisy(foreign=[1.0, 0.0])

    taken = a_stopwatch(runner).take(TWO, verdict=verdict_of(runner), purpose="race")

    assert isinstance(taken, tuple)
    assert [item.replaced_because for item in taken] == ["spoiled", None]


def test_where_repeats_are_spoiled_too_no_more_are_made() -> None:
    """The machine is busy for good: rounds have to cancel that."""
    runner = noisy(foreign=[1.0] * 100)
    stopwatch = a_stopwatch(runner)
    verdict = verdict_of(runner)

    taken = [stopwatch.take(TWO, verdict=verdict, purpose="race") for _ in range(5)]

    lengths = [len(item) for item in taken if isinstance(item, tuple)]
    assert lengths == [2] * IN_VAIN + [1] * (5 - IN_VAIN)


def test_a_pass_that_fails_is_a_failure_also_when_it_was_a_repeat() -> None:
    """A config that crashes every second time is not fast every first time."""
    runner = noisy(foreign=[1.0], failing_times={2})

    taken = a_stopwatch(runner).take(TWO, verdict=verdict_of(runner), purpose="race")

    assert isinstance(taken, Failure)


def test_ranks_share_the_cpus_of_a_machine() -> None:
    """Half of two is one."""
    whole = a_stopwatch(noisy())

    assert whole.cpus == 2.0
    assert replace(whole, ranks=2).cpus == 1.0

"""Whether memory is pinned is decided by loops that move batches, pinned and not."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from autoloader.pinning import Pinning
from autoloader.search.budget import Budget
from autoloader.search.pin_gain import LOOKS
from autoloader.search.space import Space
from autoloader.tune_values import TuneRequest
from autoloader.values.config import LoaderConfig
from autoloader.values.job import PassPlan, Reference
from autoloader.values.outcome import Failure, Verdict
from autoloader.values.scope import SourceSpec
from autoloader.values.step import StepReading
from autoloader.values.target import Target
from autoloader.values.transfer import TransferReading
from tests.fakes import FakeClock, FakeRunner, a_machine, a_scope, some_facts
from tests.transfers import a_transfer
from tests.watchers import Noting

SPACE = Space(
    num_workers=(0, 4),
    prefetch_factor=(2, 4),
    pin_memory=(False, True),
    persistent_workers=(False, True),
    batch_size=(64, 32),
)

BROKEN = Failure(kind="crashed", phase="transfer", message="a worker was killed")


def plain(workers: int, *, is_pinned: bool = False) -> LoaderConfig:
    """Return the config that is read with so many workers."""
    return LoaderConfig.canonical(
        num_workers=workers, batch_size=64, prefetch_factor=2, pin_memory=is_pinned
    )


@dataclass
class Mover(FakeRunner):
    """Moves batches in the time that it is told of pinned ones and others."""

    stood_s: Callable[[bool], float] = lambda is_pinned: 0.001 if is_pinned else 0.010
    broken_at: int | None = None
    plans: list[PassPlan] = field(default_factory=list)

    def transfer(
        self, config: LoaderConfig, *, verdict: Verdict, plan: PassPlan
    ) -> TransferReading | Failure:
        """Return a reading of exactly that."""
        assert verdict.passed
        self._note("transfer", config, 1.0)
        self.plans.append(plan)
        if self.broken_at == len(self.plans):
            return BROKEN
        return a_transfer(
            stood_s=self.stood_s(config.pin_memory), is_pinned=config.pin_memory
        )


@dataclass
class Stepper:
    """Trains in the time that it is told."""

    stood_s: Callable[[bool], float]
    asked: list[bool] = field(default_factory=list)

    def consume(self, *_asked: object, **_others: object) -> StepReading | Failure:
        """Fail: nobody asks for it."""
        raise AssertionError

    def step(
        self, config: LoaderConfig, *, verdict: Verdict, plan: PassPlan
    ) -> StepReading | Failure:
        """Return a reading of exactly that."""
        self.asked.append(config.pin_memory)
        return a_transfer(stood_s=self.stood_s(config.pin_memory)).loop


def pinning(mover: Mover, steps: Stepper | None = None, **changed: Any) -> Pinning:
    """Return what decides, on a machine of two CPUs."""
    parts: dict[str, Any] = {
        "space": SPACE,
        "runner": mover,
        "steps": steps,
        "request": TuneRequest(
            source=SourceSpec(spec="data.py:make"),
            target=Target(share_of_best=0.95),
            out=Path("out.yaml"),
        ),
        "reference": Reference(
            facts=replace(some_facts(), accelerator="cuda"),
            scope=a_scope(),
            folder="reference",
            seconds=1.0,
        ),
        "machine": a_machine(),
        "watcher": Noting(),
        "budget": Budget(1000.0, mover.clock, mover.clock()),
    }
    return Pinning(**{**parts, **changed})


def a_mover(**known: Any) -> Mover:
    """Return a runner whose data is right."""
    return Mover(rate=lambda _config: 1000.0, clock=FakeClock(), **known)


def test_pinning_that_gains_is_kept_for_the_search() -> None:
    """The loop that moves pinned batches is faster in every round."""
    mover = a_mover()

    space, found = pinning(mover).run()

    assert space == replace(SPACE, pin_memory=(True,))
    assert found.by == "transfer"
    assert found.config == plain(2)
    assert len(found.plain_rates) == LOOKS[0]  # settled at the first look
    assert found.plain is not None
    assert found.plain.pinned == 0
    assert found.pinned is not None
    assert found.pinned.pinned == 2
    assert found.failed is None


def test_pinning_that_gains_nothing_is_left() -> None:
    """As simple as it was."""
    space, found = pinning(a_mover(stood_s=lambda _pinned: 0.001)).run()

    assert space.pin_memory == (False,)
    assert len(found.plain_rates) == LOOKS[0]


def test_both_are_gated_before_they_are_read() -> None:
    """And read in turns, the order reversed every second round."""
    mover = a_mover()

    pinning(mover).run()

    kinds = [(kind, config.pin_memory) for kind, config in mover.calls]
    assert kinds[:2] == [("gate", False), ("gate", True)]
    turns = [is_pinned for kind, is_pinned in kinds if kind == "transfer"]
    assert turns == [False, True, *[False, True, True, False] * 2]


def test_with_a_step_its_own_loop_decides() -> None:
    """Copies are told beside it; what they gain, the step may hide."""
    mover, steps = a_mover(), Stepper(stood_s=lambda _pinned: 0.050)

    space, found = pinning(mover, steps, step_examples_per_s=1280.0).run()

    assert space.pin_memory == (False,)
    assert found.by == "step"
    assert [kind for kind, _ in mover.calls].count("transfer") == 2
    assert steps.asked[:4] == [False, True, True, False]


def test_a_slow_step_is_planned_by_what_it_takes_alone() -> None:
    """Else its first pass would take minutes."""
    mover = a_mover()
    decided = pinning(mover, Stepper(lambda _pinned: 0.05), step_examples_per_s=0.5)

    decided.run()

    assert (
        mover.plans[0].total < pinning(a_mover())._plan(plain(2), is_pinned=False).total
    )


def test_where_data_is_wrong_with_workers_the_training_process_reads() -> None:
    """What search and race refuse later is not looked into here."""
    mover = a_mover(wrong=frozenset({plain(2)}))

    space, found = pinning(mover).run()

    assert found.config == plain(0)
    assert space.pin_memory == (True,)


def test_where_no_config_is_right_it_cannot_be_told() -> None:
    """Nothing is pinned then, and the reason is a caution."""
    wrong = frozenset({plain(2), plain(0, is_pinned=True)})
    decided = pinning(a_mover(wrong=wrong))

    space, found = decided.run()

    watcher: Any = decided.watcher
    assert space.pin_memory == (False,)
    assert found.failed is not None
    assert found.failed.endswith("missing_ids: lost: 33")
    assert "pinned" in found.failed
    assert watcher.cautions == [
        (
            f"whether pinned memory gains cannot be told: {found.failed}",
            "--pin-memory yes pins all the same",
        )
    ]


@pytest.mark.parametrize("broken_at", [1, 2, 3, 6])
def test_a_pass_that_fails_ends_it_without_a_gain(broken_at: int) -> None:
    """Whatever the others showed."""
    space, found = pinning(a_mover(broken_at=broken_at)).run()

    assert space.pin_memory == (False,)
    assert found.failed is not None
    assert found.failed.endswith("a worker was killed")


def test_rounds_end_with_their_share_of_the_budget() -> None:
    """A short one leaves the rest to the search."""
    mover = a_mover(stood_s=lambda _pinned: 0.001)
    clock = mover.clock

    _space, found = pinning(mover, budget=Budget(25.0, clock, clock())).run()

    assert len(found.plain_rates) == 1


def test_a_budget_that_is_nearly_used_up_is_left_to_the_search() -> None:
    """The reference took long, say."""
    mover = a_mover()
    clock = mover.clock
    decided = pinning(mover, budget=Budget(25.0, clock, clock() - 11.0))

    space, found = decided.run()

    assert space.pin_memory == (False,)
    assert found.failed == "the budget has no time for it"
    assert mover.calls == []

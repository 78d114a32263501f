"""The step's part of a tune: what is wanted, which loops are read, what they choose."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from autoloader.errors import StepError, UsageError
from autoloader.search.budget import CHOICE_LOOPS_SHARE, LOOPS_SHARE, Budget
from autoloader.stepping import Stepping
from autoloader.values.config import LoaderConfig
from autoloader.values.job import PassPlan, Reference
from autoloader.values.outcome import Failure
from autoloader.values.step import StepReading
from autoloader.values.target import Target
from tests.fakes import a_machine, a_scope, some_facts
from tests.search.looped import LoopTable, loop
from tests.search.test_finale import FOUR, TWO, ZERO, Kit, config

if TYPE_CHECKING:
    from autoloader.search.strategy import Strategy

ONE = config(1)

FED = {ZERO: (0.1,), TWO: (0.0,), FOUR: (0.0,)}

OF_STEP = Target(is_of_step=True)

TIMED = replace(OF_STEP, examples_per_s=38.0)


@dataclass
class Alone(LoopTable):
    """Fails where it is said so, and notes what the step alone was asked with."""

    failure: Failure | None = None
    asked: LoaderConfig | None = None

    def consume(
        self, config: LoaderConfig, *, plan: PassPlan, limit_s: float
    ) -> StepReading | Failure:
        """Return the step alone, or why there is none."""
        self.asked = config
        return self.failure or loop(None, wait_s=0.0)


def stepping(
    kit: Kit, table: LoopTable, target: Target | None = None, **changed: Any
) -> Stepping:
    """Return the step of a study whose search is over."""
    parts: dict[str, Any] = {
        "step": "train.py:step",
        "request": None,
        "reference": Reference(
            facts=some_facts(), scope=a_scope(), folder="reference", seconds=1.0
        ),
        "machine": a_machine(),
        "folder": Path("study"),
        "tmp": Path("tmp"),
        "stack": ExitStack(),
        "budget": Budget(1000.0, kit.runner.clock, kit.runner.clock()),
        "on_phase": lambda _name, _detail: None,
        "on_tick": lambda _stage, _done: None,
        "consumer": (loop(None, wait_s=0.0),),
        "target": target,
        "_runner": table,
    }
    return Stepping(**{**parts, **changed})


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Kit]:
    """Give a study in which 0, 2 and 4 workers were measured."""
    made = Kit(tmp_path)
    yield made
    made.record.close()


def test_what_keeps_a_step_fed_is_wanted_of_all_ranks(kit: Kit) -> None:
    """40 examples a second for each of two, less the twentieth that it may wait."""
    table = Alone(FED)
    subject = stepping(kit, table, consumer=())

    found = subject.time_alone(OF_STEP, (64,), ranks=2)

    assert found.examples_per_s == pytest.approx(76.0)
    assert found.is_of_step
    assert table.asked == ZERO
    assert subject.is_choosing


def test_another_target_stays_as_it_is(kit: Kit) -> None:
    """The step is timed all the same."""
    share = Target(share_of_best=0.95)
    subject = stepping(kit, Alone(FED), consumer=())

    assert subject.time_alone(share, (32, 64), ranks=1) == share
    assert subject.examples_per_s == pytest.approx(40.0)
    assert not subject.is_choosing


def test_a_dataset_that_needs_a_worker_has_one_for_the_step_too(kit: Kit) -> None:
    """It cannot be read otherwise."""
    table = Alone(FED)
    facts = replace(some_facts(), needs_worker=True)
    reference = Reference(facts=facts, scope=a_scope(), folder="r", seconds=1.0)

    stepping(kit, table, reference=reference).consume(64)

    assert table.asked is not None
    assert table.asked.num_workers == 1


@pytest.mark.parametrize(
    ("kind", "message", "sentence"),
    [
        (
            "step_exception",
            "--step x:y raised KeyError: 1",
            "--step x:y raised KeyError: 1",
        ),
        ("crashed", "was killed", "--step train.py:step cannot be timed: was killed"),
    ],
)
def test_a_step_that_fails_ends_the_command(
    kit: Kit, kind: str, message: str, sentence: str
) -> None:
    """No setting of a loader mends it."""
    failure = Failure(kind=kind, phase="consumer", message=message, hint="look")

    with pytest.raises(StepError, match=f"^{re.escape(sentence)}$") as caught:
        stepping(kit, Alone(FED, failure=failure)).consume(64)

    assert caught.value.hint == "look"


def test_a_step_is_kept_fed_with_batches_of_one_size(kit: Kit) -> None:
    """With each it takes another rate."""
    sentence = "--target step needs one batch size, and 32, 64 are searched"

    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}$"):
        stepping(kit, Alone(FED)).time_alone(OF_STEP, (32, 64), ranks=1)


def test_the_simplest_config_whose_loop_is_fed_is_verified_and_chosen(kit: Kit) -> None:
    """By the loaders' rates none would need workers; every loop's reading is kept."""
    finale = kit.finale(TIMED)
    before = finale.run()

    found = stepping(kit, LoopTable(FED), TIMED).finish(
        finale, before, allowed=(ZERO, TWO, FOUR), deadline=1e9
    )

    assert before.choice.config == ZERO
    assert (found.choice.config, found.choice.state) == (TWO, "met")
    assert TWO in found.verified
    assert found.loops is not None
    assert len(kit.record[TWO].loops) == len(found.loops.rounds)


def test_a_choice_whose_data_is_wrong_is_made_anew(kit: Kit) -> None:
    """It has no speed any more, and no loop."""
    kit.runner.wrong_when_whole = frozenset({TWO})
    finale = kit.finale(TIMED)

    found = stepping(kit, LoopTable(FED), TIMED).finish(
        finale, finale.run(), allowed=(ZERO, TWO, FOUR), deadline=1e9
    )

    assert found.choice.config == FOUR
    assert [item.config for item in found.lost] == [TWO]
    assert kit.record[TWO].loops == ()


def test_where_no_loop_is_fed_the_fastest_is_the_best_there_is(kit: Kit) -> None:
    """And what the loaders' rates chose is not recommended."""
    finale = kit.finale(TIMED)
    table = LoopTable({ZERO: (0.3,), TWO: (0.1,), FOUR: (0.2,)})

    found = stepping(kit, table, TIMED).finish(
        finale, finale.run(), allowed=(ZERO, TWO, FOUR), deadline=1e9
    )

    assert (found.choice.state, found.choice.config) == ("not_met", None)
    assert found.recommended == TWO


def test_where_every_loop_fails_the_best_loader_is_still_told(kit: Kit) -> None:
    """With the failures."""
    finale = kit.finale(TIMED)
    table = LoopTable(FED, failing=frozenset(FED))

    found = stepping(kit, table, TIMED).finish(
        finale, finale.run(), allowed=(ZERO, TWO, FOUR), deadline=1e9
    )

    assert found.choice.state == "not_met"
    assert found.recommended in FED
    assert found.loops is not None
    assert set(found.loops.failed) == set(FED)


def test_with_another_target_loops_are_told_and_choose_nothing(kit: Kit) -> None:
    """PyTorch's default, the user's own, and the choice."""
    share = Target(share_of_best=0.95)
    finale = kit.finale(share)
    before = finale.run()

    found = stepping(kit, LoopTable(FED), share).finish(
        finale, before, allowed=(ZERO, TWO, FOUR), deadline=1e9
    )

    assert found.choice == before.choice
    assert before.choice.config == FOUR
    assert found.loops is not None
    assert set(found.loops.readings) == {ZERO, TWO, FOUR}
    assert len(found.loops.rounds) == 6


def test_loops_that_a_choice_rests_on_have_more_time(kit: Kit) -> None:
    """A fifth of the budget, and more."""
    told = stepping(kit, LoopTable(FED), Target(share_of_best=0.95))
    choosing = stepping(kit, LoopTable(FED), TIMED)

    assert told.reserved_s == pytest.approx(1000 * LOOPS_SHARE)
    assert choosing.reserved_s == pytest.approx(1000 * CHOICE_LOOPS_SHARE)


def test_the_search_leaves_out_what_cannot_keep_the_step_fed(kit: Kit) -> None:
    """4 ms an example by turns, a step takes 25 ms for it: 14 % of waiting."""
    strategy: Strategy = kit.finale(TIMED).strategy

    narrowed = stepping(kit, LoopTable(FED), TIMED).narrow(strategy)
    as_it_was = stepping(kit, LoopTable(FED), Target(share_of_best=0.95)).narrow(
        strategy
    )

    assert narrowed.configs == (TWO, FOUR)
    assert as_it_was is strategy


def test_what_should_be_enough_and_one_worker_more_are_tried_in_any_case(
    kit: Kit,
) -> None:
    """The default comes first, and keeps its name."""
    finale = kit.finale(TIMED)
    strategy = replace(finale.strategy, configs=(ZERO, ONE, TWO, FOUR))
    first = [(ZERO, "pytorch_default")]

    found = stepping(kit, LoopTable(FED), TIMED).with_neighbours(first, strategy)
    of_share = stepping(kit, LoopTable(FED), Target(share_of_best=0.95))

    # 4 ms an example are 250/s without workers, and 38 are wanted
    assert found == [(ZERO, "pytorch_default"), (ONE, "step")]
    assert of_share.with_neighbours(first, strategy) == first


def test_where_nothing_should_be_enough_the_search_decides_alone(kit: Kit) -> None:
    """It looks for the fastest then."""
    slow = replace(kit.finale(TIMED).strategy, configs=(ONE,))
    quick = loop(None, wait_s=0.0, step_s=1e-4)

    subject = stepping(kit, LoopTable(FED), TIMED, consumer=(quick,))

    assert subject.with_neighbours([], slow) == []


@pytest.mark.parametrize(
    ("busy", "kept"),
    [((0.0,), 1), ((1.5, 0.0), 1), ((1.5, 1.5), 2)],
)
def test_a_step_alone_that_others_spoiled_is_timed_again(
    kit: Kit, busy: tuple[float, ...], kept: int
) -> None:
    """Once more at most; where none is quiet, both count."""
    left = list(busy)

    class Shared(LoopTable):
        def consume(self, config, *, plan, limit_s):  # type: ignore[no-untyped-def]
            return replace(loop(None, wait_s=0.0), foreign_cpu=left.pop(0), own_cpu=0.5)

    subject = stepping(kit, Shared(FED), consumer=())
    subject.consume(64)

    assert left == []
    assert len(subject.consumer) == kept


def test_a_batch_that_does_not_fit_the_accelerator_is_told_as_such(kit: Kit) -> None:
    """Its sentence names the step already."""
    said = "--step train.py:step, at batch 1: the accelerator has too little memory"
    failure = Failure(
        kind="out_of_memory",
        phase="consumer",
        message=said,
        hint="smaller batches",
        of_accelerator=True,
    )
    made = stepping(kit, Alone(FED, failure=failure))

    with pytest.raises(StepError, match=f"^{re.escape(said)}$") as raised:
        made.time_alone(OF_STEP, (8,), ranks=1)

    assert raised.value.hint == "smaller batches"

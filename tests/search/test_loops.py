"""Training loops are read in turns, kept, and what fails is named."""

from collections.abc import Mapping

import pytest

from autoloader.search.loops import ALONE_ROUNDS, consumer_rate
from autoloader.search.standings import Judgement
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Failure
from autoloader.values.step import StepReading
from tests.search.looped import LoopTable, config, entrant, loop, raced

ZERO, TWO = config(0), config(2)

WAITS: Mapping[LoaderConfig, tuple[float, ...]] = {ZERO: (0.1,), TWO: (0.0,)}


def test_what_is_saved_is_a_part_of_the_loop() -> None:
    """0.3 s a batch become 0.2 s."""
    found = raced(LoopTable(WAITS))

    assert found.saved_share(ZERO, TWO) == pytest.approx(1 / 3)
    assert found.saved_share(TWO, ZERO) == pytest.approx(-0.5)
    assert found.step_examples_per_s == pytest.approx(40.0)
    assert found.step_s == pytest.approx(0.2)


def test_figures_tell_rate_wait_and_whether_the_step_is_fed() -> None:
    """A third of the time is waited without workers, nothing with them."""
    found = raced(LoopTable(WAITS))

    zero, two = found.figures(ZERO), found.figures(TWO)

    assert zero is not None
    assert two is not None
    assert zero.wait_share == pytest.approx(1 / 3)
    assert (zero.is_fed, two.is_fed) == (Judgement.FAILS, Judgement.MEETS)
    assert two.rate.median == pytest.approx(40.0)
    assert (two.wait_s, two.compute_s) == pytest.approx((0.0, 0.2))
    assert two.utilisation is None


def test_waits_that_scatter_around_the_limit_are_not_told() -> None:
    """Neither fed nor starved, with confidence."""
    found = raced(LoopTable({TWO: (0.002, 0.02)})).figures(TWO)

    assert found is not None
    assert 0 < found.wait_share < 0.06
    assert found.is_fed is Judgement.UNDECIDED


def test_rounds_take_turns_and_each_reading_is_kept() -> None:
    """The order is reversed every second round."""
    table, kept = LoopTable(WAITS), list[tuple[LoaderConfig, StepReading]]()

    found = raced(table, looks=(3,), kept=kept)

    assert table.calls == [ZERO, TWO, TWO, ZERO, ZERO, TWO]
    assert [config for config, _ in kept] == table.calls
    assert found.stopped_because == "all_rounds"
    assert len(found.readings[ZERO]) == 3


def test_rounds_end_before_the_time_does() -> None:
    """The first one is run all the same."""
    found = raced(LoopTable(WAITS), deadline=0.0)

    assert len(found.rounds) == 1
    assert found.stopped_because == "deadline"


def test_a_loop_that_fails_is_not_run_again() -> None:
    """It has no figures, and is not the fastest."""
    table = LoopTable(WAITS, failing=frozenset({TWO}))

    found = raced(table)

    assert found.failed[TWO].message == "was killed"
    assert found.figures(TWO) is None
    assert found.standings().best == ZERO
    assert found.saved_share(ZERO, TWO) is None
    assert table.calls.count(TWO) == 1


def test_a_pass_is_planned_by_what_the_loop_took_before() -> None:
    """0.3 s a batch without workers: by turns; then as it was read."""
    assert entrant(ZERO, 80.0).batch_s(40.0) == pytest.approx(0.3)
    assert entrant(TWO, 80.0).batch_s(40.0) == pytest.approx(0.2)
    assert entrant(TWO, 20.0).batch_s(40.0) == pytest.approx(0.4)


def test_a_pass_that_ends_in_its_warm_up_is_a_failure() -> None:
    """It says nothing of the loop."""

    class Short(LoopTable):
        def step(self, config, *, verdict, plan):  # type: ignore[no-untyped-def]
            return loop(2, wait_s=0.0, batches=1)

    found = raced(Short({TWO: (0.0,)}))

    assert found.failed[TWO].message == "a pass delivered too few batches"


def test_a_step_that_was_not_timed_has_no_rate() -> None:
    """Not even a large one."""
    assert consumer_rate(()) == 0.0


def test_the_step_alone_is_read_in_the_first_rounds_as_well() -> None:
    """What loops are held against met the same machine; it is no config's rate."""
    table = LoopTable({TWO: (0.0,)})

    found = raced(table, looks=(6,))

    assert len(found.consumer) == ALONE_ROUNDS
    assert [list(round_) for round_ in found.rounds] == [[TWO]] * 6


def test_where_the_step_alone_fails_once_what_was_read_before_stands() -> None:
    """Loops go on."""

    class Tired(LoopTable):
        def consume(self, config, *, plan, limit_s):  # type: ignore[no-untyped-def]
            return Failure(kind="crashed", phase="consumer", message="was killed")

    found = raced(Tired({TWO: (0.0,)}))

    assert len(found.consumer) == 1
    assert found.step_examples_per_s == pytest.approx(40.0)
    assert len(found.rounds) == 4


def test_one_round_tells_by_its_parts_whether_the_step_is_fed() -> None:
    """Where the time for more was up."""
    found = raced(LoopTable({ZERO: (0.1,), TWO: (0.002,)}), looks=(1,))

    zero, two = found.figures(ZERO), found.figures(TWO)

    assert zero is not None
    assert two is not None
    assert (zero.is_fed, two.is_fed) == (Judgement.FAILS, Judgement.MEETS)


def test_two_rounds_tell_no_ends_of_an_interval() -> None:
    """They would lie anywhere."""
    table = {ZERO: (0.1, 0.4), TWO: (0.0, 0.1)}

    few = raced(LoopTable(table), looks=(2,))
    enough = raced(LoopTable(table), looks=(3,))

    for loops, has_ends in ((few, False), (enough, True)):
        figures, ratio = loops.figures(TWO), loops.relative(TWO, ZERO)
        assert figures is not None
        assert ratio is not None
        assert ratio.median > 1
        assert (figures.rate.low is not None, ratio.high is not None) == (
            has_ends,
            has_ends,
        )

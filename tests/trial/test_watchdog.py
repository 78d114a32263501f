"""Whether a child gets on is judged by what is seen of it, and never by the machine."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from autoloader.child.stages import Stage
from autoloader.measure.proc import ProcessStat
from autoloader.trial import watchdog as subject
from autoloader.trial.watchdog import (
    ChildHung,
    ChildStopped,
    Patience,
    Watchdog,
    patience_with,
)
from autoloader.values.config import LoaderConfig
from tests.fakes import some_facts

TICK_S = 0.2


def process(pid: int, state: str = "S", cpu_s: float = 0.0) -> ProcessStat:
    """Return a process that is there."""
    return ProcessStat(
        pid=pid,
        name="python",
        state=state,
        parent_pid=1,
        group_id=7,
        session_id=7,
        user_s=cpu_s,
        system_s=0.0,
        threads=1,
        start_ticks=1,
    )


class Watched:
    """A child whose processes and whose time a test makes up."""

    def __init__(self, patience: Patience, *processes: ProcessStat) -> None:
        self.now_s = 100.0
        self.looks = 0
        self.processes = processes
        self.look_s = 0.0
        """What a look at the processes takes."""
        self.dog = Watchdog(7, patience, family=self._family, clock=lambda: self.now_s)

    def _family(self, pid: int) -> tuple[ProcessStat, ...]:
        assert pid == 7
        self.looks += 1
        self.now_s += self.look_s
        return self.processes

    def stand(self, stage: Stage, done: int, seconds: float) -> None:
        """Look for so long at a child that stands there."""
        until_s = self.now_s + seconds
        while self.now_s < until_s:
            self.dog.look(stage, done)
            self.now_s += TICK_S

    def give_up(self, stage: Stage, done: int) -> ChildHung:
        """Look at a child that stands there until it is given up."""
        with pytest.raises(ChildHung) as found:
            self.stand(stage, done, 1_000.0)
        return found.value


def test_no_progress_for_too_long_is_a_hang() -> None:
    """With stage, count and seconds; each unit is progress."""
    watched = Watched(Patience(stall_s=30.0), process(7))
    watched.stand(Stage.LOADING, 2, 29.0)
    watched.stand(Stage.LOADING, 3, 29.0)

    hang = watched.give_up(Stage.LOADING, 3)

    assert type(hang) is ChildHung
    assert (hang.stage, hang.done) == (Stage.LOADING, 3)
    assert 30.0 <= hang.seconds <= 31.0


def test_a_child_that_gets_on_costs_no_look_at_its_processes() -> None:
    """They are looked at where a second brings no progress, and then now and then."""
    watched = Watched(Patience(stall_s=30.0), process(7))
    for done in range(100):
        watched.stand(Stage.LOADING, done, 0.8)
    before = watched.looks

    watched.stand(Stage.LOADING, 99, 10.0)

    assert before == 0
    assert 9 <= watched.looks <= 11


def test_looks_are_rare_where_they_take_long() -> None:
    """Ten thousand processes are not read once a second."""
    watched = Watched(Patience(stall_s=300.0), process(7))
    watched.look_s = 0.2

    watched.stand(Stage.LOADING, 0, 100.0)

    assert 9 <= watched.looks <= 11


@pytest.mark.parametrize("pid", [7, 9])
def test_a_stopped_process_is_told_from_a_hang(pid: int) -> None:
    """Whichever it is: child, or worker of it."""
    family = [process(7), process(9)]
    stopped = [replace(item, state="T") if item.pid == pid else item for item in family]
    watched = Watched(Patience(stall_s=300.0), *stopped)

    found = watched.give_up(Stage.READING, 12)

    assert isinstance(found, ChildStopped)
    assert found.process.pid == pid
    assert subject.STOPPED_S <= found.seconds <= subject.STOPPED_S + 2.0
    assert found.told("the trial's process", "examples") == (
        "the trial's process was stopped by a signal (SIGSTOP) while reading, after "
        f"12 examples, and did not go on for {found.seconds:.0f} s"
    )


def test_a_process_that_goes_on_again_is_no_matter() -> None:
    """A pause by hand; what is seen stopped later begins anew."""
    watched = Watched(Patience(stall_s=300.0), process(7, "T"))
    watched.stand(Stage.LOADING, 0, 4.0)
    watched.processes = (process(7),)
    watched.stand(Stage.LOADING, 0, 4.0)
    watched.processes = (process(7, "T"),)

    watched.stand(Stage.LOADING, 0, 4.0)
    watched.stand(Stage.LOADING, 1, 4.0)


def test_a_process_that_is_traced_is_waited_for() -> None:
    """A debugger holds it; the limit of a hang is the same as ever."""
    watched = Watched(Patience(stall_s=30.0), process(7, "t"))

    assert type(watched.give_up(Stage.LOADING, 0)) is ChildHung


def test_a_hang_that_is_short_of_a_pause_is_told_as_a_stop_too() -> None:
    """`--hang-after 4s` is over before a stopped process is waited for in vain."""
    watched = Watched(Patience(stall_s=4.0), process(7, "T"))

    found = watched.give_up(Stage.LOADING, 0)

    assert isinstance(found, ChildStopped)
    assert found.seconds <= 5.0


def test_time_in_which_all_was_paused_does_not_count() -> None:
    """The machine slept, or a scheduler had stopped the whole job."""
    watched = Watched(Patience(stall_s=30.0), process(7))
    watched.stand(Stage.LOADING, 5, 10.0)
    watched.now_s += 3_600.0

    watched.stand(Stage.LOADING, 5, 15.0)

    assert watched.give_up(Stage.LOADING, 5).seconds >= 30.0


def test_examples_tell_how_long_the_next_may_take() -> None:
    """Before the first, and in other stages, the longest time stands."""
    watched = Watched(Patience(stall_s=300.0, has_pace=True), process(7))
    watched.stand(Stage.IMPORTING, 0, 200.0)
    watched.stand(Stage.READING, 0, 5.0)
    watched.stand(Stage.READING, 1, 0.2)
    watched.stand(Stage.READING, 2, 90.0)
    watched.stand(Stage.READING, 3, 0.2)

    slow = watched.give_up(Stage.READING, 4)
    watched.stand(Stage.READING_AGAIN, 0, 0.2)
    fast = watched.give_up(Stage.READING_AGAIN, 1)
    writing = watched.give_up(Stage.WRITING, 1)

    assert 300.0 <= slow.seconds <= 301.0  # 20 times 90 s is longer
    assert 60.0 <= fast.seconds <= 61.0
    assert 300.0 <= writing.seconds <= 301.0


def busy(watched: Watched) -> Callable[[], None]:
    """Let a worker take a tenth of a CPU, and be asleep at each look."""

    def work() -> None:
        cpu_s = 0.1 * (watched.now_s - 100.0)
        watched.processes = (process(7), process(9, cpu_s=cpu_s))

    return work


def stand_at_work(watched: Watched, stage: Stage, seconds: float) -> None:
    """Look for so long at workers that are at work, and deliver nothing."""
    work, until_s = busy(watched), watched.now_s + seconds
    while watched.now_s < until_s:
        work()
        watched.stand(stage, 0, TICK_S)


def test_workers_that_are_still_starting_are_not_hung() -> None:
    """A loaded machine takes long over the imports of a new interpreter."""
    watched = Watched(Patience(stall_s=6.0, starts_afresh=True), process(7))
    stand_at_work(watched, Stage.STARTING_WORKERS, 40.0)
    watched.processes = (process(7), process(9, cpu_s=50.0))

    hang = watched.give_up(Stage.STARTING_WORKERS, 0)

    assert 44.0 <= hang.seconds <= 50.0


def test_workers_that_start_for_ever_are_given_up() -> None:
    """One that computes for nothing is at work too."""
    watched = Watched(Patience(stall_s=6.0, starts_afresh=True), process(7))

    with pytest.raises(ChildHung) as found:
        stand_at_work(watched, Stage.STARTING_WORKERS, 1_000.0)

    limit_s = 6.0 + subject.STARTING_S
    assert limit_s <= found.value.seconds <= limit_s + 2.0


@pytest.mark.parametrize(
    ("stage", "starts_afresh"),
    [(Stage.STARTING_WORKERS, False), (Stage.LOADING, True)],
)
def test_work_is_no_progress_of_workers_that_are_there(
    stage: Stage, starts_afresh: bool
) -> None:
    """A forked one is there at once, and after a first batch so are the others."""
    watched = Watched(Patience(stall_s=6.0, starts_afresh=starts_afresh), process(7))

    with pytest.raises(ChildHung) as found:
        stand_at_work(watched, stage, 1_000.0)

    assert found.value.seconds <= 7.0


def test_a_worker_that_waits_for_a_cpu_is_at_work() -> None:
    """On a machine so loaded that it gets none."""
    patience = Patience(stall_s=6.0, starts_afresh=True)
    watched = Watched(patience, process(7), process(9, "R"))

    watched.stand(Stage.STARTING_WORKERS, 0, 40.0)


def test_patience_follows_what_a_batch_takes() -> None:
    """Twenty batches' worth of reading, thirty seconds at least, or what is asked."""
    slow = replace(some_facts(), example_s=0.5, start_method="fork")
    config = LoaderConfig.canonical(num_workers=2, batch_size=8)

    by_pace = patience_with(config, slow, hang_after_s=None)
    least = patience_with(config, replace(slow, example_s=0.0), hang_after_s=None)
    asked = patience_with(config, replace(slow, start_method="spawn"), hang_after_s=6.0)
    alone = patience_with(
        LoaderConfig.canonical(num_workers=0, batch_size=8),
        replace(slow, start_method="spawn"),
        hang_after_s=None,
    )

    assert by_pace == Patience(stall_s=20 * 0.5 * 8 * 2)
    assert least == Patience(stall_s=30.0)
    assert asked == Patience(stall_s=6.0, starts_afresh=True)
    assert alone == Patience(stall_s=20 * 0.5 * 8)

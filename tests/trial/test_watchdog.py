"""Whether a child gets on is judged by what is seen of it, and never by the machine."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from autoloader.child.stages import Stage
from autoloader.measure.proc import ProcessStat
from autoloader.trial import watchdog as subject
from autoloader.trial.watchdog import (
    STEP_STALL_S,
    ChildHung,
    ChildStopped,
    Patience,
    Watchdog,
    is_ours,
    patience_with,
    patience_with_reading,
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
        self.dog = Watchdog(
            7,
            patience,
            family=self._family,
            is_ours=lambda item: item.name == "python",
            clock=lambda: self.now_s,
        )

    def _family(self, pid: int) -> tuple[ProcessStat, ...]:
        assert pid == 7
        self.looks += 1
        self.now_s += self.look_s
        return self.processes

    def stand(self, stage: Stage, done: int, seconds: float, *, turn: int = 0) -> None:
        """Look for so long at a child that stands there."""
        until_s = self.now_s + seconds
        while self.now_s < until_s:
            self.dog.look(stage, done, turn)
            self.now_s += TICK_S

    def give_up(self, stage: Stage, done: int) -> ChildHung:
        """Look at a child that stands there until it is given up."""
        with pytest.raises(ChildHung) as found:
            self.stand(stage, done, 10_000.0)
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


def test_the_same_batch_of_the_next_epoch_is_progress() -> None:
    """Where both wait at it, all batches between went by from one look to the next."""
    watched = Watched(Patience(stall_s=6.0))

    watched.stand(Stage.LOADING, 9, 4.0, turn=1)
    watched.stand(Stage.LOADING, 9, 4.0, turn=2)

    with pytest.raises(ChildHung):
        watched.stand(Stage.LOADING, 9, 4.0, turn=2)


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
    assert subject.STOPPED_S <= found.seconds <= subject.STOPPED_S + 1.2
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


def test_a_stop_is_told_by_its_own_length() -> None:
    """What came before it was no stop."""
    watched = Watched(Patience(stall_s=300.0), process(7))
    watched.stand(Stage.LOADING, 0, 60.0)
    watched.processes = (process(7, "T"),)

    found = watched.give_up(Stage.LOADING, 0)

    assert isinstance(found, ChildStopped)
    assert subject.STOPPED_S <= found.seconds <= subject.STOPPED_S + 1.2


def test_a_process_that_is_held_back_is_not_stopped() -> None:
    """`cpulimit` stops and continues it ten times a second: it uses the CPU."""
    watched = Watched(Patience(stall_s=30.0), process(7, "T"))
    for step in range(100):
        watched.processes = (process(7, "T", cpu_s=0.1 * step),)
        watched.stand(Stage.LOADING, 0, TICK_S)

    watched.stand(Stage.LOADING, 1, 2.0)


def test_stops_of_several_processes_are_not_added_up() -> None:
    """At each look another one is stopped, or one with a number that was free."""
    watched = Watched(Patience(stall_s=30.0))
    for step in range(14):
        other = process(10 + step % 2, "T")
        watched.processes = (process(7), replace(other, start_ticks=step // 2))
        watched.stand(Stage.LOADING, 0, 2.0)

    assert type(watched.give_up(Stage.LOADING, 0)) is ChildStopped


def test_a_program_that_the_dataset_pauses_is_its_own_affair() -> None:
    """An `ffmpeg` that is held until its frames are wanted."""
    paused = replace(process(9, "T"), name="ffmpeg")
    watched = Watched(Patience(stall_s=30.0), process(7), paused)

    hang = watched.give_up(Stage.LOADING, 0)

    assert type(hang) is ChildHung
    assert hang.seconds >= 30.0


def test_a_stop_may_last_as_long_as_a_hang_that_the_user_names() -> None:
    """`--hang-after 10m` says that pauses of minutes are usual here."""
    config = LoaderConfig.canonical(num_workers=2, batch_size=8)
    patience = patience_with(config, some_facts(), hang_after_s=600.0)
    watched = Watched(patience, process(7, "T"))

    found = watched.give_up(Stage.LOADING, 0)

    assert isinstance(found, ChildStopped)
    assert 595.0 <= found.seconds <= 602.0


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


def test_a_stop_that_is_seen_late_is_looked_at_twice() -> None:
    """On a machine where looks are rare, the first may come with the limit."""
    watched = Watched(Patience(stall_s=4.0), process(7))
    watched.look_s = 0.2
    watched.stand(Stage.LOADING, 0, 2.0)
    watched.stand(Stage.LOADING, 1, 0.2)
    watched.processes = (process(7, "T"),)

    assert isinstance(watched.give_up(Stage.LOADING, 1), ChildStopped)


def test_time_in_which_all_was_paused_does_not_count() -> None:
    """The machine slept, or a scheduler had stopped the whole job."""
    watched = Watched(Patience(stall_s=30.0), process(7))
    watched.stand(Stage.LOADING, 5, 10.0)
    watched.now_s += 3_600.0

    watched.stand(Stage.LOADING, 5, 15.0)

    assert watched.give_up(Stage.LOADING, 5).seconds >= 30.0


def test_examples_tell_how_long_the_next_may_take() -> None:
    """Whatever came before: what is fast for long may have to fetch a file once."""
    watched = Watched(Patience(stall_s=300.0, has_pace=True), process(7))
    watched.stand(Stage.IMPORTING, 0, 200.0)
    for done in range(500):
        watched.stand(Stage.READING, done, 0.2)

    fast = watched.give_up(Stage.READING, 500)
    watched.stand(Stage.READING, 501, 0.2)
    watched.stand(Stage.READING, 502, 90.0)
    watched.stand(Stage.READING_AGAIN, 0, 0.2)
    watched.stand(Stage.READING, 0, 0.2)
    slow = watched.give_up(Stage.READING, 1)
    writing = watched.give_up(Stage.WRITING, 1)

    assert 300.0 <= fast.seconds <= 301.0
    wait_s = subject.PACES * fast.seconds  # the longest one, two stages ago
    assert wait_s <= slow.seconds <= wait_s + 5.0
    assert 300.0 <= writing.seconds <= 301.0


def test_what_the_user_says_of_a_hang_holds_for_the_reference() -> None:
    """Less for what comes between examples, more for imports too."""
    short = patience_with_reading(usual_s=300.0, hang_after_s=6.0)
    long = patience_with_reading(usual_s=300.0, hang_after_s=900.0)

    impatient, patient = Watched(short, process(7)), Watched(long, process(7))
    impatient.stand(Stage.IMPORTING, 0, 200.0)
    impatient.stand(Stage.READING, 0, 200.0)
    early = impatient.give_up(Stage.READING, 1)
    patient.stand(Stage.IMPORTING, 0, 800.0)
    late = patient.give_up(Stage.READING, 1)

    assert 6.0 <= early.seconds <= 7.0
    assert 900.0 <= late.seconds <= 901.0
    assert patience_with_reading(usual_s=300.0, hang_after_s=None) == Patience(
        stall_s=300.0, has_pace=True
    )


def busy(watched: Watched) -> Callable[[], None]:
    """Let a worker take a tenth of a CPU, and be asleep at each look."""

    def work() -> None:
        cpu_s = 0.1 * (watched.now_s - 100.0)
        watched.processes = (process(7), process(9, cpu_s=cpu_s))

    return work


def stand_at_work(
    watched: Watched, stage: Stage, seconds: float, done: int = 0
) -> None:
    """Look for so long at workers that are at work, and deliver nothing."""
    work, until_s = busy(watched), watched.now_s + seconds
    while watched.now_s < until_s:
        work()
        watched.stand(stage, done, TICK_S)


def test_workers_that_are_still_starting_are_not_hung() -> None:
    """A loaded machine takes long over the imports of a new interpreter."""
    watched = Watched(Patience(stall_s=6.0, starting_s=60.0), process(7))
    stand_at_work(watched, Stage.STARTING_WORKERS, 40.0)
    watched.processes = (process(7), process(9, cpu_s=50.0))

    hang = watched.give_up(Stage.STARTING_WORKERS, 0)

    assert 44.0 <= hang.seconds <= 50.0


def test_workers_that_start_for_ever_are_given_up() -> None:
    """One that computes for nothing is at work too."""
    watched = Watched(Patience(stall_s=6.0, starting_s=60.0), process(7))

    with pytest.raises(ChildHung) as found:
        stand_at_work(watched, Stage.STARTING_WORKERS, 1_000.0)

    limit_s = 6.0 + 60.0
    assert limit_s <= found.value.seconds <= limit_s + 2.0


def test_workers_that_are_yet_to_fill_the_queue_are_not_hung() -> None:
    """The first batch is there before the last worker has come up: two have, here."""
    watched = Watched(Patience(stall_s=6.0, starting_s=60.0), process(7))

    stand_at_work(watched, Stage.FILLING_QUEUE, 40.0, done=2)

    watched.processes = (process(7), process(9, cpu_s=50.0))
    hang = watched.give_up(Stage.FILLING_QUEUE, 2)
    assert 44.0 <= hang.seconds <= 50.0


@pytest.mark.parametrize(
    ("stage", "done", "starting_s"),
    [
        (Stage.STARTING_WORKERS, 0, 0.0),
        (Stage.FILLING_QUEUE, 1, 0.0),
        (Stage.LOADING, 1, 60.0),
    ],
)
def test_work_is_no_progress_of_workers_that_are_there(
    stage: Stage, done: int, starting_s: float
) -> None:
    """A forked one is there at once, and after a first batch so are the others."""
    watched = Watched(Patience(stall_s=6.0, starting_s=starting_s), process(7))

    with pytest.raises(ChildHung) as found:
        stand_at_work(watched, stage, 1_000.0, done)

    assert found.value.seconds <= 7.0


def test_workers_that_a_timed_pass_starts_are_not_hung() -> None:
    """Those that are not kept begin with its first batch, after it says that it loads.

    It tells nothing else: nothing of ours may run between two batches.
    """
    watched = Watched(Patience(stall_s=6.0, starting_s=60.0), process(7))

    stand_at_work(watched, Stage.LOADING, 40.0)


def test_the_look_at_the_limit_counts_as_well() -> None:
    """Rare as looks are, what was at work until then is excused before it is judged."""
    watched = Watched(Patience(stall_s=6.0, starting_s=60.0), process(7))
    watched.look_s = 0.2  # the next look is ten seconds later

    stand_at_work(watched, Stage.STARTING_WORKERS, 30.0)

    assert watched.looks <= 4


@pytest.mark.parametrize("state", ["R", "D"])
def test_a_worker_that_waits_for_cpu_or_disk_is_at_work(state: str) -> None:
    """On a machine so loaded that it gets none; its imports may lie on a server."""
    patience = Patience(stall_s=6.0, starting_s=60.0)
    watched = Watched(patience, process(7), process(9, state))

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
    assert asked == Patience(stall_s=6.0, stopped_s=6.0, starting_s=60.0 + 2 * 10.0)
    assert alone == Patience(stall_s=20 * 0.5 * 8)


OWN = ["python", "-m", "autoloader.child", "host", "3", "4"]
AFRESH = ["python", "-c", "begin()\nfrom multiprocessing.spawn import spawn_main"]


@pytest.mark.parametrize(
    ("command", "ours"),
    [(OWN, True), (AFRESH, True), (["python", "helper.py"], False)],
)
def test_ours_is_known_by_the_command(
    command: list[str], ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Python program that the dataset runs is none of ours."""
    words = b"\0".join(word.encode() for word in command) + b"\0"
    monkeypatch.setattr(Path, "read_bytes", lambda path: words)

    assert is_ours(process(9)) is ours


def test_what_has_ended_is_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its command is gone by then."""

    def refuse(_path: Path) -> bytes:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_bytes", refuse)

    assert not is_ours(process(9))


def test_a_step_has_more_patience_unless_the_user_says_so() -> None:
    """It may compile its model at its first batch."""
    config = LoaderConfig.canonical(num_workers=0, batch_size=8)

    usual = patience_with(config, some_facts(), hang_after_s=None, least_s=STEP_STALL_S)
    said = patience_with(config, some_facts(), hang_after_s=6.0, least_s=STEP_STALL_S)

    assert (usual.stall_s, said.stall_s) == (STEP_STALL_S, 6.0)

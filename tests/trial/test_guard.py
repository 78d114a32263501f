"""The budget holds while a pass runs: cheap looks first, the pass itself at need."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from autoloader.errors import UsageError
from autoloader.trial.guard import (
    MemoryGuard,
    kernel_kills,
    memory_left_now,
    named_by_kernel,
)
from autoloader.values.outcome import Failure, Status

BUDGET = 1000
HOST_PID, TRIAL_PID = 6, 7


@dataclass
class FakeMachine:
    """A machine and a pass on it; `looks` are the weighings that were made."""

    left: tuple[int, ...] = (10_000,)
    takes: int = 100
    now: float = 0.0
    cost_s: float = 0.0
    looks: list[tuple[int, int | None]] = field(default_factory=list)

    def weigh(self, trial: int, host: int | None) -> int:
        """Return what the pass takes, after the time that this takes."""
        self.looks.append((trial, host))
        self.now += self.cost_s
        return self.takes

    def guard(self, budget: int | None = BUDGET) -> MemoryGuard:
        """Return a guard of a trial that has been forked."""
        made = MemoryGuard(
            budget,
            host_pid=HOST_PID,
            left=lambda: self.left,
            weigh=self.weigh,
            clock=lambda: self.now,
        )
        made.trial_pid = TRIAL_PID
        self.looks.clear()
        return made


def test_while_the_machine_has_enough_left_the_pass_is_left_alone() -> None:
    """A timed pass must not be disturbed: the host's 100 and 600 more are no alarm."""
    machine = FakeMachine()
    guard = machine.guard()
    machine.left = (9_400,)

    assert guard.over() is None
    assert machine.looks == []


def test_what_others_take_ends_no_pass() -> None:
    """It is weighed itself before it is ended."""
    machine = FakeMachine()
    guard = machine.guard()
    machine.left = (1_000,)

    assert guard.over() is None
    assert machine.looks == [(TRIAL_PID, HOST_PID)]


def test_a_pass_over_its_budget_is_told() -> None:
    """With the bytes that it took."""
    machine = FakeMachine()
    guard = machine.guard()
    machine.left, machine.takes = (8_000,), 1_001

    assert guard.over() == 1_001


def test_a_pass_at_its_budget_goes_on() -> None:
    """A budget is what may be used."""
    machine = FakeMachine()
    guard = machine.guard()
    machine.left, machine.takes = (9_000,), BUDGET

    assert guard.over() is None


def test_a_host_that_is_over_the_budget_alone_is_told() -> None:
    """Nothing more is taken, and it is too much all the same."""
    machine = FakeMachine(takes=2_000)

    assert machine.guard().over() == 2_000


def test_a_pass_in_the_hosts_own_process_is_weighed_alone() -> None:
    """Trial and host are one; it is so, too, before a trial has started."""
    machine = FakeMachine()
    guard = machine.guard()
    machine.left = (1_000,)
    guard.trial_pid = HOST_PID

    guard.over()

    assert machine.looks == [(HOST_PID, None)]


def test_the_limit_of_a_group_alarms_as_well() -> None:
    """A container may be full while the machine is not."""
    machine = FakeMachine(left=(10_000, 1_500))
    guard = machine.guard()
    machine.left, machine.takes = (10_000, 500), 1_200

    assert guard.over() == 1_200


def test_the_pass_is_not_weighed_all_the_time() -> None:
    """Twice a second, and never for more than a fiftieth of the time."""
    machine = FakeMachine(cost_s=0.02)
    guard = machine.guard()
    machine.left = (9_150,)

    looks = []
    for tick in range(30):
        machine.now = 1 + 0.1 * tick
        guard.over()
        looks.append(len(machine.looks))

    assert looks[0] == 1
    assert looks[-1] == 3  # after 0.02 and 50 times that, each


def test_a_pass_that_grows_fast_is_weighed_at_once() -> None:
    """In half a second, workers can take gigabytes."""
    machine = FakeMachine()
    guard = machine.guard()
    machine.left = (9_250,)

    first = guard.over()
    machine.left, machine.takes = (9_140,), 1_200

    assert first is None
    assert guard.over() == 1_200


def test_without_a_budget_nothing_is_read() -> None:
    """Neither machine nor pass."""
    machine = FakeMachine(takes=10**9)

    guard = machine.guard(None)

    assert guard.over() is None
    assert machine.looks == []


def test_a_system_that_does_not_tell_gives_no_alarm() -> None:
    """There is no `/proc`; the budget holds for what is weighed afterwards."""
    machine = FakeMachine(left=())

    assert machine.guard().over() is None
    assert memory_left_now(Path("/nowhere")) == ()


def test_the_failure_says_what_was_taken(tmp_path: Path) -> None:
    """And names the pass that it ended."""
    guard = FakeMachine().guard(2**30)

    failure = guard.failure(int(1.2 * 2**30), phase="gate", logs=tmp_path)

    assert failure.status is Status.OUT_OF_MEMORY
    assert failure.phase == "gate"
    assert failure.message == (
        "it took 1.2 GiB when it was ended; the budget is 1.0 GiB"
    )
    assert failure.hint == "raise --memory, or allow fewer workers"


def test_a_pass_that_hides_what_it_takes_is_a_failure_of_its_own(
    tmp_path: Path,
) -> None:
    """The study goes on with others: it was shown when the pass began."""
    exc = UsageError("the memory of process 7 cannot be read", hint="of the system")

    failure = MemoryGuard.unread(exc, phase="timed", logs=tmp_path)

    assert (failure.status, failure.phase) == (Status.CRASHED, "timed")
    assert failure.message == "the memory of process 7 cannot be read"
    assert failure.hint == (
        "it was shown when the pass began: what the dataset runs hid it since"
    )
    assert failure.log == str(tmp_path)


MEMINFO = "MemTotal: 1000 kB\nMemFree: 10 kB\nMemAvailable: 400 kB\n"


def files(root: Path, texts: dict[str, str]) -> Path:
    """Return a root with these files."""
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


V2 = {
    "proc/meminfo": MEMINFO,
    "proc/self/cgroup": "0::/\n",
    "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    "sys/fs/cgroup/memory.stat": "anon 100000\nshmem 20000\nfile 500000\nkernel 0\n",
    "sys/fs/cgroup/memory.events": "oom 3\noom_kill 2\n",
}


def test_what_is_left_is_read_of_machine_and_group(tmp_path: Path) -> None:
    """Page cache can be had back, and counts as left."""
    limited = {**V2, "sys/fs/cgroup/memory.max": "200000\n"}

    assert memory_left_now(files(tmp_path, limited)) == (400 * 1024, 80_000)


def test_a_group_without_a_limit_is_not_looked_at(tmp_path: Path) -> None:
    """The machine's own memory is the limit."""
    assert memory_left_now(files(tmp_path, V2)) == (400 * 1024,)


def test_kills_are_counted_by_group_or_machine(tmp_path: Path) -> None:
    """What the kernel does not count by group, it counts for all of the machine."""
    whole = {"proc/vmstat": "pgfault 12\noom_kill 5\n"}

    assert kernel_kills(files(tmp_path / "group", {**V2, **whole})) == 2
    assert kernel_kills(files(tmp_path / "machine", whole)) == 5
    assert kernel_kills(tmp_path / "nothing") is None


KILLED = Failure(
    kind="crashed",
    phase="gate",
    message="a worker was killed by SIGKILL",
    signal="SIGKILL",
    log="logs",
)


@pytest.mark.parametrize(("now", "told"), [(4, "1 process"), (6, "3 processes")])
def test_a_kill_that_the_kernel_counted_is_out_of_memory(now: int, told: str) -> None:
    """A signal alone could be anybody's."""
    failure = named_by_kernel(KILLED, before=3, now=now)

    assert failure.status is Status.OUT_OF_MEMORY
    assert failure.message == (
        f"a worker was killed by SIGKILL; the kernel killed {told} for want of memory "
        "meanwhile"
    )
    assert failure.hint == "fewer workers, a smaller queue, or a higher limit of memory"
    assert failure.log == "logs"


@pytest.mark.parametrize(
    ("signal", "before", "now"),
    [
        ("SIGKILL", 3, 3),
        ("SIGKILL", None, 3),
        ("SIGKILL", 3, None),
        ("SIGSEGV", 3, 4),
        (None, 3, 4),
    ],
)
def test_other_deaths_stay_what_they_are(
    signal: str | None, before: int | None, now: int | None
) -> None:
    """Killed by somebody else, by another signal, or not killed at all."""
    failure = Failure(kind="crashed", phase="gate", message="died", signal=signal)

    assert named_by_kernel(failure, before=before, now=now) is failure

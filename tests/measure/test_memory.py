"""A trial is weighed with its host and its workers, each page once."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from autoloader.errors import UsageError
from autoloader.measure.memory import MemoryMeter, ProcessSet, parse_set, process_set

pytestmark = pytest.mark.alone  # what others run moves what is weighed


MIB = 1 << 20
KIB = 1 << 10
HOST, TRIAL, WORKER, ORPHAN, OTHER = 5, 6, 7, 8, 9

linux_only = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc"
)

ROLLUP = """\
55b6865a5000-7fff3f43a000 ---p 00000000 00:00 0                          [rollup]
Rss:              176000 kB
Pss:               58500 kB
Pss_Dirty:         11200 kB
Pss_Anon:          11000 kB
Pss_File:          40000 kB
Pss_Shmem:          7500 kB
Private_Clean:     10000 kB
Private_Dirty:      1200 kB
SwapPss:               7 kB
"""


def test_mapped_files_are_no_part_of_what_is_taken() -> None:
    """The kernel drops them before memory runs out, and others share them."""
    assert parse_set(ROLLUP) == ProcessSet(
        pss_bytes=18_500 * KIB, private_bytes=1200 * KIB, resident_bytes=176_000 * KIB
    )


def test_an_old_kernel_does_not_tell_files_apart() -> None:
    """Before Linux 5.3 they are in the sum."""
    old = "\n".join(line for line in ROLLUP.splitlines() if "Pss_" not in line)

    found = parse_set(f"{old}\n")

    assert found is not None
    assert found.pss_bytes == 58_500 * KIB


def test_an_ended_process_has_no_set(tmp_path: Path) -> None:
    """Its files in /proc are empty, or gone; it may not be reaped yet."""
    process(tmp_path, OTHER, parent=1, session=OTHER, pss=1)
    process(tmp_path, WORKER, parent=1, session=OTHER, pss=1, state="Z")
    (tmp_path / f"proc/{WORKER}/smaps_rollup").write_text("")

    assert parse_set("") is None
    assert process_set(TRIAL, tmp_path) is None
    assert process_set(WORKER, tmp_path) is None


def test_sets_are_summed_over_mappings_on_old_kernels(tmp_path: Path) -> None:
    """`smaps` says the same as `smaps_rollup`, one mapping at a time."""
    folder = tmp_path / "proc/7"
    folder.mkdir(parents=True)
    (folder / "smaps").write_text("Rss: 8 kB\nPss: 4 kB\nRss: 2 kB\nPss: 1 kB\n")

    found = process_set(7, tmp_path)

    assert found == ProcessSet(
        pss_bytes=5 * KIB, private_bytes=0, resident_bytes=10 * KIB
    )


def process(
    root: Path,
    pid: int,
    *,
    parent: int,
    session: int,
    pss: int,
    private: int = 0,
    state: str = "S",
) -> None:
    """Make a process with so many MiB in its set, 100 MiB of files beside them."""
    folder = root / "proc" / str(pid)
    (folder / "fd").mkdir(parents=True)
    numbers = " ".join("0" for _ in range(20))
    (folder / "stat").write_text(
        f"{pid} (python) {state} {parent} 1 {session} {numbers}\n"
    )
    (folder / "smaps_rollup").write_text(
        f"Rss: {300 * KIB} kB\nPss: {(pss + 100) * KIB} kB\n"
        f"Pss_File: {100 * KIB} kB\nPrivate_Dirty: {private * KIB} kB\n"
    )
    (folder / "maps").write_text("")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give a host, its trial, a worker, another whose parent has ended, a stranger."""
    process(tmp_path, HOST, parent=1, session=HOST, pss=200, private=30)
    process(tmp_path, TRIAL, parent=HOST, session=TRIAL, pss=210)
    process(tmp_path, WORKER, parent=TRIAL, session=TRIAL, pss=50)
    process(tmp_path, ORPHAN, parent=1, session=TRIAL, pss=40)
    process(tmp_path, OTHER, parent=1, session=OTHER, pss=1000)
    return tmp_path


def test_a_forked_trial_is_weighed_with_its_host(root: Path) -> None:
    """Less what only the host has; orphans count, strangers do not."""
    weight = MemoryMeter(trial_pid=TRIAL, host_pid=HOST, root=root).weigh()

    assert weight.total_bytes == (200 - 30 + 210 + 50 + 40) * MIB
    assert weight.queued_bytes == 0
    assert weight.resident_bytes == 4 * 300 * MIB


def test_a_trial_without_a_host_stands_alone(root: Path) -> None:
    """A fresh process shares nothing with anybody."""
    weight = MemoryMeter(trial_pid=TRIAL, host_pid=None, root=root).weigh()

    assert weight.total_bytes == (210 + 50 + 40) * MIB


def test_what_waits_in_shared_memory_is_added(root: Path) -> None:
    """A queued batch is in no process's set."""
    shm = root / "dev/shm"
    shm.mkdir(parents=True)
    (shm / "torch_7_1_0 (deleted)").write_bytes(b"\1" * (3 * MIB))
    (root / "proc/7/fd/3").symlink_to(shm / "torch_7_1_0 (deleted)")

    weight = MemoryMeter(trial_pid=TRIAL, host_pid=HOST, root=root).weigh()

    assert weight.queued_bytes == 3 * MIB
    assert weight.total_bytes == 473 * MIB


def test_a_host_that_shares_memory_with_its_trial_keeps_it(root: Path) -> None:
    """A tensor in shared memory that only the host has touched yet is the dataset."""
    shm = root / "dev/shm"
    shm.mkdir(parents=True)
    tensor = shm / "torch_5_1_0"
    tensor.write_bytes(b"\1" * (20 * MIB))
    info = tensor.stat()
    device = f"{os.major(info.st_dev):02x}:{os.minor(info.st_dev):02x}"
    mapping = (
        f"7f0000000000-7f0001400000 rw-s 00000000 {device} {info.st_ino}  {tensor}\n"
        f"Pss: {20 * KIB} kB\nPrivate_Dirty: {20 * KIB} kB\n"
    )
    for name in ("maps", "smaps"):
        (root / "proc" / str(HOST) / name).write_text(mapping)

    weight = MemoryMeter(trial_pid=TRIAL, host_pid=HOST, root=root).weigh()

    assert weight.total_bytes == (200 - 20 - 10 + 210 + 50 + 40 + 20) * MIB
    assert weight.queued_bytes == 0


def test_what_is_gone_weighs_nothing(tmp_path: Path) -> None:
    """A trial may end while it is looked at."""
    process(tmp_path, OTHER, parent=1, session=OTHER, pss=1)

    weight = MemoryMeter(trial_pid=TRIAL, host_pid=HOST, root=tmp_path).weigh()

    assert weight.total_bytes == weight.resident_bytes == 0


UNREADABLE = (
    "a Python with capabilities of its own (setcap), or a /proc that is not mounted or "
    "hides processes, keeps it: without it no memory can be told, and none be limited"
)


def test_a_process_that_is_not_shown_is_never_taken_for_nothing(root: Path) -> None:
    """A kernel that keeps no sets, say: a weight without it would be too small."""
    (root / f"proc/{TRIAL}/smaps_rollup").unlink()

    with pytest.raises(UsageError) as caught:
        MemoryMeter(trial_pid=TRIAL, host_pid=HOST, root=root).weigh()

    assert str(caught.value) == (
        f"the memory of process {TRIAL} cannot be read, {root}/proc/{TRIAL}/smaps: "
        "No such file or directory"
    )
    assert caught.value.hint == UNREADABLE


def test_where_no_process_is_shown_nothing_is_known(tmp_path: Path) -> None:
    """`/proc` is not mounted."""
    with pytest.raises(UsageError) as caught:
        MemoryMeter(trial_pid=TRIAL, host_pid=None, root=tmp_path).weigh()

    assert str(caught.value) == (
        f"the memory of process {TRIAL} cannot be read, {tmp_path}/proc/{TRIAL}/smaps: "
        "no process is shown there"
    )


@pytest.mark.parametrize("other", [0, 1])
def test_a_helper_that_is_not_shown_counts_as_what_it_has_resident(
    other: int, root: Path
) -> None:
    """A dataset may run a program with rights or secrets of its own.

    `sudo` is another user's, `ssh-agent` and `ping` are this one's: their status is for
    all.
    """
    folder = root / "proc" / str(ORPHAN)
    (folder / "smaps_rollup").unlink()
    user = os.geteuid() + other
    (folder / "status").write_text(
        f"Name:\tsudo\nUid:\t{os.getuid()}\t{user}\t{user}\t{user}\n"
        f"VmRSS:\t {30 * KIB} kB\nRssAnon:\t {7 * KIB} kB\nRssFile:\t {23 * KIB} kB\n"
    )

    weight = MemoryMeter(trial_pid=TRIAL, host_pid=HOST, root=root).weigh()

    assert weight.total_bytes == (200 - 30 + 210 + 50 + 7) * MIB
    assert weight.resident_bytes == (3 * 300 + 30) * MIB


NOT_FOR_OTHERS = """
import ctypes, os, signal, sys
sys.path.insert(0, sys.argv[1])
from autoloader.errors import UsageError
from autoloader.measure.memory import MemoryMeter
if os.getuid() == 0:  # root may read all
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    ctypes.CDLL(None).prctl(4, 1)
reading, writing = os.pipe()
pid = os.fork()
if pid == 0:
    ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE, as setcap has it
    taken = b"1" * (32 << 20)
    os.write(writing, b"x")
    signal.pause()
os.read(reading, 1)
print(pid)
try:
    host = pid if sys.argv[2] == "trial" else None
    print(MemoryMeter(trial_pid=os.getpid(), host_pid=host).weigh().total_bytes)
except UsageError as exc:
    print(exc)
os.kill(pid, 9)
os.waitpid(pid, 0)
"""
"""Forks a process that no other may look into, and weighs it with itself."""


@linux_only
@pytest.mark.parametrize("which", ["trial", "helper"])
def test_a_process_that_none_may_look_into_is_no_small_one(which: str) -> None:
    """The system refuses its set, and tells that it lives.

    A trial is not weighed without; a helper counts as what it has resident.
    """
    root = Path(__file__).parents[2]

    done = subprocess.run(
        [sys.executable, "-c", NOT_FOR_OTHERS, str(root), which],
        capture_output=True,
        text=True,
        check=True,
    )

    pid, said = done.stdout.splitlines()
    if which == "helper":
        assert int(said) > 32 * MIB
        return
    assert said == (
        f"the memory of process {pid} cannot be read, /proc/{pid}/smaps: "
        "Permission denied"
    )


@pytest.mark.parametrize(
    ("states", "at_rest"), [("SSS", True), ("SR", False), ("SD", False), ("", True)]
)
def test_a_worker_at_work_is_told_by_its_threads(
    states: str, at_rest: bool, root: Path
) -> None:
    """One that wants a CPU and gets none is at work as well."""
    for number, state in enumerate(states):
        task = root / "proc" / str(WORKER) / "task" / str(number)
        task.mkdir(parents=True)
        numbers = " ".join("0" for _ in range(20))
        (task / "stat").write_text(f"{number} (python) {state} 1 1 1 {numbers}\n")

    meter = MemoryMeter(trial_pid=TRIAL, host_pid=HOST, root=root)

    assert meter.is_at_rest() == at_rest


@linux_only
def test_this_process_is_weighed_with_what_it_takes() -> None:
    """In its heap, and in a file of shared memory that it only holds open."""
    meter = MemoryMeter(trial_pid=os.getpid(), host_pid=None)
    before = meter.weigh()
    heap = b"\1" * (64 * MIB)
    with tempfile.TemporaryFile(dir="/dev/shm") as file:
        file.write(b"\1" * (32 * MIB))
        file.flush()
        grown = meter.weigh()

    assert len(heap) == 64 * MIB
    taken = grown.total_bytes - before.total_bytes
    assert taken == pytest.approx(96 * MIB, rel=0.05)
    assert grown.queued_bytes - before.queued_bytes == 32 * MIB

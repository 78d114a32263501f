"""What is read in `/proc`, on captured text and on this very process."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from autoloader.measure import descriptors, proc
from autoloader.measure.descriptors import FileOffset
from autoloader.measure.proc import CpuTimes, ProcessMemory

linux_only = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="reads Linux's /proc"
)

MIB = 2**20

ROLLUP = """\
55b6865a5000-7fff3f43a000 ---p 00000000 00:00 0                          [rollup]
Rss:                1760 kB
Pss:                 585 kB
Pss_Dirty:           112 kB
Pss_Anon:            112 kB
Pss_File:            400 kB
Pss_Shmem:            73 kB
Shared_Clean:       1536 kB
Shared_Dirty:          0 kB
Private_Clean:       100 kB
Private_Dirty:        12 kB
Referenced:         1760 kB
Private_Hugetlb:       0 kB
SwapPss:               7 kB
"""

SMAPS = """\
5581e0000000-5581e0021000 r--p 00000000 fe:00 1234     /usr/bin/python3.11
Size:                132 kB
KernelPageSize:        4 kB
Rss:                 132 kB
Pss:                  66 kB
Shared_Clean:        132 kB
Private_Clean:         0 kB
Private_Dirty:         0 kB
THPeligible:    0
VmFlags: rd mr mw me dw sd
7f0000000000-7f0000100000 rw-s 00000000 00:18 77       /dev/shm/Pss: 99 kB (deleted)
Size:               1024 kB
Rss:                1024 kB
Pss:                 512 kB
Shared_Dirty:       1024 kB
Private_Clean:         4 kB
Private_Dirty:        20 kB
VmFlags: rd wr sh mr mw me ms sd
"""

CPU_LINES = """\
cpu  8599 1 1272 94230 297 20 95 7 300 4
cpu0 3792 0 614 47597 208 0 37 4 0 0
intr 12345 0 0
ctxt 99
"""

TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid timeout
   0: 00000000:07E8 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 1594 1
   1: 0100007F:07E8 0100007F:A1B2 01 00000000:00000000 00:00000000 00000000 0 0 2001 1
   2: 0100007F:A1B2 0100007F:07E8 06 00000000:00000000 03:00001770 00000000 0 0 0 3
"""

UNIX = """\
Num       RefCount Protocol Flags    Type St Inode Path
000000001d89d40c: 00000003 00000000 00000000 0001 03  1591
000000001d89d40d: 00000002 00000000 00010000 0001 01  1592 /run/a listening socket
000000001d89d40e: 00000003 00000000 00000000 0001 03  1593 @hidden
"""


def stat_line(pid: int, name: str, parent: int = 1, session: int = 1) -> str:
    """Return a line of `/proc/<pid>/stat` as a kernel writes it."""
    return (
        f"{pid} ({name}) S {parent} {pid} {session} 0 -1 4194304 102 0 0 0 250 50 7 8 "
        "20 0 3 0 52304 3133440 412 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 "
        "0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    )


def plant(root: Path, files: Mapping[str, str]) -> Path:
    """Write a captured tree below `root`."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def plant_descriptor(
    root: Path, number: int, target: str, flags: str = "0100000", position: int = 0
) -> None:
    """Write a descriptor of process 7 below `root`."""
    folder = root / "proc/7/fd"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / str(number)).symlink_to(target)
    info = f"pos:\t{position}\nflags:\t{flags}\nmnt_id:\t27\nino:\t739\n"
    plant(root, {f"proc/7/fdinfo/{number}": info})


@pytest.fixture
def waiting_child() -> Iterator[subprocess.Popen[bytes]]:
    """Yield a child that leads a session, has said so and waits to be told to end."""
    program = "import sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        assert child.stdout
        child.stdout.readline()
        yield child


def test_the_rollup_gives_the_parts_of_memory() -> None:
    """Private memory is clean and dirty together."""
    memory = proc.parse_smaps(ROLLUP)

    assert memory == ProcessMemory(
        pss_bytes=585 * 1024,
        pss_anon_bytes=112 * 1024,
        pss_file_bytes=400 * 1024,
        pss_shmem_bytes=73 * 1024,
        private_bytes=112 * 1024,
    )


def test_without_a_rollup_the_mappings_are_summed(tmp_path: Path) -> None:
    """The parts are not told then, and a file's name is not taken for a number."""
    root = plant(tmp_path, {"proc/7/smaps": SMAPS})

    memory = proc.process_memory(7, root)

    assert memory == ProcessMemory(
        pss_bytes=578 * 1024,
        pss_anon_bytes=None,
        pss_file_bytes=None,
        pss_shmem_bytes=None,
        private_bytes=24 * 1024,
    )


def test_an_ended_process_has_no_memory(tmp_path: Path) -> None:
    """A process that is gone has no files, one that is not reaped has empty ones."""
    root = plant(tmp_path, {"proc/7/smaps_rollup": "", "proc/7/smaps": ""})

    assert proc.process_memory(7, root) is None
    assert proc.process_memory(8, root) is None


@linux_only
def test_memory_of_this_process_grows_with_what_it_writes() -> None:
    """Pages count once they are written."""
    before = proc.process_memory(os.getpid())
    written = b"\1" * (64 * MIB)
    after = proc.process_memory(os.getpid())

    assert before
    assert after
    assert after.pss_bytes - before.pss_bytes > 60 * MIB
    assert after.private_bytes - before.private_bytes > 60 * MIB
    assert len(written) == 64 * MIB


@linux_only
def test_an_unreaped_child_has_a_state_but_no_memory(
    waiting_child: subprocess.Popen[bytes],
) -> None:
    """It is told apart from a live process and from one that is gone."""
    waiting_child.kill()
    os.waitid(os.P_PID, waiting_child.pid, os.WEXITED | os.WNOWAIT)

    ended = proc.process_stat(waiting_child.pid)

    assert ended
    assert ended.state == "Z"
    assert proc.process_memory(waiting_child.pid) is None


@linux_only
def test_a_reaped_child_is_gone(waiting_child: subprocess.Popen[bytes]) -> None:
    """Every reader says so instead of failing."""
    waiting_child.kill()
    waiting_child.wait()
    pid = waiting_child.pid

    assert proc.process_memory(pid) is None
    assert proc.process_stat(pid) is None
    assert proc.thread_count(pid) is None
    assert descriptors.readable_offsets(pid) is None
    assert descriptors.connected_sockets(pid) is None


@pytest.mark.parametrize(
    "name", ["python", "a b", "(sd-pam)", ") R 1 2 3 (", "tmux: server", "x\ny) S 0"]
)
def test_no_name_of_a_process_confuses_the_parser(name: str) -> None:
    """Spaces, parentheses and line ends in a name belong to the name."""
    found = proc.parse_stat(stat_line(42, name, parent=7, session=9), ticks_per_s=100)

    assert (found.pid, found.name, found.state) == (42, name, "S")
    assert (found.parent_pid, found.group_id, found.session_id) == (7, 42, 9)
    assert (found.user_s, found.system_s) == (2.5, 0.5)
    assert (found.threads, found.start_ticks) == (3, 52304)


def test_a_name_that_is_no_text_is_read(tmp_path: Path) -> None:
    """A name may be any bytes but zero."""
    path = tmp_path / "proc/42/stat"
    path.parent.mkdir(parents=True)
    path.write_bytes(stat_line(42, "?").encode().replace(b"?", b"\xff\xfe"))

    found = proc.process_stat(42, tmp_path)

    assert found
    assert found.pid == 42


@linux_only
def test_this_process_is_what_the_system_says() -> None:
    """The parsed numbers are those of the system calls."""
    found = proc.process_stat(os.getpid())

    assert found
    assert found.pid == os.getpid()
    assert found.parent_pid == os.getppid()
    assert found.group_id == os.getpgrp()
    assert found.session_id == os.getsid(0)
    assert found.user_s + found.system_s > 0
    assert found.start_ticks > 0


@linux_only
def test_a_thread_more_is_counted() -> None:
    """The count follows what the process starts."""
    may_end = threading.Event()
    before = proc.thread_count(os.getpid())
    thread = threading.Thread(target=may_end.wait)
    thread.start()

    during = proc.thread_count(os.getpid())
    may_end.set()
    thread.join()

    assert before
    assert during == before + 1


def test_a_session_is_found_among_all_processes(tmp_path: Path) -> None:
    """Orphans belong to it; what is no process is passed over."""
    root = plant(
        tmp_path,
        {
            "proc/20/stat": stat_line(20, "leader", parent=5, session=20),
            "proc/3/stat": stat_line(3, "orphan )", parent=1, session=20),
            "proc/30/stat": stat_line(30, "stranger", parent=20, session=30),
            "proc/meminfo": "MemTotal: 1 kB\n",
            "proc/self/stat": stat_line(20, "leader", parent=5, session=20),
        },
    )
    (root / "proc/40").mkdir()

    found = proc.processes_of_session(20, root)

    assert [process.pid for process in found] == [3, 20]


def test_children_are_found_through_all_generations(tmp_path: Path) -> None:
    """Parents come before their children, wherever their numbers wrapped around."""
    parents = {2: 9, 5: 2, 9: 1, 11: 9, 12: 1}
    root = plant(
        tmp_path,
        {
            f"proc/{pid}/stat": stat_line(pid, "p", parent)
            for pid, parent in parents.items()
        },
    )

    found = proc.children_of(9, root)

    assert [process.pid for process in found] == [2, 11, 5]


def test_without_proc_there_are_no_processes(tmp_path: Path) -> None:
    """A system without `/proc` is no error."""
    assert proc.processes_of_session(1, tmp_path) == ()
    assert proc.children_of(1, tmp_path) == ()


@linux_only
def test_a_child_of_this_process_is_found(
    waiting_child: subprocess.Popen[bytes],
) -> None:
    """By its parent, and by the session that it leads."""
    children = proc.children_of(os.getpid())
    session = proc.processes_of_session(waiting_child.pid)

    assert waiting_child.pid in [child.pid for child in children]
    assert [process.pid for process in session] == [waiting_child.pid]


def test_only_regular_files_open_for_reading_have_offsets(tmp_path: Path) -> None:
    """Pipes, devices, logs, outputs and the standard streams do not count."""
    data = tmp_path / "data.bin"
    data.write_bytes(b"0123456789")
    for number in range(3):
        plant_descriptor(tmp_path, number, str(data))
    plant_descriptor(tmp_path, 3, str(data), position=4)
    plant_descriptor(tmp_path, 4, str(data), "0100001")
    plant_descriptor(tmp_path, 5, str(data), "0100002", position=9)
    plant_descriptor(tmp_path, 6, str(data), "0102002")
    plant_descriptor(tmp_path, 7, "/dev/null")
    plant_descriptor(tmp_path, 8, "pipe:[3919]")
    plant_descriptor(tmp_path, 9, str(tmp_path))
    plant_descriptor(tmp_path, 10, "socket:[1591]")

    offsets = descriptors.readable_offsets(7, tmp_path)

    assert offsets == {
        3: FileOffset(position_bytes=4, path=str(data)),
        5: FileOffset(position_bytes=9, path=str(data)),
    }


def test_a_descriptor_closed_meanwhile_has_no_offset(tmp_path: Path) -> None:
    """Listing and reading are two steps, between which a file may be closed."""
    data = tmp_path / "data.bin"
    data.touch()
    plant_descriptor(tmp_path, 3, str(data))
    (tmp_path / "proc/7/fdinfo/3").unlink()

    assert descriptors.readable_offsets(7, tmp_path) == {}


def test_descriptor_flags_are_octal() -> None:
    """Read as decimal, they would name other modes."""
    info = descriptors.parse_descriptor_info(
        "pos:\t12\nflags:\t02100001\nmnt_id:\t27\n"
    )

    assert info == (12, 0o2100001)


def test_an_empty_descriptor_text_has_no_offset() -> None:
    """An ended process leaves it empty."""
    assert descriptors.parse_descriptor_info("") is None


@linux_only
def test_offsets_of_this_process_move_as_it_reads(tmp_path: Path) -> None:
    """The shared position is what the kernel keeps, not Python's buffer."""
    path = tmp_path / "odd name (1).bin"
    path.write_bytes(b"0123456789")
    descriptor = os.open(path, os.O_RDONLY)
    written = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT)

    before = descriptors.readable_offsets(os.getpid())
    os.read(descriptor, 6)
    after = descriptors.readable_offsets(os.getpid())
    os.close(descriptor)
    os.close(written)

    assert before
    assert after
    assert before[descriptor] == FileOffset(position_bytes=0, path=str(path))
    assert after[descriptor] == FileOffset(position_bytes=6, path=str(path))
    assert written not in after


@linux_only
def test_a_removed_file_keeps_its_offset(tmp_path: Path) -> None:
    """Its name is marked by the kernel, and it can still be shared."""
    path = tmp_path / "gone.bin"
    path.write_bytes(b"0123456789")
    descriptor = os.open(path, os.O_RDONLY)
    path.unlink()

    offsets = descriptors.readable_offsets(os.getpid())
    os.close(descriptor)

    assert offsets
    assert offsets[descriptor].path == f"{path} (deleted)"


def test_only_established_tcp_sockets_are_connected() -> None:
    """Listening sockets and those that wait for their end are not."""
    assert descriptors.parse_tcp_sockets(TCP) == {"2001"}


def test_only_joined_unix_sockets_are_connected() -> None:
    """Named, hidden and unnamed ones are told by their state."""
    assert descriptors.parse_unix_sockets(UNIX) == {"1591", "1593"}


def test_connected_sockets_are_counted_once_each(tmp_path: Path) -> None:
    """Two descriptors of one socket are one socket; other processes' do not count."""
    root = plant(
        tmp_path,
        {
            "proc/7/net/tcp": TCP,
            "proc/7/net/tcp6": TCP.replace("2001", "2002"),
            "proc/7/net/unix": UNIX,
        },
    )
    held = [1594, 2001, 2002, 2002, 1591, 1592]
    for number, inode in enumerate(held, start=3):
        plant_descriptor(root, number, f"socket:[{inode}]")
    plant_descriptor(root, 20, "anon_inode:[eventpoll]")

    assert descriptors.connected_sockets(7, root) == 3


@linux_only
def test_connections_of_this_process_are_counted() -> None:
    """Both ends of a Unix pair and of a TCP connection, but not the listener."""
    before = descriptors.connected_sockets(os.getpid())
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        one, other = socket.socketpair()
        with client, accepted, one, other:
            during = descriptors.connected_sockets(os.getpid())

    assert before is not None
    assert during == before + 4


def test_cpu_times_are_seconds_by_kind() -> None:
    """Guests' time is within the users' already and is not added again."""
    times = proc.parse_cpu_times(CPU_LINES, ticks_per_s=100)

    assert times == CpuTimes(
        user_s=86.0, system_s=13.87, idle_s=942.3, iowait_s=2.97, steal_s=0.07
    )
    assert times.total_s == pytest.approx(1045.21)


@pytest.mark.parametrize("text", ["", "cpu 1 2 3 4\n", "cpu0 1 2 3 4 5 6 7 8\n"])
def test_cpu_times_without_steal_are_not_known(text: str) -> None:
    """An incomplete line is not filled up with zeros."""
    assert proc.parse_cpu_times(text, ticks_per_s=100) is None


def test_without_proc_cpu_times_are_not_known(tmp_path: Path) -> None:
    """A system without `/proc` is no error."""
    assert proc.machine_cpu_times(tmp_path) is None


@linux_only
def test_cpu_times_of_this_machine_only_grow() -> None:
    """They are counted from boot."""
    first = proc.machine_cpu_times()
    second = proc.machine_cpu_times()

    assert first
    assert second
    assert second.total_s >= first.total_s > 0
    assert second.steal_s >= first.steal_s >= 0


def test_shared_memory_that_is_absent_has_no_size(tmp_path: Path) -> None:
    """Not known is told apart from full."""
    absent = tmp_path / "shm"

    assert proc.shm_space(absent) is None


def test_any_file_system_has_a_size(tmp_path: Path) -> None:
    """Used and free together do not exceed the whole."""
    space = proc.shm_space(tmp_path)

    assert space
    assert space.total_bytes >= space.used_bytes + space.free_bytes
    assert min(space.total_bytes, space.used_bytes, space.free_bytes) >= 0

"""Shared memory is counted file by file: on captured text, and on this very process."""

import mmap
import os
import tempfile
from pathlib import Path

import pytest

from autoloader.measure.shared_memory import (
    FileKey,
    account,
    parse_mappings,
    shared_mappings,
)

MIB = 1 << 20
KIB = 1 << 10

linux_only = pytest.mark.skipif(
    not Path("/proc/self/maps").exists(), reason="reads Linux's /proc"
)

SMAPS = """\
5581e0000000-5581e0021000 r--p 00000000 fe:00 1234     /usr/bin/python3.11
Size:                132 kB
Rss:                 132 kB
Pss:                  66 kB
Private_Dirty:         8 kB
VmFlags: rd mr mw me dw sd
7f8d4c514000-7f8d4d514000 rw-s 00000000 00:1b 675165   /dev/shm/torch_12_1_0 (deleted)
Size:              16384 kB
Rss:                2048 kB
Pss:                1024 kB
Pss_Dirty:          1024 kB
Shared_Dirty:       1024 kB
Private_Clean:         4 kB
Private_Dirty:       512 kB
SwapPss:               7 kB
VmFlags: rd wr sh mr mw me ms sd
7f8d4d600000-7f8d4d700000 rw-p 00000000 00:00 0 
Size:               1024 kB
Rss:                1024 kB
Pss:                1024 kB
Private_Dirty:      1024 kB
VmFlags: rd wr mr mw me ac sd
7f8d50000000-7f8d50200000 rw-s 00000000 00:01 77       /dev/zero (deleted)
Size:               2048 kB
Pss:                 100 kB
7f8d60000000-7f8d60200000 rw-s 00000000 00:01 78       /memfd:queue (deleted)
Size:               2048 kB
Pss:                 200 kB
7ffc2b5d5000-7ffc2b5f6000 rw-p 00000000 00:00 0        [stack]
Pss:                  12 kB
"""  # noqa: W291  # the kernel ends a line without a name with a space


def test_only_mappings_of_shared_memory_are_read() -> None:
    """Of a program, its heap and its stack the whole process's set tells."""
    found = parse_mappings(SMAPS, Path("/"))

    assert [item.path for item in found] == [
        "/dev/shm/torch_12_1_0 (deleted)",
        "/dev/zero (deleted)",
        "/memfd:queue (deleted)",
    ]


def test_a_mapping_is_read_with_what_is_in_the_set() -> None:
    """Its size, its file, and the parts that were touched; not the next mapping's."""
    first = parse_mappings(SMAPS, Path("/"))[0]

    assert first.key == FileKey(0, 0x1B, 675165)
    assert first.size_bytes == 16 * MIB
    assert first.pss_bytes == MIB
    assert first.private_bytes == 512 * KIB


def test_an_ended_process_maps_nothing() -> None:
    """Its files in /proc are empty, or gone."""
    assert parse_mappings("", Path("/")) == ()
    assert shared_mappings(1, Path("/nowhere")) == ()


class Root:
    """A file system with `/proc` and `/dev/shm`, filled by hand."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self.shm = folder / "dev/shm"
        self.shm.mkdir(parents=True)

    def file(self, name: str, size: int) -> Path:
        """Return a new file of shared memory."""
        path = self.shm / name
        path.write_bytes(b"\1" * size)
        return path

    def process(
        self,
        pid: int,
        *,
        opens: tuple[Path, ...] = (),
        maps: tuple[tuple[Path, int], ...] = (),
    ) -> None:
        """Make a process with open files and with mappings, each with its Pss."""
        folder = self.path / "proc" / str(pid)
        (folder / "fd").mkdir(parents=True)
        for number, path in enumerate(opens):
            (folder / "fd" / str(number)).symlink_to(path)
        texts = []
        for path, pss in maps:
            info = path.stat()
            device = f"{os.major(info.st_dev):02x}:{os.minor(info.st_dev):02x}"
            texts.append(
                f"7f0000000000-7f0000400000 rw-s 00000000 {device} {info.st_ino}  "
                f"{path}\nPss: {pss // KIB} kB\nPrivate_Dirty: {pss // KIB} kB\n"
            )
        for name in ("maps", "smaps"):
            (folder / name).write_text("".join(texts))


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """Give an empty root."""
    return Root(tmp_path)


def test_a_file_that_several_hold_open_counts_once(root: Root) -> None:
    """A descriptor is copied whenever a tensor is handed on."""
    queued = root.file("torch_7_1_0 (deleted)", MIB)
    root.process(7, opens=(queued, queued))
    root.process(8, opens=(queued,))

    found = account([7, 8], root.path)

    assert found.allocated_bytes == found.unseen_bytes == MIB


def test_what_others_hold_is_not_counted(root: Root) -> None:
    """However much of `/dev/shm` is in use meanwhile."""
    other = root.file("torch_9_1_0 (deleted)", MIB)
    root.file("torch_9_1_1", MIB)
    root.process(7)
    root.process(9, opens=(other,))

    assert account([7], root.path).allocated_bytes == 0


def test_a_file_of_pytorchs_own_name_counts_without_a_descriptor(root: Root) -> None:
    """With the strategy `file_system` it is closed at once, and only its name is left.

    A process that is not of the family may have an id that begins alike.
    """
    root.file("torch_7_123_0", 2 * MIB)
    root.file("torch_77_123_0", 4 * MIB)
    root.process(7)

    assert account([7], root.path).unseen_bytes == 2 * MIB


def test_a_mapped_file_counts_whole_though_few_pages_were_touched(root: Root) -> None:
    """A batch that training has taken and not used yet is in no set."""
    taken = root.file("torch_7_1_0 (deleted)", 4 * MIB)
    root.process(6, opens=(taken,), maps=((taken, MIB),))

    found = account([6], root.path)

    assert found.allocated_bytes == 4 * MIB
    assert found.pss_bytes == MIB
    assert found.unseen_bytes == 3 * MIB
    assert found.private_bytes == {6: MIB}


def test_a_mapped_file_is_found_by_its_name(root: Root) -> None:
    """Its maker may have ended, and nobody holds it open."""
    taken = root.file("torch_7_1_0", 4 * MIB)
    root.process(7, maps=((taken, 0),))

    assert account([7], root.path).unseen_bytes == 4 * MIB


def test_shared_memory_without_a_file_counts_by_the_sets(root: Root) -> None:
    """Nothing tells what is allocated for it but those that have touched it."""
    nameless = root.file("zero (deleted)", 4 * MIB)
    root.process(6, maps=((nameless, MIB),))
    root.process(7, maps=((nameless, 2 * MIB),))

    found = account([6, 7], root.path)

    assert found.allocated_bytes == found.pss_bytes == 3 * MIB
    assert found.unseen_bytes == 0


def test_data_that_lies_in_shared_memory_is_left_to_the_sets(root: Root) -> None:
    """A copy of the dataset that was put there is no queue."""
    data = root.file("images.h5", 4 * MIB)
    root.process(7, opens=(data,), maps=((data, MIB),))

    found = account([7], root.path)

    assert found.allocated_bytes == found.pss_bytes == 0


@linux_only
def test_this_process_holds_a_removed_file() -> None:
    """Open, then mapped, then touched: it takes the same all the time."""
    pid = os.getpid()
    before = account([pid], Path("/"))
    with tempfile.TemporaryFile(dir="/dev/shm") as file:
        file.write(b"\1" * (8 * MIB))
        file.flush()
        held = account([pid], Path("/"))
        with mmap.mmap(file.fileno(), 8 * MIB) as mapped:
            untouched = account([pid], Path("/"))
            assert sum(mapped[:: mmap.PAGESIZE]) == 8 * MIB // mmap.PAGESIZE
            touched = account([pid], Path("/"))

    def grown(attribute: str) -> list[int]:
        """Return what an account grew by since the beginning."""
        return [
            getattr(item, attribute) - getattr(before, attribute)
            for item in (held, untouched, touched)
        ]

    assert grown("allocated_bytes") == [8 * MIB] * 3
    assert grown("unseen_bytes") == [8 * MIB, 8 * MIB, 0]

"""Files that processes are writing: of a real process, and of captured text."""

import mmap
import os
import stat
from pathlib import Path

import pytest

from autoloader.measure.written import open_for_writing, parse_shared_mappings

MAPS = """\
55e0c6a00000-55e0c6a2c000 r--p 00000000 08:01 1048  /usr/bin/python3.11
7f3a00000000-7f3a00400000 rw-s 00000000 08:01 2097  /data/cache/features.npy
7f3a00400000-7f3a00800000 r--s 00000000 08:01 2098  /data/index.bin
7f3a00800000-7f3a00900000 rw-s 00000000 00:19 7     /dev/shm/torch_1_2_3 (deleted)
7f3a00900000-7f3a00a00000 rw-p 00000000 08:01 2099  /data/private.npy
7f3a00a00000-7f3a00b00000 rw-s 00000000 08:01 2100  /data/with a space.npy
7f3a00b00000-7f3a00c00000 rw-s 00000000 00:01 4     /memfd:x (deleted)
7ffd12a00000-7ffd12a21000 rw-p 00000000 00:00 0     [stack]
"""


def writing_here(folder: Path) -> set[str]:
    """Return the names of the files below a folder that this process is writing."""
    found = open_for_writing([os.getpid()])
    return {Path(path).name for path in found if path.startswith(f"{folder}/")}


def test_files_that_are_written_are_found_and_others_are_not(tmp_path: Path) -> None:
    """For writing, for appending, and for both; not for reading, not closed."""
    for name in ("read", "closed"):
        (tmp_path / name).write_text("x", encoding="utf-8")

    with (
        (tmp_path / "new").open("wb"),
        (tmp_path / "longer").open("ab"),
        (tmp_path / "changed").open("w+b"),
        (tmp_path / "read").open("rb"),
    ):
        found = writing_here(tmp_path)

    assert found == {"new", "longer", "changed"}
    assert writing_here(tmp_path) == set()


def test_a_removed_file_is_nobodys_later(tmp_path: Path) -> None:
    """It is gone with its process."""
    path = tmp_path / "scratch"

    with path.open("wb"):
        path.unlink()
        found = writing_here(tmp_path)

    assert found == set()


def test_a_file_that_is_written_through_memory_is_found(tmp_path: Path) -> None:
    """NumPy's memmap closes its file once it is mapped."""
    path = tmp_path / "features.npy"
    path.write_bytes(bytes(mmap.PAGESIZE))
    with path.open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)

    found = writing_here(tmp_path)
    mapped.close()

    assert found == {"features.npy"}


def test_folders_of_ours_are_left_out(tmp_path: Path) -> None:
    """A folder whose name only begins alike is not ours."""
    ours, theirs = tmp_path / "study", tmp_path / "study-2"
    ours.mkdir()
    theirs.mkdir()

    with (ours / "log").open("wb"), (theirs / "cache").open("wb"):
        found = open_for_writing([os.getpid()], own=(f"{ours}/",))

    assert f"{theirs / 'cache'}" in found
    assert f"{ours / 'log'}" not in found


def test_what_is_no_file_is_left_out(tmp_path: Path) -> None:
    """Pipes, terminals and devices are not written half."""
    read, write = os.pipe()
    with Path(os.devnull).open("wb") as null:
        found = open_for_writing([os.getpid()])
        assert stat.S_ISCHR(os.fstat(null.fileno()).st_mode)
    os.close(read)
    os.close(write)

    assert not [path for path in found if path.startswith("/dev") or "pipe" in path]


def test_a_process_that_is_gone_has_none(tmp_path: Path) -> None:
    """And so has a system without /proc."""
    assert open_for_writing([2**22 + 1]) == ()
    assert open_for_writing([os.getpid()], root=tmp_path) == ()


def test_shared_mappings_that_can_be_written_are_read() -> None:
    """Not private ones, nor those that are read."""
    assert parse_shared_mappings(MAPS) == (
        "/data/cache/features.npy",
        "/dev/shm/torch_1_2_3 (deleted)",
        "/data/with a space.npy",
        "/memfd:x (deleted)",
    )
    assert parse_shared_mappings("") == ()


@pytest.mark.parametrize("line", ["x", "7f rw-s", "7f3a-7f3b rw-s 0 08:01 1"])
def test_torn_lines_of_mappings_are_passed_over(line: str) -> None:
    """The kernel may change what it writes."""
    assert parse_shared_mappings(f"{line}\n{line}\n") == ()

"""Where files lie and which ones are mapped, on captured text and on this machine."""

import mmap
import os
import socket
from pathlib import Path

import pytest

from autoloader.measure.storage import (
    Mount,
    file_system_of,
    file_systems_of,
    is_network,
    mapped_files,
    memory_bytes,
    mounts,
    network_connections,
    parse_maps,
    parse_mounts,
)

MOUNTINFO = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
31 27 0:40 / /data rw,relatime shared:9 master:2 - nfs4 store:/data rw,vers=4.2
32 31 0:41 / /data/scratch\\040space rw - fuse.sshfs user@store:/scratch rw
33 27 0:42 / /mnt rw - xfs /dev/vdb rw
34 33 0:43 / /mnt rw - tmpfs tmpfs rw
a line of another kind
"""

MAPS = """\
55d0c0a00000-55d0c0a01000 r--p 00000000 fe:00 12 /usr/bin/python3.11
55d0c0a01000-55d0c0a02000 r-xp 00001000 fe:00 12 /usr/bin/python3.11
55d0c1b00000-55d0c1b21000 rw-p 00000000 00:00 0 [heap]
7f10a0000000-7f10a4000000 r--s 00000000 fe:00 77 /data/my rows.npy
7f10a4000000-7f10a8000000 r--s 04000000 fe:00 77 /data/my rows.npy
7f10b0000000-7f10b0001000 rw-s 00000000 00:19 88 /dev/shm/torch_1_2 (deleted)
7f10b1000000-7f10b1001000 r--p 00000000 fe:00 99 /opt/libfast.so.1.2
7f10b2000000-7f10b2001000 r--p 00000000 fe:00 98 /data/line\\012end.mdb
7f10b3000000-7f10b3001000 rw-p 00000000 00:00 0
"""


@pytest.mark.parametrize(
    ("path", "type_"),
    [
        ("/home/a.jpg", "ext4"),
        ("/data/a.jpg", "nfs4"),
        ("/database/a.jpg", "ext4"),
        ("/data/scratch space/a.jpg", "fuse.sshfs"),
        ("/mnt/a.jpg", "tmpfs"),
    ],
)
def test_the_longest_mount_point_counts_and_the_last_of_equals(
    path: str, type_: str
) -> None:
    """A later mount on the same folder hides the earlier one."""
    assert file_system_of(path, parse_mounts(MOUNTINFO)) == type_


def test_nothing_is_said_where_nothing_is_known() -> None:
    """Without a table of mounts, that is."""
    assert file_system_of("/a", ()) is None
    assert file_systems_of(["/a"], ()) == ()


def test_links_are_followed_to_the_file_system_of_their_target(tmp_path: Path) -> None:
    """A folder of links into a cache lies where the cache does."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "blob").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "cache" / "blob")
    mounted = [Mount("", "ext4"), Mount(str(tmp_path.resolve() / "cache"), "nfs")]

    assert file_systems_of([str(tmp_path / "link")], mounted) == ("nfs",)


@pytest.mark.parametrize(
    ("type_", "said"),
    [
        ("nfs4", True),
        ("fuse.gcsfuse", True),
        ("fuse", True),
        ("fuse.mergerfs", False),
        ("fuseblk", False),
        ("overlay", False),
        ("ext4", False),
    ],
)
def test_network_file_systems_are_known_by_type(type_: str, said: bool) -> None:
    """Those in user space are remote, but for a few that are known not to be."""
    assert is_network(type_) is said


def test_mapped_data_is_told_from_programs_and_libraries() -> None:
    """Each file once; what was removed is no file."""
    assert parse_maps(MAPS) == ("/data/my rows.npy", "/data/line\nend.mdb")


def test_a_file_that_this_process_maps_is_seen(tmp_path: Path) -> None:
    """In a live process."""
    path = tmp_path / "rows.bin"
    path.write_bytes(bytes(4096))

    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    found = mapped_files(os.getpid())
    mapped.close()

    assert str(path.resolve()) in found


def test_a_connection_that_this_process_holds_is_seen() -> None:
    """Both of its ends; a socket that listens is none."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        before = network_connections(os.getpid())
        with socket.create_connection(listener.getsockname()):
            made, _ = listener.accept()
            with made:
                after = network_connections(os.getpid())

    assert len(after - before) == 2


def test_a_process_that_is_gone_maps_and_holds_nothing(tmp_path: Path) -> None:
    """Nor does one on a system without `/proc`."""
    assert mapped_files(1, tmp_path) == ()
    assert network_connections(1, tmp_path) == frozenset()
    assert mounts(tmp_path) == ()


def test_the_page_cache_has_what_the_groups_leave_it(tmp_path: Path) -> None:
    """None where the system does not tell."""
    (tmp_path / "proc/self").mkdir(parents=True)

    nothing = memory_bytes(tmp_path)
    (tmp_path / "proc/meminfo").write_text(
        "MemTotal:  2048 kB\nMemAvailable:  1024 kB\n"
    )

    assert nothing is None
    assert memory_bytes(tmp_path) == 2048 * 1024


def test_this_machine_says_where_its_files_lie(tmp_path: Path) -> None:
    """In a live process."""
    assert mounts()
    assert len(file_systems_of([str(tmp_path)], mounts())) == 1
    assert memory_bytes()

"""What ran out is named, by the words of who noticed."""

import resource
import shutil
from pathlib import Path

import pytest

from autoloader.measure import exhaustion as subject
from autoloader.measure.exhaustion import exhaustion
from autoloader.measure.proc import SharedMemorySpace
from autoloader.values.outcome import Failure

MIB = 1 << 20


def ran_out(text: str) -> Failure:
    """Return the failure that words stand for."""
    found = exhaustion(text, "OSError", phase="gate", log="logs")
    assert found is not None
    return found


def shared_memory(monkeypatch: pytest.MonkeyPatch, *, free: int) -> None:
    """Let `/dev/shm` have 64 MiB, and so much of it free."""
    space = SharedMemorySpace(
        total_bytes=64 * MIB, used_bytes=64 * MIB - free, free_bytes=free
    )
    monkeypatch.setattr(subject, "shm_space", lambda: space)


def test_full_shared_memory_is_named_with_its_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In PyTorch's words; what is free by now says nothing."""
    shared_memory(monkeypatch, free=60 * MIB)

    found = ran_out(
        "unable to allocate shared memory(shm) for file </torch_1_2_3>: No space left "
        "on device (28)"
    )

    assert (found.kind, found.phase, found.log) == (
        "shared_memory_full",
        "gate",
        "logs",
    )
    assert found.message == (
        "shared memory is full (/dev/shm, 64.0 MiB): no room for a batch"
    )
    assert found.hint == (
        "fewer workers, a smaller prefetch_factor, or a larger /dev/shm"
    )


def test_a_full_disk_is_not_taken_for_shared_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The file says where it was; without one, what is full says it."""
    shared_memory(monkeypatch, free=60 * MIB)

    named = ran_out("[Errno 28] No space left on device: '/data/torch_1/cache.bin'")
    unnamed = ran_out("[Errno 28] No space left on device")

    assert (named.kind, unnamed.kind) == ("disk_full", "disk_full")
    assert named.message == (
        "the dataset wrote, and no space is left on the device: no room for "
        "/data/torch_1/cache.bin"
    )
    assert unnamed.message == "the dataset wrote, and no space is left on the device"
    assert named.hint == "free space there, or let it write elsewhere"


def test_no_space_while_shared_memory_is_full_is_shared_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A semaphore that cannot be made names no file."""
    shared_memory(monkeypatch, free=1 * MIB)

    found = ran_out("[Errno 28] No space left on device")

    assert found.kind == "shared_memory_full"


def test_a_file_says_by_where_it_lies_what_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its path, or by its device where that leads there; a relative one too."""
    shared_memory(monkeypatch, free=0)
    monkeypatch.chdir(tmp_path)
    words = "[Errno 28] No space left on device: "

    there = ran_out(words + "'/dev/shm/cache.bin'")
    elsewhere = ran_out(words + "'shards/new/cache.bin'")
    quoted = ran_out(words + f'"{tmp_path}/it\'s.bin"')
    monkeypatch.setattr(subject, "SHARED_MEMORY", tmp_path)
    by_device = ran_out(words + "'shards/new/cache.bin'")

    assert there.kind == "shared_memory_full"
    assert there.message == (
        "shared memory is full (/dev/shm, 64.0 MiB): no room for /dev/shm/cache.bin"
    )
    assert elsewhere.kind == quoted.kind == "disk_full"
    assert quoted.message.endswith(f": no room for {tmp_path}/it's.bin")
    assert by_device.kind == "shared_memory_full"


def test_a_file_that_cannot_be_looked_for_hides_no_cause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its name is too long for any system."""
    shared_memory(monkeypatch, free=60 * MIB)
    path = f"/data/{'x' * 5000}/cache.bin"

    found = ran_out(f"[Errno 28] No space left on device: '{path}'")

    assert found.kind == "disk_full"
    assert found.message.endswith(f": no room for {path}")


def test_a_full_folder_is_named_where_no_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shared memory that is nearly full is not what refused, unless nothing is left."""
    monkeypatch.chdir(tmp_path)
    full = shutil.disk_usage(tmp_path)._replace(free=4096)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    words = "OSError: [Errno 28] No space left on device"

    shared_memory(monkeypatch, free=2 * MIB)
    disk = ran_out(words)
    shared_memory(monkeypatch, free=0)
    both = ran_out(words)
    told = ran_out(f"{words}\nunable to mmap shared memory")

    assert disk.kind == "disk_full"
    assert disk.message == (
        f"the dataset wrote, and no space is left on the device: no room in {tmp_path}"
    )
    assert both.kind == told.kind == "shared_memory_full"


def test_a_system_without_shared_memory_has_a_full_disk_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no folder is full, it is what cannot be made that is meant."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(subject, "shm_space", lambda: None)
    words = "OSError: [Errno 28] No space left on device"

    unknown = ran_out(words)
    full = shutil.disk_usage(tmp_path)._replace(free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    disk = ran_out(words)

    assert unknown.kind == "shared_memory_full"
    assert disk.kind == "disk_full"


@pytest.mark.parametrize(
    "text",
    [
        "Too many open files. Communication with the workers is over.",
        "received 0 items of ancdata",
    ],
)
def test_the_limit_of_open_files_is_named(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the limit itself."""
    monkeypatch.setattr(resource, "getrlimit", lambda which: (128, 4096))

    found = ran_out(text)

    assert found.kind == "descriptors_exhausted"
    assert found.message == (
        "the limit of 128 open files is reached: a tensor in flight needs one"
    )
    assert found.hint == ("raise `ulimit -n`, or lower num_workers and prefetch_factor")


def test_other_words_say_nothing_ran_out() -> None:
    """They are left to others."""
    assert exhaustion("something else", "OSError", phase="gate", log="x") is None

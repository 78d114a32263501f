"""The state of the page cache: what is dropped, and when it cannot be warm."""

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autoloader.child import cache
from autoloader.child.cache import (
    CooledFiles,
    cool,
    read_files,
    state_of_cache,
    whole_bytes,
    write_files,
)
from autoloader.measure.storage import Mount
from autoloader.values.scope import AccessFacts

ACCESS = AccessFacts(
    source="local",
    files=100,
    file_systems=("ext4",),
    connections=0,
    read_bytes_per_example=50.0,
    storage_bytes_per_example=0.0,
    decoding="inside",
)


def test_the_list_of_files_is_read_back_as_it_was(tmp_path: Path) -> None:
    """Names that are no text too; an older list is replaced."""
    odd = os.fsdecode(b"/data/\xff\n.jpg")

    write_files(tmp_path, ["/data/a.jpg"] * 9, is_cut=False)
    write_files(tmp_path, ["/data/b.jpg", odd], is_cut=True)

    assert read_files(tmp_path) == ("/data/b.jpg", odd)
    assert (tmp_path / "files.json").stat().st_mode & 0o777 == 0o600


def test_cooling_drops_files_and_counts_what_it_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is gone, a pipe and a folder are skipped; a file in memory stays."""
    dropped: list[tuple[int, int, int]] = []
    monkeypatch.setattr(
        os, "posix_fadvise", lambda _fd, *advice: dropped.append(advice)
    )
    (tmp_path / "data.bin").write_bytes(bytes(5000))
    os.mkfifo(tmp_path / "pipe")
    paths = [tmp_path / name for name in ("data.bin", "gone.bin", "pipe")]
    write_files(tmp_path, [*map(str, paths), str(tmp_path)], is_cut=False)
    steps: list[None] = []

    found = cool(tmp_path, on_file=lambda: steps.append(None))
    monkeypatch.setattr(cache, "mounts", lambda: (Mount("", "tmpfs"),))
    in_memory = cool(tmp_path)

    assert found == CooledFiles(files=1, bytes=5000, in_memory=0, skipped=3)
    assert in_memory == CooledFiles(files=0, bytes=0, in_memory=1, skipped=3)
    assert dropped[0] == (0, 0, os.POSIX_FADV_DONTNEED)
    assert len(steps) == 4


def test_nothing_is_dropped_where_the_system_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS and Windows."""
    (tmp_path / "data.bin").write_bytes(b"x")
    write_files(tmp_path, [str(tmp_path / "data.bin")], is_cut=False)
    names = {name: getattr(os, name) for name in ("path", "O_RDONLY")}
    monkeypatch.setattr(cache, "os", SimpleNamespace(**names))

    assert cool(tmp_path).skipped == 1


@pytest.mark.parametrize(
    ("change", "epoch", "is_stream", "said"),
    [
        ({}, 1000, False, 40_000),
        ({}, None, False, 4000),
        ({"files": 3}, 1000, False, 4000),
        ({"files": 3}, 1000, True, 50_000),
        ({"files": 3, "read_bytes_per_example": None}, 1000, True, 4000),
        ({"files": 0}, 1000, True, 0),
    ],
)
def test_the_data_of_an_epoch_is_told_from_what_was_read(
    change: dict[str, Any], epoch: int | None, is_stream: bool, said: int
) -> None:
    """A file an example is scaled; a few files are whole; streams go by their bytes."""
    found = whole_bytes(
        replace(ACCESS, **change),
        sizes_bytes=4000,
        examples=100,
        epoch_examples=epoch,
        is_stream=is_stream,
    )

    assert found == said


@pytest.mark.parametrize(
    ("asked", "memory", "said"),
    [
        (None, 1001, "warm"),
        (None, 999, "cold"),
        (None, None, "warm"),
        ("warm", 999, "warm"),
        ("cold", 1001, "cold"),
    ],
)
def test_the_cache_is_warm_unless_the_data_is_larger_than_the_memory(
    asked: Any, memory: int | None, said: str
) -> None:
    """What the user says counts first."""
    assert state_of_cache(asked, data_bytes=1000, memory_bytes=memory) == said

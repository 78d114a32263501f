"""Half-written files are remembered, and named beside a later failure."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from autoloader.trial.explaining import explained
from autoloader.trial.unfinished import (
    MOST_FILES,
    UNFINISHED,
    named_unfinished,
    note_unfinished,
    read_unfinished,
)
from autoloader.values.outcome import Failure
from tests.waiting import wait_for

CACHE = "/data/cache/part-0007.npy"

SENTENCE = (
    "this file was being written when an earlier trial was ended: "
    f"{CACHE}; remove what is half written"
)


def write_list(folder: Path, *lines: str) -> None:
    """Write the list of half-written files, as lines."""
    (folder / UNFINISHED).write_text("".join(f"{line}\n" for line in lines), "utf-8")


@pytest.mark.parametrize(
    "text",
    [
        f"OSError: {CACHE} is truncated",
        "ValueError: cannot reshape array of part-0007.npy into (3, 224, 224)",
        "BadZipFile: 'part-0007.npy'",
        "EOFError: end of part-0007.npy.",
    ],
)
def test_a_file_is_named_where_a_failure_mentions_it(text: str) -> None:
    """By its path, or by its name."""
    assert named_unfinished([CACHE], text) == SENTENCE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ValueError: no file is named",
        "OSError: my-part-0007.npy",
        "OSError: part-0007.npy.gz",
        "OSError: part-00071.npy",
        "OSError: part-0007Xnpy",
    ],
)
def test_another_file_is_not_taken_for_it(text: str) -> None:
    """A name within a longer one is another name."""
    assert named_unfinished([CACHE], text) is None


def test_three_files_at_most_are_named() -> None:
    """The others are counted."""
    paths = [f"/data/{letter}.bin" for letter in "abcde"]

    found = named_unfinished(paths, " ".join(paths))

    assert found == (
        "these files were being written when an earlier trial was ended: /data/a.bin, "
        "/data/b.bin, /data/c.bin and 2 more; remove what is half written"
    )


def test_a_list_that_is_torn_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """Nothing but absolute paths is taken from it."""
    write_list(tmp_path, '"/data/a"', '"relative"', "{}", "17", '"/data/b"', '"/dat')

    assert read_unfinished(tmp_path) == ("/data/a", "/data/b")
    assert read_unfinished(tmp_path / "nowhere") == ()


def write_and_wait(path: Path) -> subprocess.Popen[bytes]:
    """Start a process, a session of its own, that has a file open for writing."""
    code = (
        "import sys, time\n"
        "file = open(sys.argv[1], 'wb', buffering=0)\n"
        "file.write(b'half')\n"
        "time.sleep(1000)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], start_new_session=True
    )
    wait_for(lambda: path.exists() and path.stat().st_size == 4, "a half-written file")
    return child


def test_a_half_written_cache_is_suspected_when_a_later_trial_fails_on_it(
    tmp_path: Path,
) -> None:
    """From the process that is killed to the hint of the failure."""
    folder, cache = tmp_path / "trials", tmp_path / "cache.npy"
    logs = folder / "0002-gate"
    logs.mkdir(parents=True)
    child = write_and_wait(cache)

    note_unfinished(child.pid, folder, own=())
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    (logs / "stderr.txt").write_text(
        "Traceback (most recent call last):\n"
        '  File "/home/me/data.py", line 3, in __getitem__\n'
        f"ValueError: {cache} is too short\n"
    )
    failure = explained(
        Failure(kind="crashed", phase="gate", message="a worker died", hint="look"),
        logs,
    )

    assert failure.hint == (
        "look; this file was being written when an earlier trial was ended: "
        f"{cache}; remove what is half written"
    )


def test_files_of_the_study_and_of_the_temporary_folder_are_not_remembered(
    tmp_path: Path,
) -> None:
    """They are ours, and no list is begun for them."""
    child = write_and_wait(tmp_path / "mine")
    try:
        note_unfinished(child.pid, tmp_path, own=())
        note_unfinished(child.pid, tmp_path / "x", own=(str(tmp_path),))
    finally:
        child.kill()
        child.wait()

    assert not (tmp_path / UNFINISHED).exists()


def test_a_file_is_remembered_once_and_only_by_its_owner(tmp_path: Path) -> None:
    """The list is private, and does not grow with each trial."""
    folder = tmp_path / "trials"
    folder.mkdir()
    child = write_and_wait(tmp_path / "cache")
    try:
        note_unfinished(child.pid, folder, own=())
        note_unfinished(child.pid, folder, own=())
    finally:
        child.kill()
        child.wait()

    assert read_unfinished(folder) == (str(tmp_path / "cache"),)
    assert len((folder / UNFINISHED).read_text().splitlines()) == 1
    assert (folder / UNFINISHED).stat().st_mode & 0o077 == 0


def test_the_list_ends_somewhere_and_a_full_disk_is_no_failure(tmp_path: Path) -> None:
    """It is a hint, and no more than that."""
    folder, missing = tmp_path / "trials", tmp_path / "missing"
    folder.mkdir()
    write_list(folder, *(json.dumps(f"/data/{n}") for n in range(MOST_FILES)))
    child = write_and_wait(tmp_path / "cache")
    try:
        note_unfinished(child.pid, folder, own=())
        note_unfinished(child.pid, missing, own=())
    finally:
        child.kill()
        child.wait()

    assert len(read_unfinished(folder)) == MOST_FILES
    assert not missing.exists()


def test_the_list_is_not_written_through_a_link(tmp_path: Path) -> None:
    """Another user of the folder could have made it."""
    folder, target = tmp_path / "trials", tmp_path / "precious"
    folder.mkdir()
    (folder / UNFINISHED).symlink_to(target)
    child = write_and_wait(tmp_path / "cache")
    try:
        note_unfinished(child.pid, folder, own=())
    finally:
        child.kill()
        child.wait()

    assert not target.exists()

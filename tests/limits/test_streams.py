"""Streams that are closed, or whose reader has left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.limits.running import HERE, LONGEST_S, ROOT, SHORT_TUNE, after, check, run

ASCII_ONLY = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.full
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_was_closed_is_stood_in_for(closed: str, tmp_path: Path) -> None:
    """Its number is given to no pipe of ours; the exit code is the result's."""
    ran = check(tmp_path, prefix=after(f'exec "$@" {closed}'))

    assert ran.code == 0, ran.err


@pytest.mark.full
def test_a_reader_of_the_progress_that_leaves_does_not_end_the_tune(
    tmp_path: Path,
) -> None:
    """`2>&1 | head -1`: the file is written all the same."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [
        sys.executable, "-m", "autoloader", "tune",
        "--dataset", f"{HERE / 'small.py'}:Small", *SHORT_TUNE, "--best-effort",
    ]  # fmt: skip

    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=writing,
        timeout=LONGEST_S,
        check=False,
    )
    os.close(writing)

    assert done.returncode in {0, 4, 6}
    assert (tmp_path / "autoloader.yaml").exists()


@pytest.mark.parametrize("command", [["machine"], ["machine", "--json"], ["help"]])
def test_output_that_nobody_reads_is_no_success(
    command: list[str], tmp_path: Path
) -> None:
    """141, as of a program that the signal for it has ended; nothing is said of it."""
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        [sys.executable, "-m", "autoloader", *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=LONGEST_S,
        check=False,
    )
    os.close(writing)

    assert done.returncode == 141
    assert done.stderr == b""


@pytest.mark.parametrize("page", ["start", "measuring"])
def test_a_page_is_printed_where_its_letters_are_lacking(
    page: str, tmp_path: Path
) -> None:
    """As what is closest."""
    ran = run("help", page, folder=tmp_path, environment=ASCII_ONLY)

    assert ran.code == 0, ran.err
    assert ran.out.isascii()


def test_streams_that_are_closed_are_no_bug(tmp_path: Path) -> None:
    """Nothing can be said, and nothing fails for it."""
    ran = run("machine", folder=tmp_path, prefix=after('exec "$@" >&- 2>&-'))

    assert ran.code == 0

"""`--ranks`, and what `torchrun` says of it."""

import os
import signal
import subprocess
import sys
import threading
from argparse import ArgumentParser, Namespace
from pathlib import Path

import pytest

from autoloader.commands.ranks import (
    add_ranks,
    check_same,
    forget_launcher,
    is_first,
    launched,
    ranks_of,
    wait_for_first,
    with_ranks,
)
from autoloader.errors import UsageError

TORCHRUN = {
    "TORCHELASTIC_RUN_ID": "none",
    "TORCHELASTIC_MAX_RESTARTS": "0",
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "2",
    "LOCAL_WORLD_SIZE": "2",
    "MASTER_ADDR": "localhost",
    "HOME": "/home",
}


@pytest.mark.parametrize(("flags", "ranks"), [([], 1), (["--ranks", "4"], 4)])
def test_the_flag_names_the_training_processes(flags: list[str], ranks: int) -> None:
    """One, where it is not given."""
    parser = ArgumentParser()
    add_ranks(parser)

    assert ranks_of(parser.parse_args(flags)) == ranks


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0", "--ranks must be a whole number of at least 1, got '0'"),
        ("257", "--ranks must be at most 256, got 257"),
    ],
)
def test_numbers_that_no_machine_runs_are_refused(text: str, said: str) -> None:
    """Before anything is read."""
    with pytest.raises(UsageError) as caught:
        ranks_of(Namespace(ranks=text))

    assert caught.value.message == said


def test_torchrun_says_how_many_of_us_there_are() -> None:
    """Variables of another launcher, or of none, say nothing."""
    assert launched(TORCHRUN) == 2
    assert launched({"WORLD_SIZE": "2", "RANK": "0"}) is None


def test_ranks_of_several_machines_are_refused() -> None:
    """Settings are those of one."""
    with pytest.raises(UsageError) as caught:
        launched({**TORCHRUN, "WORLD_SIZE": "8"})

    assert caught.value.message == (
        "torchrun started 8 ranks, 2 of them on this machine"
    )
    assert caught.value.hint == (
        "settings are those of one machine: --nnodes 1, on each kind of machine"
    )


@pytest.mark.parametrize(
    ("argv", "found"),
    [
        (["tune", "--dataset", "x"], ["tune", "--dataset", "x", "--ranks", "2"]),
        (["check", "--ranks", "2"], ["check", "--ranks", "2"]),
        (["measure", "--ranks=2"], ["measure", "--ranks=2"]),
        (["retune", "a.yaml"], ["retune", "a.yaml"]),
        ([], []),
    ],
)
def test_commands_with_the_flag_take_torchruns_number(
    argv: list[str], found: list[str]
) -> None:
    """Unless they say the same themselves; `retune` has it from its file."""
    assert with_ranks(argv, 2) == found


@pytest.mark.parametrize("flags", [["--ranks", "4"], ["--ranks=4"]])
def test_a_flag_that_contradicts_torchrun_is_refused(flags: list[str]) -> None:
    """Whoever started two processes wants two ranks."""
    with pytest.raises(UsageError) as caught:
        with_ranks(["tune", "--dataset", "x", *flags], 2)

    assert caught.value.message == (
        "--ranks 4 contradicts torchrun, which started 2 processes"
    )
    assert caught.value.hint == "leave --ranks out, or use it without torchrun"


def test_a_file_of_other_ranks_is_not_verified_under_torchrun() -> None:
    """With as many, or without torchrun, it is."""
    check_same(4, None, "a.yaml")
    check_same(4, 4, "a.yaml")

    with pytest.raises(UsageError) as caught:
        check_same(4, 2, "a.yaml")

    assert caught.value.message == (
        "a.yaml is of 4 ranks, torchrun started 2 processes"
    )
    assert caught.value.hint == (
        "leave torchrun out; `autoloader tune --ranks 2` makes such a file"
    )


def test_children_are_not_told_what_torchrun_said_of_us() -> None:
    """All else stays."""
    environment = dict(TORCHRUN)

    forget_launcher(environment)

    assert environment == {"HOME": "/home"}
    assert is_first(TORCHRUN)
    assert is_first({"LOCAL_RANK": "1"})
    assert not is_first({**TORCHRUN, "LOCAL_RANK": "1"})


def test_a_rank_waits_for_the_end_of_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Found among the launcher's children; we stand for the launcher here."""
    first = subprocess.Popen(
        [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "LOCAL_RANK": "0"},
    )
    monkeypatch.setattr(os, "getppid", os.getpid)
    os_open = os.pidfd_open
    opened, found = threading.Event(), list[object]()
    ended = os.WEXITED | os.WNOHANG | os.WNOWAIT

    def open_pidfd(pid: int) -> int:
        descriptor = os_open(pid)
        opened.set()
        return descriptor

    def wait() -> None:
        wait_for_first()
        found.append(os.waitid(os.P_PID, first.pid, ended))

    assert first.stdout is not None
    first.stdout.readline()  # before it has begun, it is a copy of us
    monkeypatch.setattr(os, "pidfd_open", open_pidfd)
    waiting = threading.Thread(target=wait)
    waiting.start()
    opened.wait(30)
    first.send_signal(signal.SIGKILL)
    waiting.join(timeout=30)
    first.communicate()

    assert len(found) == 1
    assert found[0] is not None


def test_nobody_waits_for_a_first_rank_that_is_gone(tmp_path: Path) -> None:
    """Nor where the system does not tell."""
    wait_for_first(tmp_path)

"""The host is started when it is needed; that it cannot be is an outcome."""

import errno
import os
from pathlib import Path

import pytest

from autoloader.child.stages import Stage, StageBoard
from autoloader.measure.proc import ProcessStat
from autoloader.trial import hosting
from autoloader.trial.aftercare import SessionBook
from autoloader.trial.child import Child
from autoloader.trial.hosting import HostKeeper
from autoloader.trial.watchdog import ChildHung, ChildStopped, Patience
from autoloader.values.config import LoaderConfig
from autoloader.values.contract import Contract
from autoloader.values.job import PassOrder, Reference
from autoloader.values.outcome import Failure, Status
from autoloader.values.scope import SourceSpec
from tests.fakes import a_scope, some_facts

DATASETS = Path(__file__).parents[1] / "datasets.py"


def keeper(
    folder: Path,
    spec: str = f"{DATASETS}:Honest",
    hang_after_s: float | None = None,
) -> HostKeeper:
    """Return a keeper for a dataset whose reference was read."""
    reference = Reference(
        facts=some_facts(),
        scope=a_scope(),
        folder=str(folder),
        seconds=1.0,
        contract=Contract(),
    )
    return HostKeeper(
        SourceSpec(spec=spec),
        reference,
        isolation="auto",
        cpus=None,
        book=SessionBook(folder / "sessions.jsonl"),
        hang_after_s=hang_after_s,
    )


def order(folder: Path) -> PassOrder:
    """Return the order of a gate pass."""
    return PassOrder(
        kind="gate",
        config=LoaderConfig(num_workers=0, batch_size=8),
        logs=str(folder / "0001-gate"),
        tmp=str(folder / "tmp"),
        reference=str(folder),
        examples=8,
    )


def test_a_machine_without_room_for_a_process_is_an_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other trials may find room again."""

    def refuse(*_arguments: object, **_keywords: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(hosting, "Child", refuse)

    found = keeper(tmp_path).open(order(tmp_path), tmp_path, tmp_path / "t")

    assert isinstance(found, Failure)
    assert found.kind == "start_failed"
    assert found.status is Status.CRASHED
    assert found.phase == "gate"
    assert found.message == (
        "the host's process cannot be started: Resource temporarily unavailable"
    )
    assert found.hint == "the machine has no room for another process, or for its log"


def test_a_dataset_whose_building_hangs_tells_where_it_stands(tmp_path: Path) -> None:
    """In the user's code; without stacks it is told all the same."""
    event = ChildHung(Stage.BUILDING, 0, 300.4)

    silent = hosting._not_ready(event, order(tmp_path), tmp_path, host_pid=7)
    (tmp_path / "stderr.txt").write_text(
        "Current thread 0x00007f (most recent call first):\n"
        '  File "/home/me/data.py", line 33 in open_index\n'
    )
    told = hosting._not_ready(event, order(tmp_path), tmp_path, host_pid=7)

    assert (silent.kind, silent.phase) == ("start_failed", "gate")
    assert silent.message == "building the dataset hangs (300 s)"
    assert told.message == (
        "building the dataset hangs (300 s); it stands in open_index (data.py:33)"
    )


@pytest.mark.parametrize(
    ("pid", "who"),
    [(7, "the host's process"), (9, "a process that the dataset started (9)")],
)
def test_the_very_process_that_is_stopped_is_named(
    pid: int, who: str, tmp_path: Path
) -> None:
    """The host, or one that the dataset has started while it was built."""
    process = ProcessStat(
        pid=pid, name="python", state="T", parent_pid=1, group_id=7, session_id=7,
        user_s=0.0, system_s=0.0, threads=1, start_ticks=1,
    )  # fmt: skip
    event = ChildStopped(Stage.BUILDING, 0, 5.2, process)

    found = hosting._not_ready(event, order(tmp_path), tmp_path, host_pid=7)

    assert (found.kind, found.signal) == ("start_failed", "SIGSTOP")
    assert found.message == (
        f"{who} was stopped by a signal (SIGSTOP) while building and did not go on "
        "for 5 s"
    )


@pytest.mark.parametrize(
    ("said_s", "waits_s"), [(None, 300.0), (6.0, 300.0), (900.0, 900.0)]
)
def test_a_host_gets_the_time_that_the_user_names_where_it_is_more(
    said_s: float | None,
    waits_s: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What takes long in the reference takes as long in it."""
    asked: list[float] = []

    def answer(
        _host: Child, board: StageBoard, *, patience: Patience, on_tick: object
    ) -> None:
        assert on_tick is None
        asked.append(patience.stall_s)
        raise ChildHung(*board.read(), 1.0)

    monkeypatch.setattr(Child, "answer", answer)

    found = keeper(tmp_path, hang_after_s=said_s).open(
        order(tmp_path), tmp_path, tmp_path / "t"
    )

    assert isinstance(found, Failure)
    assert asked == [waits_s]


@pytest.mark.slow
def test_a_host_that_said_nothing_leaves_no_log(tmp_path: Path) -> None:
    """Each failing trial may end one: their logs would add up."""
    kept = keeper(tmp_path)

    host = kept.open(order(tmp_path), tmp_path, tmp_path / "t")
    kept.drop()

    assert not isinstance(host, Failure)
    assert not host.is_alive
    assert not (tmp_path / "0001-host").exists()

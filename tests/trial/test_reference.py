"""The reference is read in a process of its own; what becomes of that one is named."""

import re
from pathlib import Path

import pytest

from autoloader.child.stages import Stage
from autoloader.errors import DatasetError, StoredFileError, UsageError
from autoloader.measure.proc import ProcessStat
from autoloader.trial import reference as subject
from autoloader.trial import watchdog
from autoloader.trial.child import Child
from autoloader.trial.guard import MemoryGuard
from autoloader.trial.reference import STALL_S, read_reference
from autoloader.trial.runner import ProcessRunner
from autoloader.trial.watchdog import ChildStopped
from autoloader.values.config import LoaderConfig
from autoloader.values.job import Reference, ReferenceOrder
from autoloader.values.outcome import Failure
from autoloader.values.scope import ScopeRequest, SourceSpec

TROUBLED = Path(__file__).with_name("troubled.py")

LENGTH = 600

ALONE = LoaderConfig.canonical(num_workers=0, batch_size=8)


def read(name: str, root: Path, hang_after_s: float | None = None) -> Reference:
    """Return the reference of a dataset in trouble."""
    for folder in ("reference", "logs", "tmp"):
        (root / folder).mkdir()
    order = ReferenceOrder(
        source=SourceSpec(spec=f"{TROUBLED}:{name}"),
        request=ScopeRequest(),
        folder=str(root / "reference"),
    )
    return read_reference(
        order, logs=root / "logs", tmp=root / "tmp", hang_after_s=hang_after_s
    )


def runner(name: str, reference: Reference, root: Path) -> ProcessRunner:
    """Return what runs passes of a dataset in trouble."""
    return ProcessRunner(
        SourceSpec(spec=f"{TROUBLED}:{name}"),
        reference,
        folder=root / "trials",
        tmp=root / "tmp",
    )


@pytest.mark.slow
def test_a_stopped_reference_is_named_within_seconds(tmp_path: Path) -> None:
    """It would wait five minutes for what only looks like an import."""
    with pytest.raises(DatasetError) as found:
        read("Stopped", tmp_path)

    told = re.fullmatch(
        r"the process that reads the reference was stopped by a signal \(SIGSTOP\) "
        r"while reading( again)?, after \d+ examples, and did not go on for (\d+) s",
        found.value.message,
    )
    assert told is not None, found.value.message
    assert watchdog.STOPPED_S <= int(told[2]) < STALL_S / 5  # on a loaded machine too
    assert found.value.hint == (
        "somebody, or a scheduler, stopped it: what pauses autoloader has to pause all "
        "of its processes"
    )


@pytest.mark.parametrize(
    ("pid", "name", "who"),
    [
        (7, "python", "the process that reads the reference"),
        (9, "python", "a process that the dataset started (9)"),
    ],
)
def test_the_very_process_that_is_stopped_is_named(
    pid: int, name: str, who: str, tmp_path: Path
) -> None:
    """A dataset may have started one of its own, with `multiprocessing`."""
    process = ProcessStat(
        pid=pid, name=name, state="T", parent_pid=1, group_id=7, session_id=7,
        user_s=0.0, system_s=0.0, threads=1, start_ticks=1,
    )  # fmt: skip
    event = ChildStopped(Stage.READING, 12, 5.2, process)

    found = subject._hang(event, 7, tmp_path)

    assert found.message == (
        f"{who} was stopped by a signal (SIGSTOP) while reading, after 12 examples, "
        "and did not go on for 5 s"
    )


@pytest.mark.slow
def test_a_reference_that_hangs_tells_where_it_stands(
    tmp_path: Path,
) -> None:
    """In the user's code, and as soon as the user says."""
    with pytest.raises(DatasetError) as found:
        read("Waits", tmp_path, hang_after_s=3.0)

    assert re.fullmatch(
        r"the dataset hangs in one process: reading( again)? made no progress for "
        r"\d+ s after \d+ examples; it stands in wait_for_store \(troubled\.py:\d+\)",
        found.value.message,
    ), found.value.message
    assert found.value.hint == (
        f"what it printed is in {tmp_path / 'logs'}; --hang-after TIME waits longer"
    )


@pytest.mark.slow
def test_a_disk_that_takes_no_ledger_is_named_with_the_file(tmp_path: Path) -> None:
    """It is neither the dataset's fault nor a bug."""
    with pytest.raises(StoredFileError) as found:
        read("SmallFiles", tmp_path)

    path = tmp_path / "reference" / "fixed.npy"
    assert found.value.message == f"{path} cannot be used: File too large"
    assert found.value.hint == "free some space and run the same command again"


def test_a_disk_that_takes_no_board_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any process is started."""
    started: list[object] = []
    monkeypatch.setattr(Child, "__init__", lambda *_told, **_more: started.append(1))
    order = ReferenceOrder(
        source=SourceSpec(spec="a:b"), request=ScopeRequest(), folder=str(tmp_path)
    )
    logs = tmp_path / "logs"

    with pytest.raises(StoredFileError) as found:
        read_reference(order, logs=logs, tmp=tmp_path)

    assert found.value.message == (
        f"{logs / 'stage'} cannot be used: No such file or directory"
    )
    assert not started


@pytest.mark.full
def test_a_disk_that_takes_no_ledger_of_a_trial_ends_the_study(tmp_path: Path) -> None:
    """No other trial would be better off; nothing of it is taken for shared memory."""
    reference = read("SmallFilesInTrial", tmp_path)

    with (
        runner("SmallFilesInTrial", reference, tmp_path) as trials,
        pytest.raises(StoredFileError) as found,
    ):
        trials.gate(ALONE, examples=LENGTH)

    path = tmp_path / "trials" / "0001-gate" / "arrived_batches.npy"
    assert found.value.message == f"{path} cannot be used: File too large"


@pytest.mark.slow
def test_a_trial_that_hides_what_it_takes_is_an_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its memory cannot be told any more: it is ended, as one that is too large is."""
    reference = read("WaitsInTrial", tmp_path)

    def refuse(_guard: MemoryGuard) -> int:
        raise UsageError("the memory of process 7 cannot be read")

    monkeypatch.setattr(MemoryGuard, "over", refuse)
    with runner("WaitsInTrial", reference, tmp_path) as trials:
        found = trials.gate(ALONE, examples=LENGTH)

    assert isinstance(found, Failure)
    assert (found.kind, found.phase) == ("crashed", "gate")
    assert found.message == "the memory of process 7 cannot be read"


@pytest.mark.full
def test_a_host_that_is_stopped_while_it_builds_is_an_outcome(tmp_path: Path) -> None:
    """Its five minutes are for imports, and not for this."""
    reference = read("Plain", tmp_path)

    with runner("StoppedWhileBuilt", reference, tmp_path) as trials:
        found = trials.gate(ALONE, examples=LENGTH)

    assert isinstance(found, Failure)
    assert (found.kind, found.signal) == ("start_failed", "SIGSTOP")
    assert re.fullmatch(
        r"the host's process was stopped by a signal \(SIGSTOP\) while building and "
        r"did not go on for \d+ s",
        found.message,
    ), found.message

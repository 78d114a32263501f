"""Deaths and stops are told with who it was; what came before is told elsewhere."""

from pathlib import Path

import pytest

from autoloader.child.stages import Stage
from autoloader.measure.proc import ProcessStat
from autoloader.trial.logs import stopped, who_is
from autoloader.trial.watchdog import ChildStopped
from autoloader.values.config import LoaderConfig
from autoloader.values.job import PassOrder
from autoloader.values.outcome import Failure, Status


def process(pid: int, name: str) -> ProcessStat:
    """Return a process that is stopped."""
    return ProcessStat(
        pid=pid,
        name=name,
        state="T",
        parent_pid=1,
        group_id=1,
        session_id=1,
        user_s=0.0,
        system_s=0.0,
        threads=1,
        start_ticks=1,
    )


@pytest.mark.parametrize(
    ("pid", "name", "trial_pid", "told"),
    [
        (10, "python", 11, "the host's process"),
        (11, "python", 11, "the trial's process"),
        (10, "python", 10, "the trial's process"),
        (12, "python3.13", 11, "a worker's process (12)"),
        (12, "pt_data_worker", 11, "a worker's process (12)"),
        (12, "ffmpeg", 11, "a program that the dataset runs ('ffmpeg', 12)"),
        (10, "python", None, "the host's process"),
        (12, "python", None, "a process that the dataset started (12)"),
    ],
)
def test_a_process_is_named_as_people_know_it(
    pid: int, name: str, trial_pid: int | None, told: str
) -> None:
    """Where the host runs the pass itself, it is the trial."""
    assert who_is(process(pid, name), trial_pid=trial_pid, host_pid=10) == told


def test_a_stopped_pass_is_told_with_the_signal() -> None:
    """It counts as hung, and its hint is for whoever stopped it."""
    order = PassOrder(
        kind="timed",
        config=LoaderConfig.canonical(num_workers=2, batch_size=8),
        logs="logs",
        tmp="tmp",
        reference="reference",
        examples=8,
    )
    event = ChildStopped(Stage.LOADING, 3, 5.6, process(12, "python"))

    found = stopped(event, order, Path("logs"), who="the trial's process")

    assert found == Failure(
        kind="hung",
        phase="timed",
        message="the trial's process was stopped by a signal (SIGSTOP) while loading, "
        "after 3 batches, and did not go on for 6 s",
        hint="somebody, or a scheduler, stopped it: what pauses autoloader has to "
        "pause all of its processes",
        signal="SIGSTOP",
        log="logs",
    )
    assert found.status is Status.HUNG

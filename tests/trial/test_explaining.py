"""The cause behind a failure, read out of what the processes left."""

import json
from pathlib import Path

import pytest

from autoloader.child.failures import READING_ID
from autoloader.child.last_words import LOST, SUSPECTS
from autoloader.child.stages import Stage
from autoloader.trial.explaining import explained, hung
from autoloader.trial.watchdog import ChildHung
from autoloader.values.config import LoaderConfig
from autoloader.values.job import PassOrder
from autoloader.values.outcome import Failure, Status

TRACEBACK = """\
Traceback (most recent call last):
  File "/home/me/data.py", line 12, in __getitem__
{}
"""

STACKS = """\
Current thread 0x00007f (most recent call first):
  File "/home/me/data.py", line 33 in wait_for_store
"""


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Give the log folder of a pass."""
    folder = tmp_path / "0007-gate"
    folder.mkdir()
    return folder


def hang(logs: Path, log: str) -> Failure:
    """Return the failure of a pass that hung and left such a log."""
    (logs / "stderr.txt").write_text(log, encoding="utf-8")
    order = PassOrder(
        kind="gate",
        config=LoaderConfig.canonical(num_workers=2, batch_size=8),
        logs=str(logs),
        tmp="/tmp/x",
        reference="/tmp/y",
        examples=101,
    )
    return hung(ChildHung(Stage.LOADING, 3, 6.0), order, logs)


def death(logs: Path, printed: str, **known: str | int) -> Failure:
    """Return the explained failure of a worker that died and left such a log."""
    (logs / "stderr.txt").write_text(printed, encoding="utf-8")
    failure = Failure.from_dict(
        {"kind": "crashed", "phase": "gate", "message": "a worker died", **known}
    )
    return explained(failure, logs)


def test_a_hang_is_told_with_stage_and_place(logs: Path) -> None:
    """Nothing was printed but the stacks."""
    failure = hang(logs, STACKS)

    assert failure.status is Status.HUNG
    assert failure.message == (
        "no progress for 6 s while loading, after 3 batches; "
        "a process stands in wait_for_store (data.py:33)"
    )


def test_an_exception_that_could_not_be_sent_is_the_cause_of_a_hang(
    logs: Path,
) -> None:
    """Its own words come first, and then why it was lost."""
    lost = TRACEBACK.format("data.make.<locals>.DecoderError: the decoder gave up")
    pickling = TRACEBACK.format("AttributeError: Can't pickle local object 'make'")

    failure = hang(logs, f"{LOST}\n{lost}\n{pickling}{STACKS}")

    assert failure.exception == "DecoderError"
    assert "while it read" not in failure.message
    assert failure.message == (
        "no progress for 6 s while loading, after 3 batches; a worker could not send "
        "DecoderError: the decoder gave up; a process had printed "
        "AttributeError: Can't pickle local object 'make'; "
        "a process stands in wait_for_store (data.py:33)"
    )


def test_the_example_is_named_whose_exception_could_not_be_sent(logs: Path) -> None:
    """One that another worker could send, and said before, is another matter."""
    sent = f"{READING_ID}7\n"
    lost = TRACEBACK.format("data.make.<locals>.DecoderError: the decoder gave up")

    failure = hang(logs, f"{sent}{LOST}\n{lost}{READING_ID}33\n")

    assert failure.message == (
        "no progress for 6 s while loading, after 3 batches; a worker could not send "
        "DecoderError: the decoder gave up, while it read id 33"
    )


def test_what_was_printed_does_not_explain_a_stop(logs: Path) -> None:
    """Nor does what workers inherited; it is forgotten all the same."""
    (logs / "stderr.txt").write_text(TRACEBACK.format("KeyError: 'shard'") + STACKS)
    (logs / SUSPECTS).write_text(json.dumps(["an open file (a.h5)"]))
    failure = Failure(
        kind="hung", phase="gate", message="it was stopped", signal="SIGSTOP"
    )

    found = explained(failure, logs)

    assert found == failure
    assert not (logs / SUSPECTS).exists()


def test_what_ran_out_is_the_cause_of_a_hang(logs: Path) -> None:
    """A feeder thread said so, and nobody heard it."""
    log = TRACEBACK.format("RuntimeError: Too many open files. Communication is over.")

    failure = hang(logs, log)

    assert failure.kind == "descriptors_exhausted"


def test_a_store_that_is_asked_too_often_is_the_cause_of_a_hang(logs: Path) -> None:
    """Whether the exception was printed or lost; a mere line of a log is told."""
    printed = TRACEBACK.format("HTTPError: HTTP Error 429: Too Many Requests")

    heard = hang(logs, printed)
    lost = hang(logs, f"{LOST}\n{printed}")
    waits = hang(logs, "Retrying: HTTP Error 429 thrown while requesting GET /x\n")

    assert (heard.kind, lost.kind) == ("throttled", "throttled")
    assert "no progress for 6 s" in heard.message
    assert waits.kind == "hung"
    assert waits.message.endswith("; its log speaks of a store that is asked too often")


def test_a_worker_that_left_is_told_with_what_it_printed(logs: Path) -> None:
    """And with the first cause of it."""
    log = (
        TRACEBACK.format("KeyError: 'shard'")
        + "\nDuring handling of the above exception, another exception occurred:\n\n"
        + TRACEBACK.format("pkg.ReadError: index is damaged")
    )

    failure = death(logs, log, exit_code=1)

    assert failure.exception == "ReadError"
    assert failure.message == (
        "a worker died, after it had printed ReadError: index is damaged, "
        "which began as KeyError: 'shard'"
    )


def test_a_worker_that_left_because_of_a_store_is_throttled(logs: Path) -> None:
    """Its exit code alone would be a crash."""
    log = TRACEBACK.format("urllib.error.HTTPError: HTTP Error 429: Too Many Requests")

    failure = death(logs, log, exit_code=1, log=str(logs))

    assert (failure.kind, failure.exception) == ("throttled", "HTTPError")
    assert failure.log == str(logs)


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        (
            "Fatal Python error: Segmentation fault\n",
            "Fatal Python error: Segmentation fault",
        ),
        ("free(): invalid pointer\n", "free(): invalid pointer"),
        (
            "thread '<unnamed>' panicked at src/pool.rs:7:5:\nno pool\n",
            "thread '<unnamed>' panicked at src/pool.rs:7:5:",
        ),
        (
            "reader.cc:12: int read(int): Assertion `n > 0' failed.\n",
            "reader.cc:12: int read(int): Assertion `n > 0' failed.",
        ),
    ],
)
def test_what_native_code_said_is_told(printed: str, told: str, logs: Path) -> None:
    """It leaves no traceback."""
    failure = death(logs, f"hello\n{printed}", signal="SIGABRT")

    assert failure.kind == "crashed"
    assert failure.message == f"a worker died, after it had printed {told}"


def test_native_code_without_memory_is_out_of_memory(logs: Path) -> None:
    """C++ says it by the name of its exception."""
    log = (
        "terminate called after throwing an instance of 'std::bad_alloc'\n"
        "  what():  std::bad_alloc\n"
    )

    failure = death(logs, log, signal="SIGABRT")

    assert failure.status is Status.OUT_OF_MEMORY
    assert failure.hint == (
        "fewer workers, a smaller queue, or a higher limit of memory"
    )


def test_a_killed_process_said_nothing_of_it(logs: Path) -> None:
    """What it had printed before is of something else."""
    failure = death(logs, "free(): invalid pointer\n", signal="SIGKILL")

    assert failure.message == "a worker died"


def test_suspects_are_named_beside_a_death_and_forgotten(logs: Path) -> None:
    """Behind what the hint says already."""
    (logs / SUSPECTS).write_text(json.dumps(["the thread reader"]), encoding="utf-8")

    failure = death(logs, "", signal="SIGSEGV", hint="look")

    assert failure.hint == (
        "look; there before the workers started: the thread reader; "
        "--start-method spawn starts workers without them"
    )
    assert not (logs / SUSPECTS).exists()


def test_suspects_are_no_cause_of_what_ran_out(logs: Path) -> None:
    """Nothing inherited fills the memory."""
    (logs / SUSPECTS).write_text(json.dumps(["the thread reader"]), encoding="utf-8")
    failure = Failure(kind="out_of_memory", phase="gate", message="it took 9 GiB")

    assert explained(failure, logs) == failure


def test_a_hang_that_the_loader_noticed_gets_its_place(logs: Path) -> None:
    """PyTorch's own timeout knows no stacks."""
    (logs / "stderr.txt").write_text(STACKS, encoding="utf-8")
    failure = Failure(kind="hung", phase="gate", message="no batch came for 3 s")

    assert explained(failure, logs).message == (
        "no batch came for 3 s; a process stands in wait_for_store (data.py:33)"
    )

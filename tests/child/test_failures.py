"""What ended a pass, read from exceptions as PyTorch 2.13 raised them."""

from pathlib import Path
from typing import Any

import pytest

from autoloader.child.failures import READING_IDS, exhaustion, failure_of
from autoloader.values.outcome import Failure, Status

LOGS = Path("logs/0007-gate")

CAUGHT = """\
Caught {kind} in DataLoader worker process 1.
Original Traceback (most recent call last):
  File "/site-packages/torch/utils/data/_utils/worker.py", line 358, in _worker_loop
    data = fetcher.fetch(index)
  File "/home/me/data.py", line 12, in __getitem__
    raise error
{kind}: the store did not answer
try again later
"""


def failure(exc: BaseException, **known: Any) -> Failure:
    """Return what an exception out of a gate pass stands for."""
    return failure_of(exc, phase="gate", logs=LOGS, **known)


def test_an_exception_in_a_worker_keeps_type_words_and_ids() -> None:
    """The first line of its text tells most; a note says what was being read."""
    exc = ConnectionError(CAUGHT.format(kind="ConnectionError"))
    exc.add_note(f"{READING_IDS}41, 2, 37")

    found = failure(exc)

    assert (found.kind, found.exception) == ("worker_exception", "ConnectionError")
    assert found.message == (
        "worker 1 raised ConnectionError: the store did not answer, "
        "while it read ids 41, 2, 37"
    )
    assert found.log == str(LOGS)


def test_a_worker_without_memory_is_out_of_memory() -> None:
    """Python raised it, the kernel killed nobody."""
    found = failure(MemoryError(CAUGHT.format(kind="MemoryError")))

    assert found.status is Status.OUT_OF_MEMORY
    assert found.exception == "MemoryError"


@pytest.mark.parametrize(
    ("text", "kind", "signal", "exit_code"),
    [
        (
            "DataLoader worker (pid 4711) is killed by signal: Killed. ",
            "crashed", "SIGKILL", None,
        ),
        (
            "DataLoader worker (pid 4711) is killed by signal: Bus error. It is "
            "possible that dataloader's workers are out of shared memory.",
            "crashed", "SIGBUS", None,
        ),
        (
            "DataLoader worker (pid 4711) exited unexpectedly with exit code 3. "
            "Details are lost due to multiprocessing.",
            "crashed", None, 3,
        ),
        (
            "DataLoader worker (pid(s) 4711, 4712) exited unexpectedly",
            "crashed", None, None,
        ),
    ],
)  # fmt: skip
def test_a_worker_that_died_is_a_crash(
    text: str, kind: str, signal: str | None, exit_code: int | None
) -> None:
    """With its signal or exit code, where PyTorch's words have one."""
    found = failure(RuntimeError(text))

    assert (found.kind, found.signal, found.exit_code) == (kind, signal, exit_code)


def test_the_loaders_own_timeout_is_a_hang() -> None:
    """It is no exception of the dataset's."""
    found = failure(RuntimeError("DataLoader timed out after 3 seconds"))

    assert found.status is Status.HUNG
    assert found.message == "no batch came for 3 s, the loader's own timeout"


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        (
            "unable to allocate shared memory(shm) for file </torch_1_2_3>: No space "
            "left on device (28)",
            "shared_memory_full",
            "shared memory is full (/dev/shm",
        ),
        (
            "Too many open files. Communication with the workers is over.",
            "descriptors_exhausted",
            "open files is reached",
        ),
        ("received 0 items of ancdata", "descriptors_exhausted", "open files"),
    ],
)
def test_what_ran_out_is_named(text: str, kind: str, words: str) -> None:
    """With how much there was of it."""
    found = failure(RuntimeError(text))

    assert found.kind == kind
    assert words in found.message
    assert exhaustion("something else", "OSError", phase="gate", log="x") is None


def test_what_cannot_be_pickled_is_named_by_its_path() -> None:
    """Only where something was sent to a worker."""
    exc = TypeError("cannot pickle '_thread.lock' object")

    sent = failure(exc, unpicklable=("dataset.lock", "lock"))
    inherited = failure(exc)

    assert (sent.kind, sent.message) == (
        "cannot_pickle",
        "dataset.lock (lock) cannot be pickled, and workers get it by pickle",
    )
    assert inherited.kind == "worker_exception"


def test_an_exception_in_one_process_keeps_its_type() -> None:
    """Without workers nothing is wrapped."""
    found = failure(ValueError("first line\nlast line"))

    assert found.message == "ValueError: last line"

"""What ended a pass, read from exceptions as PyTorch 2.13 raised them."""

from pathlib import Path
from typing import Any

import pytest
from torch._utils import ExceptionWrapper
from torch.utils.data import DataLoader, Dataset

from autoloader.child.failures import READING_ID, READING_IDS, failure_of
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


wrap: Any = ExceptionWrapper


def sent(exc: Exception, *, note: str = "") -> Exception:
    """Return what PyTorch raises in the training process for one of a worker's."""
    try:
        raise exc
    except Exception:  # noqa: BLE001  # as a worker does
        wrapper: Any = wrap(where="in DataLoader worker process 1")
    wrapper.exc_msg += note
    try:
        wrapper.reraise()
    except Exception as arrived:  # noqa: BLE001  # whatever PyTorch makes of it
        return arrived
    raise AssertionError(exc)


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


class NeedsTwo(Exception):
    """Cannot be built again from one text."""

    def __init__(self, file: str, offset: int) -> None:
        super().__init__(f"{file} is damaged at {offset}")


class HasMessage(Exception):
    """PyTorch takes it for one that is built with `message=`, and fails."""

    message = "a default"

    def __init__(self, code: int) -> None:
        super().__init__(f"code {code}")


class MissingKey(KeyError):
    """As KeyError, it shows its text with all line ends escaped."""


class Mute(Exception):
    """Fails when it is asked what it says."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("exc", "told"),
    [
        (NeedsTwo("shard-3.tar", 512), "NeedsTwo: shard-3.tar is damaged at 512"),
        (HasMessage(7), "HasMessage: code 7"),
        (MissingKey("label"), "MissingKey: 'label'"),
        (KeyError("label"), "KeyError: 'label'"),
        (KeyError(("a", 3)), "KeyError: ('a', 3)"),
        (ValueError("\nsecond line"), "ValueError: second line"),
        (
            UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x"),
            "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: x",
        ),
        (Mute(), "Mute: <exception str() failed>"),
        (
            ExceptionGroup("2 reads", [OSError("a"), KeyError("b")]),
            "ExceptionGroup: 2 reads (2 sub-exceptions) [OSError: a; KeyError: 'b']",
        ),
    ],
)  # fmt: skip
def test_type_and_words_are_kept_where_pytorch_loses_them(
    exc: Exception, told: str
) -> None:
    """Whatever it raises in place of what a worker raised."""
    found = failure(sent(exc))

    assert found.kind == "worker_exception"
    assert found.message == f"worker 1 raised {told}"
    assert found.exception == type(exc).__name__


def test_an_exception_without_words_is_told_by_its_place() -> None:
    """A bare `assert` in a worker."""
    found = failure(sent(AssertionError()))

    assert found.message.startswith(
        "worker 1 raised AssertionError, without a word, in sent (test_failures.py:"
    )


def test_the_first_cause_in_a_worker_is_told() -> None:
    """`raise ... from` names what went wrong first."""
    outer = ValueError("example cannot be read")
    outer.__cause__ = FileNotFoundError(2, "No such file or directory", "/data/7")

    found = failure(sent(outer))
    alone = failure_of(raised(outer), phase="gate", logs=LOGS)

    began = "FileNotFoundError: [Errno 2] No such file or directory: '/data/7'"
    assert found.message == (
        f"worker 1 raised ValueError: example cannot be read, which began as {began}"
    )
    assert alone.message == (
        f"ValueError: example cannot be read, which began as {began}"
    )


def raised(exc: Exception) -> Exception:
    """Return an exception with a traceback, as one process raises it."""
    if exc.__cause__ is not None:
        raised(exc.__cause__)  # type: ignore[arg-type]
    try:
        raise exc
    except Exception as found:  # noqa: BLE001  # whatever it is
        return found


def test_the_one_example_is_named_where_the_worker_told_it() -> None:
    """It stands for the list of those that the batch is made of."""
    exc = sent(ValueError("bad"), note=f"{READING_ID}33\n")
    exc.add_note(f"{READING_IDS}32, 33, 34")

    assert (
        failure(exc).message == "worker 1 raised ValueError: bad, while it read id 33"
    )


def test_a_worker_without_memory_is_out_of_memory() -> None:
    """Python raised it, the kernel killed nobody."""
    found = failure(MemoryError(CAUGHT.format(kind="MemoryError")))

    assert found.status is Status.OUT_OF_MEMORY
    assert found.exception == "MemoryError"


class ArrayMemoryError(MemoryError):
    """NumPy's own, which needs a shape."""

    def __init__(self, shape: tuple[int, ...], dtype: str) -> None:
        super().__init__(f"Unable to allocate {shape} of {dtype}")


@pytest.mark.parametrize(
    "exc",
    [
        ArrayMemoryError((1 << 60,), "uint8"),
        OSError(12, "Cannot allocate memory"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't "
            "allocate memory: you tried to allocate 4611686018427387904 bytes."
        ),
    ],
)
def test_an_allocation_that_is_refused_is_out_of_memory(exc: Exception) -> None:
    """In a worker or not; whatever raised it."""
    worker, alone = failure(sent(exc)), failure(raised(exc))

    assert worker.status is alone.status is Status.OUT_OF_MEMORY
    assert alone.message.startswith("the trial could not allocate memory: ")


@pytest.mark.parametrize(
    "words",
    [
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
        "15.77 GiB of which 1.12 GiB is free.",
        "HIP out of memory. Tried to allocate 2.00 GiB.",
        "XPU out of memory. Tried to allocate 2.00 GiB.",
        "MPS backend out of memory (MPS allocated: 8.00 GB, other allocations: 1 GB)",
    ],
)
def test_the_accelerators_memory_is_not_the_machines(words: str) -> None:
    """By PyTorch's words for each device; in a worker or not."""
    worker, alone = failure(sent(RuntimeError(words))), failure(raised(Full(words)))

    assert worker.of_accelerator
    assert alone.of_accelerator
    assert alone.status is Status.OUT_OF_MEMORY
    assert alone.message == f"the accelerator has too little memory: Full: {words}"
    assert worker.message == (
        f"the accelerator has too little memory: worker 1 raised RuntimeError: {words}"
    )
    assert alone.hint == "smaller batches (--batch-size) need less of it"


class Full(RuntimeError):
    """Stands for PyTorch's own, which has no other name in all releases."""


def test_page_locked_memory_is_the_machines() -> None:
    """PyTorch has other words where none can be pinned."""
    found = failure(raised(RuntimeError("CUDA error: out of memory")))

    assert found.status is Status.OUT_OF_MEMORY
    assert not found.of_accelerator


def test_a_log_that_speaks_of_an_accelerator_is_no_failure_of_it() -> None:
    """What counts is what was raised."""
    found = failure(raised(ValueError("see 'out of memory' in the manual")))

    assert found.kind == "worker_exception"
    assert not found.of_accelerator


class Throttled(Exception):
    """A client's own, with the store's answer."""

    def __init__(self, status: int) -> None:
        super().__init__("the object was not read")
        self.status_code = status


class ApiError(Throttled):
    """Its name says that a status is one."""


def test_a_store_that_is_asked_too_often_is_told_apart() -> None:
    """From a worker by its words, in one process by its status, at a chain's end."""
    words = OSError("HTTP Error 429: Too Many Requests")
    chained = ValueError("example cannot be read")
    chained.__cause__ = words

    worker, chain = failure(sent(words)), failure(sent(chained))
    status, other = failure(raised(ApiError(503))), failure(raised(ApiError(404)))

    assert {worker.kind, chain.kind, status.kind} == {"throttled"}
    assert worker.message == (
        "a store turns requests away (too many, or it is busy): "
        "worker 1 raised OSError: HTTP Error 429: Too Many Requests"
    )
    assert chain.message.endswith(
        "which began as OSError: HTTP Error 429: Too Many Requests"
    )
    assert other.kind == "worker_exception"


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


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (3, "a worker left with exit code 3"),
        (137, "a worker left with exit code 137, as after SIGKILL"),
        (255, "a worker left with exit code 255"),
    ],
)
def test_an_exit_code_of_a_shell_names_its_signal(code: int, told: str) -> None:
    """A shell that runs a program hands on that it was killed."""
    text = f"DataLoader worker (pid 4711) exited unexpectedly with exit code {code}."

    assert failure(RuntimeError(text)).message == told


def test_the_loaders_own_timeout_is_a_hang() -> None:
    """It is no exception of the dataset's."""
    found = failure(RuntimeError("DataLoader timed out after 3 seconds"))

    assert found.status is Status.HUNG
    assert found.message == "no batch came for 3 s, the loader's own timeout"


def test_what_ran_out_is_named() -> None:
    """In the words of a worker as well."""
    found = failure(sent(OSError(24, "Too many open files")))

    assert found.kind == "descriptors_exhausted"


def test_what_cannot_be_pickled_is_named_by_its_path() -> None:
    """Only where something was sent to a worker."""
    exc = TypeError("cannot pickle '_thread.lock' object")

    is_sent = failure(exc, unpicklable=("dataset.lock", "lock"))
    inherited = failure(exc)

    assert (is_sent.kind, is_sent.message) == (
        "cannot_pickle",
        "dataset.lock (lock) cannot be pickled, and workers get it by pickle",
    )
    assert inherited.kind == "worker_exception"


def test_an_exception_in_one_process_keeps_its_type() -> None:
    """Without workers nothing is wrapped; the first line tells most."""
    found = failure(ValueError("first line\nlast line"))

    assert found.message == "ValueError: first line"


class Bad(Dataset[int]):
    """Fails at one example."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> int:
        if index == 33:
            raise KeyError("label")
        return index


def test_the_one_example_is_named_in_one_process() -> None:
    """Its frame tells which it was."""
    with pytest.raises(KeyError) as raised:
        list(DataLoader(Bad(), batch_size=8))

    found = failure(raised.value)

    assert found.message == "KeyError: 'label', while it read id 33"


class Hides:
    """A dataset whose attributes fail when they are not there."""

    def __getattr__(self, name: str) -> Any:
        raise KeyError(name)

    def read(self) -> None:
        """Fail."""
        raise OSError("gone")


def test_a_dataset_that_hides_its_attributes_is_read_all_the_same() -> None:
    """Frames of its methods are looked at on the way."""
    with pytest.raises(OSError, match=r"^gone$") as raised:
        Hides().read()

    found = failure(raised.value)

    assert found.message == "OSError: gone"

"""Read what ended a pass: exception type first, words only where PyTorch has no more.

The one place where sentences of PyTorch are read; tested on captured text.
"""

from __future__ import annotations

import re
import resource
import signal
import time
import traceback
from typing import TYPE_CHECKING, Any

from autoloader.child.last_words import last_raised
from autoloader.measure.proc import shm_space
from autoloader.units import format_bytes
from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from pathlib import Path

REAP_S = 2.0
"""Longest wait for a dying worker's exit code."""

READING_IDS = "while it read ids "
"""Beginning of a note at an exception that names the examples of the list."""

_SIGNAL = re.compile(r"DataLoader worker \(pid (\d+)\) is killed by signal: ([^.]+)\.")
_EXITED = re.compile(r"DataLoader worker \(pid\(s\) ([\d, ]+)\) exited unexpectedly")
_CODE = re.compile(
    r"DataLoader worker \(pid (\d+)\) exited unexpectedly with exit code (\d+)"
)
_CAUGHT = re.compile(r"Caught (\w+) in DataLoader worker process (\d+)\.")
_NO_SPACE = re.compile(
    r"No space left on device|unable to (?:allocate|open|mmap) shared memory"
)
_TIMED_OUT = re.compile(r"DataLoader timed out after ([\d.]+) seconds")
_PICKLE = re.compile(r"[Cc]an't (?:get|pickle)|cannot (?:pickle|serialize|be pickled)")
_NO_FILES = re.compile(r"Too many open files|received 0 items of ancdata")


def failure_of(
    exc: BaseException,
    *,
    phase: str,
    logs: Path,
    unpicklable: tuple[str, str] | None = None,
) -> Failure:
    """Return the failure that an exception out of a loader stands for.

    Args:
        exc: what was raised.
        phase: pass that it ended.
        logs: folder with what the processes printed.
        unpicklable: path and type of what cannot be sent to a worker; None: nothing.
    """
    texts = [str(item) for item in _chain(exc)]
    whole = "\n".join(texts)
    log = str(logs)
    exhausted = exhaustion(whole, type(exc).__name__, phase=phase, log=log)
    if exhausted is not None:
        return exhausted
    if unpicklable is not None and _PICKLE.search(whole):
        path, kind = unpicklable
        return Failure(
            kind="cannot_pickle",
            phase=phase,
            message=f"{path} ({kind}) cannot be pickled, and workers get it by pickle",
            hint="make it in the worker, on first use; or --start-method fork",
            exception=type(exc).__name__,
            log=log,
        )
    timed_out = _TIMED_OUT.search(whole)
    if timed_out is not None:
        return Failure(
            kind="hung",
            phase=phase,
            message=f"no batch came for {timed_out[1]} s, the loader's own timeout",
            hint="the DataLoader was given timeout=; a larger one waits longer",
            exception=type(exc).__name__,
            log=log,
        )
    caught = _CAUGHT.search(whole)
    if caught is not None:
        is_memory = caught[1] == "MemoryError"
        return Failure(
            kind="out_of_memory" if is_memory else "worker_exception",
            phase=phase,
            message=f"worker {caught[2]} raised {_words(texts[0])}{_reading(exc)}",
            hint="the traceback is in stderr.txt of the log folder",
            exception=caught[1],
            log=log,
        )
    died = _worker_death(_exit_codes(exc), texts, phase, log)
    if died is not None:
        return died
    if isinstance(exc, MemoryError):
        return Failure(
            kind="out_of_memory",
            phase=phase,
            message="the trial could not allocate memory",
            exception="MemoryError",
            log=log,
        )
    return Failure(
        kind="worker_exception" if phase != "prediction" else "crashed",
        phase=phase,
        message=f"{type(exc).__name__}: {_last_line(str(exc))}{_reading(exc)}",
        exception=type(exc).__name__,
        log=log,
    )


def exhaustion(text: str, exception: str, *, phase: str, log: str) -> Failure | None:
    """Return the failure of words that say what ran out; None where they do not.

    Args:
        text: of an exception and of what caused it.
        exception: its type.
        phase: pass that it ended.
        log: folder with what the processes printed.
    """
    if _NO_SPACE.search(text):
        return Failure(
            kind="shared_memory_full",
            phase=phase,
            message=f"shared memory is full ({_shared_memory()}): no room for a batch",
            hint="fewer workers, a smaller prefetch_factor, or a larger /dev/shm",
            exception=exception,
            log=log,
        )
    if _NO_FILES.search(text):
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return Failure(
            kind="descriptors_exhausted",
            phase=phase,
            message=(
                f"the limit of {limit} open files is reached: a tensor in flight needs "
                "one"
            ),
            hint="raise `ulimit -n`, or lower num_workers and prefetch_factor",
            exception=exception,
            log=log,
        )
    return None


def _shared_memory() -> str:
    """Return `/dev/shm`, with its size where the system tells."""
    space, name = shm_space(), "/dev/shm"  # noqa: S108  # shared memory's own place
    return name if space is None else f"{name}, {format_bytes(space.total_bytes)}"


def _chain(exc: BaseException) -> list[BaseException]:
    """Return the exception and what it was raised from, outermost first."""
    found: list[BaseException] = []
    current: BaseException | None = exc
    while current is not None and current not in found:
        found.append(current)
        current = current.__cause__ or current.__context__
    return found


def _exit_codes(exc: BaseException) -> list[int]:
    """Return the exit codes of dead workers of the loader that raised.

    The loader's iterator is found among the frames that the exception, or what caused
    it, came through. A lost connection may be noticed before the worker is quite dead:
    it is waited for.
    """
    kinds = (ConnectionError, EOFError, FileNotFoundError, RuntimeError)
    deadline = time.monotonic() + (REAP_S if isinstance(exc, kinds) else 0.0)
    workers = _workers_behind(exc)
    while True:
        codes = [item.exitcode for item in workers if item.exitcode is not None]
        if codes or not workers or time.monotonic() >= deadline:
            return codes
        time.sleep(0.01)


def _workers_behind(exc: BaseException) -> list[Any]:
    """Return the worker processes of the iterator that an exception came through."""
    for item in _chain(exc):
        for frame, _line in traceback.walk_tb(item.__traceback__):
            found = getattr(frame.f_locals.get("self"), "_workers", None)
            if isinstance(found, list) and found:
                return found
    return []


def _worker_death(
    codes: list[int], texts: list[str], phase: str, log: str
) -> Failure | None:
    """Return the failure of a dead worker, by exit code or by PyTorch's words."""
    for code in sorted(codes, key=lambda code: (code == 0, code)):
        if code < 0:
            return _killed(signal_name(-code), phase, log)
        return _left(code, phase, log)  # one that is done leaves with 0: last
    for text in texts:
        by_signal = _SIGNAL.search(text)
        if by_signal is not None:
            return _killed(_name_of_words(by_signal[2]), phase, log)
        by_code = _CODE.search(text)
        if by_code is not None:
            return _left(int(by_code[2]), phase, log)
    if any(_EXITED.search(text) for text in texts):
        return Failure(
            kind="crashed",
            phase=phase,
            message="a worker died without a word",
            hint="see stderr.txt in the log folder",
            log=log,
        )
    return None


def _killed(name: str, phase: str, log: str) -> Failure:
    return Failure(
        kind="crashed",
        phase=phase,
        message=f"a worker was killed by {name}",
        hint=_hint_of(name),
        signal=name,
        log=log,
    )


def _left(code: int, phase: str, log: str) -> Failure:
    return Failure(
        kind="crashed",
        phase=phase,
        message=f"a worker left with exit code {code}",
        hint="what it printed is in stderr.txt of the log folder",
        exit_code=code,
        log=log,
    )


def _hint_of(name: str) -> str | None:
    """Return the usual cause of a signal."""
    if name == "SIGBUS":
        return f"often full shared memory ({_shared_memory()}): docker run --shm-size"
    return _SIGNAL_HINTS.get(name)


_SIGNAL_HINTS = {
    "SIGKILL": "often the kernel, out of memory: fewer workers or a smaller queue",
    "SIGSEGV": "often a library handle opened before the workers start",
}


def signal_name(number: int) -> str:
    """Return `SIGKILL` for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _name_of_words(words: str) -> str:
    """Return `SIGKILL` for `Killed`, as the C library words it."""
    for item in signal.Signals:
        if signal.strsignal(item) == words.strip():
            return item.name
    return words.strip()


def _reading(exc: BaseException) -> str:
    """Return which examples were being read, where the pass has noted it."""
    notes = getattr(exc, "__notes__", ())
    noted = next((note for note in notes if note.startswith(READING_IDS)), None)
    return "" if noted is None else f", {noted}"


def _words(text: str) -> str:
    """Return what the exception in a worker's traceback says, its first line."""
    raised = last_raised(text)
    return _last_line(text) if raised is None else str(raised)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""

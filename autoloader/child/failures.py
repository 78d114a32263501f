"""Read what ended a pass: exception type first, words only where PyTorch has no more.

The one place where sentences of PyTorch are read; tested on captured text. What ran out
is `measure.exhaustion`'s, a store that is asked too often `measure.throttling`'s.
"""

from __future__ import annotations

import re
import signal
import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoloader.measure.exhaustion import (
    accelerator_full,
    exhaustion,
    shared_memory_words,
)
from autoloader.measure.throttling import (
    answers_throttled,
    is_throttled,
    speaks_of_throttling,
    throttled,
)
from autoloader.measure.tracebacks import Raised, cleaned, raised_in
from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REAP_S = 2.0
"""Longest wait for a dying worker's exit code."""

READING_IDS = "while it read ids "
"""Beginning of a note at an exception that names the examples of the list."""

READING_ID = "autoloader: raised while it read id "
"""Beginning of a line at a worker's traceback that names the one example."""

LONGEST_INDEX = 64
"""Characters of an index that is named."""

SHELL_SIGNALS = 128
"""What a shell adds to a signal's number to make an exit code of it."""

_SIGNAL = re.compile(r"DataLoader worker \(pid (\d+)\) is killed by signal: ([^.]+)\.")
_EXITED = re.compile(r"DataLoader worker \(pid\(s\) ([\d, ]+)\) exited unexpectedly")
_CODE = re.compile(
    r"DataLoader worker \(pid (\d+)\) exited unexpectedly with exit code (\d+)"
)
_WORKER = re.compile(r"in DataLoader worker process (\d+)")
_ID = re.compile(rf"^{READING_ID}(.+)$", re.MULTILINE)
_FETCHER = "torch/utils/data/_utils/fetch.py"
_TIMED_OUT = re.compile(r"DataLoader timed out after ([\d.]+) seconds")
_PICKLE = re.compile(r"[Cc]an't (?:get|pickle)|cannot (?:pickle|serialize|be pickled)")
_MEMORY_KINDS = frozenset({"MemoryError", "OutOfMemoryError"})
_NO_MEMORY = re.compile(
    r"DefaultCPUAllocator: (?:can't allocate|not enough) memory|std::bad_alloc"
    r"|Cannot allocate memory|CUDA error: out of memory"
)


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
    ending = _Ending.of(exc, phase=phase, log=str(logs))
    return (
        exhaustion(ending.whole, type(exc).__name__, phase=phase, log=ending.log)
        or accelerator_full(ending.raised, ending.told, phase=phase, log=ending.log)
        or _throttled(ending)
        or _cannot_pickle(ending, unpicklable)
        or _timed_out(ending)
        or _raised_in_worker(ending)
        or _worker_death(_exit_codes(exc), ending)
        or _raised(ending)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending:
    """An exception out of a loader, and what is known of the one behind it."""

    exc: BaseException
    """As it came."""
    raised: Raised
    """What was raised in the first place: in a worker, where it came from one."""
    kinds: frozenset[str]
    """Names of its class and of the classes that it derives from."""
    worker: str | None
    """Number of the worker that raised it; None: it was none."""
    index: str | None
    """The example that was being read, where that is one; None: not known."""
    texts: tuple[str, ...]
    """What it says, and what it was raised from, outermost first."""
    phase: str
    """Pass that it ended."""
    log: str
    """Folder with what the processes printed."""

    @classmethod
    def of(cls, exc: BaseException, *, phase: str, log: str) -> _Ending:
        """Read an exception; one that came from a worker is found in its wrapper."""
        texts = [_text(item) for item in _chain(exc)]
        wrapper = _wrapper_behind(exc)
        kind: type[BaseException] = type(exc)
        if wrapper is not None:
            kind = wrapper.exc_type
            texts.append(str(wrapper.exc_msg))
            found, where = raised_in(texts[-1]), str(wrapper.where)
            noted = _ID.search(texts[-1])
            index = None if noted is None else noted[1]
        else:
            found = raised_in("".join(traceback.format_exception(exc)))
            where, index = texts[0], index_being_read(exc)
        worker = _WORKER.search(where)
        first = next(iter(texts[0].strip().splitlines()), "")
        unheard = Raised(kind=kind.__name__, words=cleaned(first))
        return cls(
            exc=exc,
            raised=found[-1] if found else unheard,
            kinds=frozenset(item.__name__ for item in kind.__mro__),
            worker=None if worker is None else worker[1],
            index=index,
            texts=tuple(texts),
            phase=phase,
            log=log,
        )

    @property
    def whole(self) -> str:
        """All that is said."""
        return "\n".join(self.texts)

    @property
    def told(self) -> str:
        """Who raised what, while it read which examples."""
        who = "" if self.worker is None else f"worker {self.worker} raised "
        return f"{who}{self.raised.told}{self.reading}"

    @property
    def reading(self) -> str:
        """Which example was being read, or which list, where that is known."""
        if self.index is not None:
            return f", while it read id {self.index}"
        notes = getattr(self.exc, "__notes__", ())
        noted = next((note for note in notes if note.startswith(READING_IDS)), None)
        return "" if noted is None else f", {noted}"

    @property
    def lacks_memory(self) -> bool:
        """Whether an allocation was refused, to it or to what led to it."""
        return bool(self.kinds & _MEMORY_KINDS) or any(
            item.kind in _MEMORY_KINDS or _NO_MEMORY.search(item.words)
            for item in self.raised.all()
        )

    def failure(self, kind: str, message: str, hint: str | None = None) -> Failure:
        """Return a failure with the type of what was raised."""
        return Failure(
            kind=kind,
            phase=self.phase,
            message=message,
            hint=hint,
            exception=self.raised.kind,
            log=self.log,
        )


def _throttled(ending: _Ending) -> Failure | None:
    """Return the failure of a store that is asked too often, by status or words."""
    told = is_throttled(ending.raised) or speaks_of_throttling(ending.whole)
    if told or answers_throttled(ending.exc):
        return throttled(
            ending.told, ending.raised.kind, phase=ending.phase, log=ending.log
        )
    return None


def _cannot_pickle(
    ending: _Ending, unpicklable: tuple[str, str] | None
) -> Failure | None:
    if unpicklable is None or not _PICKLE.search(ending.whole):
        return None
    path, kind = unpicklable
    hint = "make it in the worker, on first use; or --start-method fork"
    if kind.startswith("__main__."):
        hint = "put it into a module that workers can import; or --start-method fork"
    return ending.failure(
        "cannot_pickle",
        f"{path} ({kind}) cannot be pickled, and workers get it by pickle",
        hint,
    )


def _timed_out(ending: _Ending) -> Failure | None:
    found = _TIMED_OUT.search(ending.whole)
    if found is None:
        return None
    return ending.failure(
        "hung",
        f"no batch came for {found[1]} s, the loader's own timeout",
        "the DataLoader was given timeout=; a larger one waits longer",
    )


def _raised_in_worker(ending: _Ending) -> Failure | None:
    if ending.worker is None:
        return None
    return ending.failure(
        "out_of_memory" if ending.lacks_memory else "worker_exception",
        ending.told,
        "the traceback is in stderr.txt of the log folder",
    )


def _raised(ending: _Ending) -> Failure:
    """Return the failure of an exception that no worker raised."""
    if ending.lacks_memory:
        return ending.failure(
            "out_of_memory", f"the trial could not allocate memory: {ending.told}"
        )
    kind = "worker_exception" if ending.phase != "prediction" else "crashed"
    return ending.failure(kind, ending.told)


def _text(exc: BaseException) -> str:
    """Return what an exception says; nothing where its own code fails."""
    try:
        return str(exc)
    except Exception:  # noqa: BLE001  # whatever a user's exception does when asked
        return ""


def _chain(exc: BaseException) -> list[BaseException]:
    """Return the exception and what it was raised from, outermost first."""
    found: list[BaseException] = []
    current: BaseException | None = exc
    while current is not None and not any(current is item for item in found):
        found.append(current)
        current = current.__cause__ or current.__context__
    return found


def index_being_read(exc: BaseException) -> str | None:
    """Return the index at which a fetcher of PyTorch's stood; None where it is not one.

    Args:
        exc: as it was raised, with its frames.
    """
    for frame, _line in traceback.walk_tb(exc.__traceback__):
        if frame.f_code.co_filename.endswith(_FETCHER):
            index = frame.f_locals.get("idx")
            if isinstance(index, (int, str)) and len(str(index)) <= LONGEST_INDEX:
                return str(index)
    return None


def _wrapper_behind(exc: BaseException) -> Any:
    """Return the wrapper in which PyTorch brought an exception here, if it did.

    What is raised again from it may be of another class, and have other words.
    """
    for found in _selves_behind(exc):
        if type(found).__name__ == "ExceptionWrapper":
            return found
    return None


def _workers_behind(exc: BaseException) -> list[Any]:
    """Return the worker processes of the iterator that an exception came through."""
    for found in _selves_behind(exc):
        if type(found).__name__.endswith("DataLoaderIter"):
            workers = getattr(found, "_workers", None)
            if isinstance(workers, list) and workers:
                return workers
    return []


def _selves_behind(exc: BaseException) -> Iterator[Any]:
    """Yield the objects whose methods an exception, or what led to it, came through."""
    for item in _chain(exc):
        for frame, _line in traceback.walk_tb(item.__traceback__):
            yield frame.f_locals.get("self")


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


def _worker_death(codes: list[int], ending: _Ending) -> Failure | None:
    """Return the failure of a dead worker, by exit code or by PyTorch's words."""
    for code in sorted(codes, key=lambda code: (code == 0, code)):
        if code < 0:
            return _killed(signal_name(-code), ending)
        return _left(code, ending)  # one that is done leaves with 0: last
    for text in ending.texts:
        by_signal = _SIGNAL.search(text)
        if by_signal is not None:
            return _killed(_name_of_words(by_signal[2]), ending)
        by_code = _CODE.search(text)
        if by_code is not None:
            return _left(int(by_code[2]), ending)
    if any(_EXITED.search(text) for text in ending.texts):
        return Failure(
            kind="crashed",
            phase=ending.phase,
            message="a worker died without a word",
            hint="see stderr.txt in the log folder",
            log=ending.log,
        )
    return None


def _killed(name: str, ending: _Ending) -> Failure:
    return Failure(
        kind="crashed",
        phase=ending.phase,
        message=f"a worker was killed by {name}",
        hint=_hint_of(name),
        signal=name,
        log=ending.log,
    )


def _left(code: int, ending: _Ending) -> Failure:
    by_signal = signal_name(code - SHELL_SIGNALS) if code > SHELL_SIGNALS else ""
    shell = f", as after {by_signal}" if by_signal.startswith("SIG") else ""
    return Failure(
        kind="crashed",
        phase=ending.phase,
        message=f"a worker left with exit code {code}{shell}",
        hint="what it printed is in stderr.txt of the log folder",
        exit_code=code,
        log=ending.log,
    )


def _hint_of(name: str) -> str | None:
    """Return the usual cause of a signal."""
    if name == "SIGBUS":
        space = shared_memory_words()
        return f"often full shared memory ({space}): docker run --shm-size"
    return _SIGNAL_HINTS.get(name)


_SIGNAL_HINTS = {
    "SIGKILL": "often the kernel, out of memory: fewer workers or a smaller queue",
    "SIGSEGV": "often a library handle opened before the workers start",
    "SIGABRT": "native code gave up; see stderr.txt in the log folder",
    "SIGILL": "a library was built for another CPU",
    "SIGXCPU": "its CPU time is limited: ulimit -t",
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

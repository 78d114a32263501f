"""The study's one truth: `outcomes.jsonl`, appended and synced before the next trial.

A torn last line (a killed writer, a full disk) is cut off when the file is opened;
whatever stands before it is kept. One writer at a time, by a lock of its own.
"""

import fcntl
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Self

from autoloader.errors import StoredFileError, UsageError
from autoloader.search.json_lines import append_line, cut_end, whole_lines
from autoloader.search.known_outcomes import KnownOutcomes
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Outcome, Reading
from autoloader.values.passwords import without_passwords

SCHEMA = 1

_NO_OUTCOME = (ValueError, KeyError, TypeError, RecursionError, StoredFileError)
"""What reading a line raises that is no outcome; nested too deeply, it recurses."""


class Record:
    """Outcomes of one study, on disk.

    A line that is no outcome and stands before the last one is a `StoredFileError` at
    the first use of what is known; `begin_anew` puts such a file aside.

    Args:
        folder: the study's folder; made where it is missing.
        goes_on: whether the same command goes on with it, or begins another.

    Raises:
        UsageError: another process has the study open, or the folder cannot be used.
    """

    def __init__(self, folder: Path, *, goes_on: bool = True) -> None:
        self._again = "it goes on from here" if goes_on else "it begins anew"
        self._path = folder / "outcomes.jsonl"
        self._known = KnownOutcomes()
        self._damage: StoredFileError | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = _lock(folder / "lock")
            try:
                self._read()
            except StoredFileError as exc:
                self._damage = exc
            except BaseException:
                self._lock.close()
                raise
        except OSError as exc:
            msg = f"the study's folder {folder} cannot be used: {exc.strerror}"
            raise UsageError(msg, hint="work in a folder on a local disk") from exc

    def __enter__(self) -> Self:
        """Return the open record."""
        return self

    def __exit__(self, *_exc: object) -> None:
        """Give the lock back."""
        self.close()

    def close(self) -> None:
        """Give the lock back; nothing can be added afterwards by right."""
        self._lock.close()

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """All outcomes in order of their numbers, later readings included.

        Raises:
            StoredFileError: the file is damaged.
        """
        return self._outcomes().outcomes

    def of_config(self, config: LoaderConfig) -> Outcome | None:
        """Return the outcome of a config, None where it was not tried."""
        return self._outcomes().of_config(config)

    def __getitem__(self, config: LoaderConfig) -> Outcome:
        """Return the outcome of a config; KeyError where it was not tried."""
        return self._outcomes()[config]

    def add(self, outcome: Outcome) -> None:
        """Append an outcome; it is on the disk when this returns.

        Passwords that its failure says are left out.

        Raises:
            StoredFileError: the disk refuses; what was known is still whole.
        """
        known = self._outcomes()
        outcome = _as_kept(outcome)
        self._append({"record": "trial", "outcome": outcome.to_dict()})
        known.add(outcome)

    def add_reading(self, number: int, reading: Reading) -> None:
        """Append one more reading of a trial that was measured.

        Raises:
            KeyError: there is no such trial.
            StoredFileError: the disk refuses; what was known is still whole.
        """
        known = self._outcomes()
        if number not in known:
            raise KeyError(number)
        self._append(
            {"record": "reading", "number": number, "reading": reading.to_dict()}
        )
        known.add_reading(number, reading)

    def begin_anew(self) -> None:
        """Put the old outcomes aside, under a name that is free, and start empty."""
        if self._path.exists():
            number = 1
            while (kept := self._path.with_name(f"outcomes.{number}.jsonl")).exists():
                number += 1
            self._path.rename(kept)
        self._known.clear()
        self._damage = None

    def _outcomes(self) -> KnownOutcomes:
        if self._damage is not None:
            raise self._damage
        return self._known

    def _append(self, data: dict[str, Any]) -> None:
        try:
            append_line(self._path, {"schema": SCHEMA, **data})
        except OSError as exc:
            msg = f"{self._path} cannot be written: {exc.strerror}"
            hint = f"free some space and run the same command: {self._again}"
            raise StoredFileError(msg, hint=hint) from exc

    def _read(self) -> None:
        """Take in the file, and cut off what a writer left half done at its end."""
        if not self._path.exists():
            return
        lines, torn = whole_lines(self._path)
        for number, line in enumerate(lines, start=1):
            try:
                self._take(json.loads(line))
            except _NO_OUTCOME as exc:
                msg = f"{self._path}, line {number} is no outcome: {_words(exc)}"
                hint = "start anew with --fresh; the file is kept under another name"
                raise StoredFileError(msg, hint=hint) from exc
        cut_end(self._path, torn)

    def _take(self, data: dict[str, Any]) -> None:
        if data["schema"] != SCHEMA:
            msg = f"schema {data['schema']} is not {SCHEMA}"
            raise StoredFileError(msg)
        if data["record"] == "trial":
            outcome = Outcome.from_dict(data["outcome"])
            self._known.add(outcome)
        else:
            number, reading = data["number"], Reading.from_dict(data["reading"])
            if number not in self._known:
                msg = f"it is a reading of trial {number}, which is not there"
                raise StoredFileError(msg)
            self._known.add_reading(number, reading)


def _as_kept(outcome: Outcome) -> Outcome:
    """Return an outcome whose failure says no password."""
    failure = outcome.failure
    if failure is None:
        return outcome
    hint = None if failure.hint is None else without_passwords(failure.hint)
    message = without_passwords(failure.message)
    return replace(outcome, failure=replace(failure, message=message, hint=hint))


def _words(exc: Exception) -> str:
    return f"it lacks {exc}" if isinstance(exc, KeyError) else str(exc)


def _lock(path: Path) -> IO[bytes]:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    file = os.fdopen(os.open(path, flags, 0o600), "r+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        msg = f"another autoloader works on the study in {path.parent}"
        raise UsageError(msg, hint="wait for it, or end it") from None
    except OSError:
        file.close()
        raise
    return file

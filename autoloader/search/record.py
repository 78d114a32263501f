"""The study's one truth: `outcomes.jsonl`, appended and synced before the next trial.

A torn last line (a killed writer, a full disk) is cut off when the file is opened;
whatever stands before it is kept. One writer at a time, by a lock of its own.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from autoloader.errors import StoredFileError, UsageError
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Outcome, Reading

SCHEMA = 1


class Record:
    """Outcomes of one study, on disk.

    Args:
        folder: the study's folder; made where it is missing.

    Raises:
        UsageError: another process has the study open.
        StoredFileError: a line that is no outcome stands before the last one.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path = folder / "outcomes.jsonl"
        self._lock = _lock(folder / "lock")
        self._outcomes: dict[int, Outcome] = {}
        self._read()

    def __enter__(self) -> Self:
        """Return the open record."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the lock back."""
        self._lock.close()

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """All outcomes in order of their numbers, later readings included."""
        return tuple(self._outcomes[number] for number in sorted(self._outcomes))

    def of_config(self, config: LoaderConfig) -> Outcome | None:
        """Return the outcome of a config, None where it was not tried."""
        return next(
            (item for item in self._outcomes.values() if item.config == config), None
        )

    def __getitem__(self, config: LoaderConfig) -> Outcome:
        """Return the outcome of a config; KeyError where it was not tried."""
        found = self.of_config(config)
        if found is None:
            raise KeyError(config)
        return found

    def add(self, outcome: Outcome) -> None:
        """Append an outcome; it is on the disk when this returns."""
        self._append({"record": "trial", "outcome": outcome.to_dict()})
        self._outcomes[outcome.number] = outcome

    def add_reading(self, number: int, reading: Reading) -> None:
        """Append one more reading of a trial that was measured."""
        self._append(
            {"record": "reading", "number": number, "reading": reading.to_dict()}
        )
        self._outcomes[number] = self._outcomes[number].with_reading(reading)

    def begin_anew(self) -> None:
        """Put the old outcomes aside, under a name that is free, and start empty."""
        if self._path.exists():
            number = 1
            while (kept := self._path.with_name(f"outcomes.{number}.jsonl")).exists():
                number += 1
            self._path.rename(kept)
        self._outcomes.clear()

    def _append(self, data: dict[str, Any]) -> None:
        line = json.dumps({"schema": SCHEMA, **data}, allow_nan=False) + "\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self._path, flags, 0o666)
        try:
            before = os.fstat(descriptor).st_size
            try:
                _write_whole(descriptor, line.encode())
                os.fsync(descriptor)
            except OSError as exc:
                os.ftruncate(descriptor, before)
                msg = f"{self._path} cannot be written: {exc.strerror}"
                hint = "free some space and run the same command: it goes on from here"
                raise StoredFileError(msg, hint=hint) from exc
        finally:
            os.close(descriptor)

    def _read(self) -> None:
        if not self._path.exists():
            return
        data = self._path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        lines = whole.splitlines()
        for number, line in enumerate(lines, start=1):
            try:
                self._take(json.loads(line))
            except (
                ValueError,
                KeyError,
                TypeError,
                StoredFileError,
                AssertionError,
            ) as exc:
                if number == len(lines):
                    whole = whole[: -len(line) - 1]
                    break
                msg = f"{self._path}, line {number} is no outcome: {exc}"
                hint = "start anew with --fresh; the file is kept under another name"
                raise StoredFileError(msg, hint=hint) from exc
        if len(whole) != len(data):
            with self._path.open("r+b") as file:
                file.truncate(len(whole))
                os.fsync(file.fileno())

    def _take(self, data: dict[str, Any]) -> None:
        if data["schema"] != SCHEMA:
            msg = f"schema {data['schema']} is not {SCHEMA}"
            raise StoredFileError(msg)
        if data["record"] == "trial":
            outcome = Outcome.from_dict(data["outcome"])
            self._outcomes[outcome.number] = outcome
        else:
            number = data["number"]
            reading = Reading.from_dict(data["reading"])
            self._outcomes[number] = self._outcomes[number].with_reading(reading)


def _write_whole(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _lock(path: Path) -> IO[bytes]:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    file = os.fdopen(os.open(path, flags, 0o600), "r+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        msg = f"another autoloader works on the study in {path.parent}"
        raise UsageError(msg, hint="wait for it, or end it") from None
    return file

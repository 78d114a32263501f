"""Open the storage of a fleet, and ask it again where it does not answer.

A database restarts, a network is gone for a while: each question is asked again for a
bounded time, told in one line, and then it is an error without a password in it. So
each question must be one that may be asked twice (`search.shared_study`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import optuna
from optuna.exceptions import StorageInternalError
from optuna.storages import BaseStorage, JournalStorage, RDBStorage, get_storage
from sqlalchemy import NullPool, create_engine, inspect, text
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from autoloader.errors import StoredFileError, UsageError
from autoloader.search.shared_journal import SharedJournal

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.values.fleet import Storage

Answer = TypeVar("Answer")

PATIENCE_S = 60.0
"""Seconds for which a storage that does not answer is asked again."""

OPENING_S = 10.0
"""The same before it has ever answered: the address may be mistyped."""

_FIRST_PAUSE_S = 0.1

_LONGEST_PAUSE_S = 5.0

_SILENT = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""A server that is gone without a word is noticed: seconds; the last, milliseconds."""

_MAKING = 0x6175746F
"""Number of the lock, in the database, of who makes its tables."""

_LAST_MADE = "alembic_version"
"""Where this table is, all of Optuna's are."""

_NO_ANSWER = (StorageInternalError, SQLAlchemyError, OSError, ValueError)
"""What a question raises that is not answered; the last by a journal's torn line."""


@dataclass(slots=True, kw_only=True)
class SharedStorage:
    """Optuna's storage, asked as often as it takes."""

    storage: Storage
    on_trouble: Callable[[str, str | None], None]
    """Told, once an outage, what is wrong, and what is done about it."""
    patience_s: float = PATIENCE_S
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    outages: int = 0
    """How often it did not answer, and did again."""
    opened: BaseStorage | None = field(default=None, repr=False)
    """None: it is opened by the first question."""

    def ask(self, question: Callable[[BaseStorage], Answer]) -> Answer:
        """Return the answer of a question that may be asked twice.

        Raises:
            UsageError: the storage can never be opened as it is named.
            StoredFileError: it did not answer for as long as is waited.
        """
        pause_s = _FIRST_PAUSE_S
        begun: float | None = None
        while True:
            patience_s = OPENING_S if self.opened is None else self.patience_s
            try:
                answer = question(self._ready())
            except optuna.exceptions.UpdateFinishedTrialError:
                raise
            except _NO_ANSWER as exc:
                words = self._words(exc)
            else:
                self.outages += begun is not None
                return answer
            if begun is None:
                begun = self.clock()
                self._tell(words, patience_s)
            if self.clock() - begun >= patience_s:
                raise self._gone(words, patience_s)
            self.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def ask_once(self, question: Callable[[BaseStorage], object]) -> None:
        """Ask what matters little: raises nothing where it is not answered."""
        if self.opened is None:
            return
        try:
            question(self.opened)
        except (optuna.exceptions.UpdateFinishedTrialError, *_NO_ANSWER):
            return

    def close(self) -> None:
        """Close its connections; the next question opens others."""
        if self.opened is not None:
            _close(self.opened)

    def _ready(self) -> BaseStorage:
        if self.opened is None:
            optuna.logging.set_verbosity(optuna.logging.ERROR)
            self.opened = _opened(self.storage)
        return self.opened

    def _tell(self, words: str, patience_s: float) -> None:
        self.on_trouble(
            f"the fleet's storage {self.storage.shown} does not answer: {words}",
            f"it is asked again for {patience_s:g} s",
        )

    def _gone(self, words: str, patience_s: float) -> StoredFileError:
        shown = self.storage.shown
        if self.opened is None:
            msg = f"the fleet's storage {shown} cannot be opened: {words}"
            return StoredFileError(msg, hint="autoloader help fleet says what it needs")
        msg = (
            f"the fleet's storage {shown} has not answered for {patience_s:g} s: "
            f"{words}"
        )
        hint = "what this machine measured is kept: the same command goes on with it"
        return StoredFileError(msg, hint=hint)

    def _words(self, exc: BaseException) -> str:
        """Return what is wrong in one line without a password."""
        innermost = exc
        while innermost.__cause__ is not None:
            innermost = innermost.__cause__
        lines = str(innermost).strip().splitlines()
        text = lines[0] if lines else type(innermost).__name__
        return self.storage.without_password(text)


def _opened(storage: Storage) -> BaseStorage:
    """Return Optuna's storage.

    Raises:
        UsageError: the driver is missing, the URL is none, or the tables are of another
            version of Optuna.
    """
    if storage.kind == "journal":
        return JournalStorage(SharedJournal(Path(storage.address)))
    try:
        return get_storage(_database(storage.address))
    except ImportError:
        msg = "--storage of PostgreSQL needs the package psycopg"
        problem = UsageError(msg, hint="pip install 'psycopg[binary]', or .[fleet]")
    except (ArgumentError, ValueError):  # the latter where a port is no number
        msg = f"--storage is no URL: {storage.shown}"
        problem = UsageError(msg, hint="postgresql+psycopg://USER@HOST/DATABASE")
    except RuntimeError as exc:  # Optuna's words, on versions of tables
        msg = f"the storage {storage.shown} cannot be used: {exc}"
        problem = UsageError(storage.without_password(msg))
    raise problem


def _close(storage: BaseStorage) -> None:
    """Close the connections of a storage, where it has some."""
    database = getattr(storage, "_backend", None)  # behind the cache of `get_storage`
    if isinstance(database, RDBStorage):
        database.remove_session()
        database.engine.dispose()


def _database(url: str) -> BaseStorage:
    """Return a database as Optuna's storage, its tables made where they are missing.

    By one machine after the other: two that make the same table get in each other's
    way.
    """
    silent = {name: value for name, value in _SILENT.items() if f"{name}=" not in url}
    engine = create_engine(url, poolclass=NullPool, connect_args=silent)
    with engine.connect() as connection:
        if not inspect(connection).has_table(_LAST_MADE):
            connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _MAKING})
        return RDBStorage(
            # braces of a password are no template of Optuna's
            url.replace("{", "{{").replace("}", "}}"),
            engine_kwargs={"pool_pre_ping": True, "connect_args": silent},
        )

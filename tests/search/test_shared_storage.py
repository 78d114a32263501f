"""A storage that does not answer is asked again, told once, and then an error."""

import sys
import traceback
from pathlib import Path

import optuna
import pytest
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage
from sqlalchemy.exc import OperationalError

from autoloader.errors import StoredFileError, UsageError
from autoloader.search.shared_storage import OPENING_S, PATIENCE_S, SharedStorage
from autoloader.values.fleet import Storage
from tests.fakes import FakeClock

PASSWORD = "swordfish-7391"  # noqa: S105  # of no server

DATABASE = Storage.parse(
    "env:FLEET", {"FLEET": f"postgresql://me:{PASSWORD}@127.0.0.1:1/fleet"}
)
"""Nobody listens there."""

SHOWN = "postgresql+psycopg://me:***@127.0.0.1:1/fleet"


class Asked:
    """A storage that is asked, with a clock that waits for nobody."""

    def __init__(self, storage: Storage, opened: BaseStorage | None = None) -> None:
        self.clock = FakeClock()
        self.troubles: list[tuple[str, str | None]] = []
        self.shared = SharedStorage(
            storage=storage,
            on_trouble=lambda text, hint: self.troubles.append((text, hint)),
            clock=self.clock,
            sleep=self.sleep,
            opened=opened,
        )

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.now += seconds


def refused() -> OperationalError:
    """Return what SQLAlchemy raises, with a password where a driver might say it."""
    inner = OSError(f"no connection as me with {PASSWORD}\nis it running?")
    found = OperationalError("SELECT 1", {}, inner)
    found.__cause__ = inner
    return found


def test_a_question_is_asked_until_it_is_answered() -> None:
    """The trouble is told once, without the password, and counted."""
    asked = Asked(DATABASE, InMemoryStorage())
    answers = iter([refused(), refused(), refused()])

    def question(storage: BaseStorage) -> str:
        for problem in answers:
            raise problem
        return "yes"

    assert asked.shared.ask(question) == "yes"
    assert asked.troubles == [
        (
            f"the fleet's storage {SHOWN} does not answer: "
            "no connection as me with ***",
            "it is asked again for 60 s",
        )
    ]
    assert asked.shared.outages == 1
    assert asked.shared.ask(lambda _: "at once") == "at once"
    assert asked.shared.outages == 1


def test_a_storage_that_stays_away_is_an_error_that_says_what_is_kept() -> None:
    """In bounded time, and with no password in it nor in what led to it."""
    asked = Asked(DATABASE, InMemoryStorage())
    begun = asked.clock.now

    def question(storage: BaseStorage) -> None:
        raise refused()

    with pytest.raises(StoredFileError) as caught:
        asked.shared.ask(question)

    assert caught.value.message == (
        f"the fleet's storage {SHOWN} has not answered for 60 s: "
        "no connection as me with ***"
    )
    assert caught.value.hint == (
        "what this machine measured is kept: the same command goes on with it"
    )
    assert PATIENCE_S <= asked.clock.now - begun <= PATIENCE_S + 6
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


def test_a_trial_that_is_ended_already_is_an_answer() -> None:
    """To ask again would change nothing."""
    asked = Asked(DATABASE, InMemoryStorage())

    def question(storage: BaseStorage) -> None:
        raise optuna.exceptions.UpdateFinishedTrialError

    with pytest.raises(optuna.exceptions.UpdateFinishedTrialError):
        asked.shared.ask(question)

    assert asked.troubles == []
    asked.shared.ask_once(question)


def test_what_matters_little_is_asked_once() -> None:
    """A sign of life that is lost is followed by another."""
    asked = Asked(DATABASE, InMemoryStorage())
    times: list[int] = []

    def question(storage: BaseStorage) -> None:
        times.append(1)
        raise refused()

    asked.shared.ask_once(question)
    Asked(DATABASE).shared.ask_once(question)

    assert times == [1]
    assert asked.troubles == []


def test_a_database_that_nobody_listens_for_cannot_be_opened() -> None:
    """Told at once, and an error soon: the address may be mistyped."""
    pytest.importorskip("psycopg")
    asked = Asked(DATABASE)
    begun = asked.clock.now

    with pytest.raises(StoredFileError) as caught:
        asked.shared.ask(lambda _: None)

    assert caught.value.message.startswith(
        f"the fleet's storage {SHOWN} cannot be opened: connection failed: "
    )
    assert caught.value.hint == "autoloader help fleet says what it needs"
    assert OPENING_S <= asked.clock.now - begun <= OPENING_S + 6
    assert [hint for _, hint in asked.troubles] == ["it is asked again for 10 s"]
    told = "".join(traceback.format_exception(caught.value)) + str(asked.troubles)
    assert PASSWORD not in told
    assert caught.value.__context__ is None


def test_a_driver_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    asked = Asked(DATABASE)

    with pytest.raises(UsageError) as caught:
        asked.shared.ask(lambda _: None)

    assert caught.value.message == ("--storage of PostgreSQL needs the package psycopg")
    assert caught.value.hint == "pip install 'psycopg[binary]', or .[fleet]"
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))


def test_tables_of_another_version_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """In Optuna's words, which say how to bring them up to date."""

    def outdated(url: str) -> BaseStorage:
        msg = f"the schema at {url} is old; optuna storage upgrade"
        raise RuntimeError(msg)

    monkeypatch.setattr("autoloader.search.shared_storage._database", outdated)
    asked = Asked(DATABASE)

    with pytest.raises(UsageError) as caught:
        asked.shared.ask(lambda _: None)

    assert caught.value.message == (
        f"the storage {SHOWN} cannot be used: the schema at {SHOWN} is old; "
        "optuna storage upgrade"
    )
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))


def test_a_url_that_is_none_is_told() -> None:
    """SQLAlchemy reads it, and says little that a person could use."""
    asked = Asked(Storage.parse("postgresql://me@db:port/fleet", {}))

    with pytest.raises(UsageError) as caught:
        asked.shared.ask(lambda _: None)

    assert caught.value.message == (
        "--storage is no URL: postgresql+psycopg://me@db:port/fleet"
    )
    assert caught.value.hint == "postgresql+psycopg://USER@HOST/DATABASE"


def test_a_path_is_opened_as_a_journal(tmp_path: Path) -> None:
    """And made where it is missing."""
    path = tmp_path / "fleet.journal"
    asked = Asked(Storage.parse(str(path), {}))

    kind = asked.shared.ask(type)

    assert kind is JournalStorage
    assert path.exists()


def test_a_journal_that_is_damaged_is_told(tmp_path: Path) -> None:
    """After it was read again: a writer may have cut a torn end meanwhile."""
    path = tmp_path / "fleet.journal"
    path.write_text("nothing\n")
    asked = Asked(Storage.parse(str(path), {}))

    with pytest.raises(StoredFileError) as caught:
        asked.shared.ask(type)

    assert caught.value.message == (
        f"the fleet's storage {path} cannot be opened: "
        "Expecting value: line 1 column 1 (char 0)"
    )

"""What `--storage` names, and that its password is shown nowhere."""

from pathlib import Path

import pytest

from autoloader.errors import UsageError
from autoloader.values.fleet import Storage
from autoloader.values.passwords import LEFT_OUT

EXAMPLES = "postgresql+psycopg://USER@HOST/DATABASE, or FOLDER/NAME.journal"


@pytest.mark.parametrize(
    "text",
    [
        "postgresql+psycopg://me@db/fleet",
        "postgresql://me@db/fleet",
        "postgres://me@db/fleet",
        "POSTGRESQL://me@db/fleet",
    ],
)
def test_a_url_of_postgresql_gets_the_driver_that_is_installed(text: str) -> None:
    """However people write it."""
    found = Storage.parse(text, {})

    assert found.kind == "postgresql"
    assert found.address == "postgresql+psycopg://me@db/fleet"
    assert found.shown == found.address


def test_a_path_is_a_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its absolute path, wherever the working folder is later."""
    monkeypatch.chdir(tmp_path)

    found = Storage.parse("fleet.journal", {})

    assert found.kind == "journal"
    assert found.address == found.shown == str(tmp_path / "fleet.journal")


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("postgresql://me:sword%40fish@db:5432/fleet", "sword%40fish"),
        ("postgresql://me:sword%40fish@db:5432/fleet", "sword@fish"),
        ("postgresql://me:pa/ss@db/fleet", "pa/ss"),
        ("postgresql://db/fleet?user=me&password=sesame", "sesame"),
        ("postgresql://db/fleet?user=me&sslpassword=sesame", "sesame"),
    ],
)
def test_a_variable_may_hold_a_password_that_is_shown_nowhere(
    url: str, secret: str
) -> None:
    """Neither as it stands there nor as it is meant."""
    found = Storage.parse("env:FLEET", {"FLEET": url})

    assert found.address == url.replace("postgresql:", "postgresql+psycopg:")
    assert secret not in found.shown
    assert LEFT_OUT in found.shown
    assert secret not in repr(found)
    assert secret not in found.without_password(f"cannot log in as me with {secret!r}")


def test_a_password_in_the_flag_is_refused() -> None:
    """The list of processes shows it to all, whatever is done about it later."""
    with pytest.raises(UsageError) as caught:
        Storage.parse("postgresql://me:swordfish@db/fleet", {})

    assert caught.value.message == (
        "--storage holds a password, which the list of processes shows to all"
    )
    assert caught.value.hint == (
        "--storage env:NAME reads the URL from the variable NAME; or leave the "
        "password to PGPASSWORD or ~/.pgpass"
    )


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "sqlite:///fleet.db",
            "--storage must be of PostgreSQL, or a file .journal, got a URL of sqlite",
            f"SQLite hands one trial out to two machines; {EXAMPLES}",
        ),
        (
            "mysql://me@db/fleet",
            "--storage must be of PostgreSQL, or a file .journal, got a URL of mysql",
            EXAMPLES,
        ),
        (
            "fleet.log",
            "--storage must be a URL of PostgreSQL, or a file .journal, got "
            "'fleet.log'",
            EXAMPLES,
        ),
        (
            "/no/such/folder/fleet.journal",
            "--storage names a file in /no/such/folder, which is no folder",
            "make it where all machines of the fleet see it",
        ),
        (
            "env:FLEET",
            "--storage names the variable FLEET, which is empty",
            f"export FLEET={EXAMPLES}",
        ),
        (
            "env:",
            "--storage names the variable without a name, which is empty",
            f"export NAME={EXAMPLES}",
        ),
    ],
)
def test_what_is_no_storage_of_a_fleet_is_refused(
    text: str, message: str, hint: str
) -> None:
    """With the rule, and what it may be."""
    with pytest.raises(UsageError) as caught:
        Storage.parse(text, {})

    assert caught.value.message == message
    assert caught.value.hint == hint

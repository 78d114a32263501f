"""What a fleet shares, and who of it works on a trial: values alone.

Nothing here opens a storage (`search.shared_storage`) or looks at processes
(`measure.holders`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self
from urllib.parse import unquote, unquote_plus

from autoloader.errors import UsageError
from autoloader.values.decode import Stored
from autoloader.values.passwords import LEFT_OUT, without_passwords

if TYPE_CHECKING:
    from collections.abc import Mapping

FROM_ENVIRONMENT = "env:"
"""What stands before the name of a variable that holds the storage."""

JOURNAL = ".journal"
"""What the name of a file ends with that a fleet shares."""

_DRIVER = "postgresql+psycopg"

_SCHEMES = {"postgres", "postgresql", _DRIVER}

_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://")

_SECRET = re.compile(
    r"(?:://[^:/@]*:(?P<of_user>[^@]*)@|[?&]\w*pass\w*=(?P<of_query>[^&]*))"
)
"""A password as SQLAlchemy finds it: to the first @, whatever stands in it."""

_EXAMPLES = "postgresql+psycopg://USER@HOST/DATABASE, or FOLDER/NAME.journal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Where the study of a fleet is kept. Shown without its password, everywhere."""

    kind: Literal["postgresql", "journal"]
    """A database, or a file in a folder that all machines see."""
    address: str = field(repr=False)
    """URL with the driver's name, or absolute path. May hold a password."""

    @classmethod
    def parse(cls, text: str, environ: Mapping[str, str]) -> Self:
        """Return the storage that `--storage` names.

        Args:
            text: a URL without a password, the path of a file that ends with
                `.journal`, or `env:NAME` where the variable NAME holds either; a URL in
                a variable may have a password.
            environ: variables.

        Raises:
            UsageError: it is none of these, or others would see its password.
        """
        if text.startswith(FROM_ENVIRONMENT):
            return cls._of(_held_by(text.removeprefix(FROM_ENVIRONMENT), environ))
        if without_passwords(text) != text:
            msg = "--storage holds a password, which the list of processes shows to all"
            hint = (
                "--storage env:NAME reads the URL from the variable NAME; or leave the "
                "password to PGPASSWORD or ~/.pgpass"
            )
            raise UsageError(msg, hint=hint)
        return cls._of(text)

    @classmethod
    def _of(cls, text: str) -> Self:
        found = _SCHEME.match(text)
        if found is None:
            return cls(kind="journal", address=_journal(text))
        scheme = found["scheme"].lower()
        if scheme not in _SCHEMES:
            msg = (
                f"--storage must be of PostgreSQL, or a file {JOURNAL}, got a URL of "
                f"{scheme}"
            )
            lends_twice = "SQLite hands one trial out to two machines; "
            more = lends_twice if scheme.startswith("sqlite") else ""
            raise UsageError(msg, hint=f"{more}{_EXAMPLES}")
        return cls(kind="postgresql", address=f"{_DRIVER}://{text[found.end() :]}")

    @property
    def shown(self) -> str:
        """The storage as people may see it."""
        return self.without_password(self.address)

    def without_password(self, text: str) -> str:
        """Return a text that somebody wrote of this storage, its password left out."""
        for secret in self._secrets():
            text = text.replace(secret, LEFT_OUT)
        return without_passwords(text)

    def _secrets(self) -> tuple[str, ...]:
        """Return the passwords, as they stand there and as they are meant."""
        if self.kind == "journal":
            return ()
        given = [part or "" for item in _SECRET.findall(self.address) for part in item]
        forms = {form(item) for item in given for form in (str, unquote, unquote_plus)}
        return tuple(sorted(forms - {""}, key=len, reverse=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder(Stored):
    """The process that works on a trial, told apart from all others anywhere."""

    host: str
    """Name of its machine, for people."""
    boot: str
    """What the kernel calls the time since it was started; empty: it does not tell."""
    namespace: str
    """Which processes it sees: pids of another container mean others."""
    pid: int
    """Process id."""
    start_ticks: int
    """Clock ticks from boot to its start: the pid may be another's later."""


def _held_by(name: str, environ: Mapping[str, str]) -> str:
    text = environ.get(name, "")
    if not text:
        msg = f"--storage names the variable {name or 'without a name'}, which is empty"
        raise UsageError(msg, hint=f"export {name or 'NAME'}={_EXAMPLES}")
    return text


def _journal(text: str) -> str:
    """Return the absolute path of a journal: its lock points at it."""
    path = Path(text).absolute()
    if path.suffix != JOURNAL or "\0" in text:
        msg = (
            f"--storage must be a URL of PostgreSQL, or a file {JOURNAL}, got "
            f"{without_passwords(text)!r}"
        )
        raise UsageError(msg, hint=_EXAMPLES)
    if not path.parent.is_dir():
        msg = f"--storage names a file in {path.parent}, which is no folder"
        raise UsageError(msg, hint="make it where all machines of the fleet see it")
    return str(path)

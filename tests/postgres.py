"""A PostgreSQL server of a test's own: on loopback, with a password, ended with it."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PASSWORD = "swordfish-7391"  # noqa: S105  # of servers that tests start
"""Of the user `fleet`: a word that nothing else says."""

USER = "fleet"


@dataclass(slots=True, kw_only=True)
class Server:
    """A running server."""

    folder: Path
    port: int
    programs: Path
    """Folder of PostgreSQL's programs."""

    @property
    def url(self) -> str:
        """The database, with the password."""
        return self.url_as(USER, PASSWORD)

    @property
    def url_without_password(self) -> str:
        """The database, as a flag may name it."""
        return f"postgresql+psycopg://{USER}@127.0.0.1:{self.port}/postgres"

    def url_as(self, user: str, password: str) -> str:
        """Return the database's URL for somebody."""
        return f"postgresql+psycopg://{user}:{password}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it; it answers when this returns."""
        options = f"-c listen_addresses=127.0.0.1 -p {self.port} -c fsync=off"
        options += f" -c unix_socket_directories={self.folder}"
        self._run(
            "pg_ctl", "start", "-w", "-D", str(self.data),
            "-l", str(self.folder / "server.log"), "-o", options,
        )  # fmt: skip

    def stop(self) -> None:
        """End it, and every connection to it."""
        self._run("pg_ctl", "stop", "-w", "-D", str(self.data), "-m", "immediate")

    @property
    def data(self) -> Path:
        """Where its tables lie."""
        return self.folder / "data"

    def make(self) -> None:
        """Make its tables, and its one user."""
        secret = self.folder / "password"
        secret.write_text(PASSWORD + "\n")
        secret.chmod(0o644)
        self._run(
            "initdb", "-D", str(self.data), "-U", USER, "--pwfile", str(secret),
            "-A", "scram-sha-256", "--no-sync",
        )  # fmt: skip
        secret.unlink()

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), *arguments]
        if os.geteuid() == 0:  # which PostgreSQL refuses
            command = ["runuser", "-u", "postgres", "--", *command]
        log = self.folder / f"{program}.log"  # a pipe would be the server's as well
        with log.open("ab") as out:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                cwd=self.folder, timeout=60, check=False,
            )  # fmt: skip
        assert done.returncode == 0, log.read_text()


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs; None where it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    if found:
        return found[-1].parent
    path = shutil.which("pg_ctl")
    return None if path is None else Path(path).resolve().parent


@contextmanager
def running() -> Iterator[Server]:
    """Run a server for the time of a `with`."""
    there = programs()
    assert there is not None, "PostgreSQL is not installed: apt-get install postgresql"
    folder = Path(tempfile.mkdtemp(prefix="autoloader-pg-", dir="/tmp"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, pwd.getpwnam("postgres").pw_uid)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        server = Server(folder=folder, port=port, programs=there)
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)

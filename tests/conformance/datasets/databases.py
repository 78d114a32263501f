"""Databases in a file, whose connections workers inherit."""

import sqlite3
from pathlib import Path
from typing import Any

import lmdb
from torch.utils.data import Dataset, get_worker_info

from tests.conformance.datasets.records import LENGTH, made, parsed, record


def lmdb_folder(folder: str) -> Path:
    """Return a database of LMDB with a record for each id."""

    def write(path: Path) -> None:
        environment = lmdb.open(str(path), map_size=1 << 20)
        with environment.begin(write=True) as transaction:
            for index in range(LENGTH):
                transaction.put(str(index).encode(), record(index))
        environment.close()

    return made(folder, "records.lmdb", write)


def sqlite_file(folder: str) -> Path:
    """Return a database of SQLite with a record for each id."""

    def write(path: Path) -> None:
        connection = sqlite3.connect(path)
        connection.execute("create table records (id integer primary key, data blob)")
        rows = [(index, record(index)) for index in range(LENGTH)]
        connection.executemany("insert into records values (?, ?)", rows)
        connection.commit()
        connection.close()

    return made(folder, "records.sqlite", write)


class OpensLmdb(Dataset[Any]):
    """Honest: opens the environment in the process that reads."""

    def __init__(self, folder: str) -> None:
        self.path = lmdb_folder(folder)
        self.environment: Any = None
        self.transaction: Any = None

    def _open(self) -> Any:
        return lmdb.open(str(self.path), readonly=True)

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        if self.transaction is None:
            self.environment = self._open()
            self.transaction = self.environment.begin()
        return parsed(self.transaction.get(str(index).encode()))


class SharesLmdb(OpensLmdb):
    """Reads through a transaction that is begun at once."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.environment = self._open()
        self.transaction = self.environment.begin()


class OpensLmdbTwice(OpensLmdb):
    """Keeps open what it counted with, and opens again in a worker."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.counted = self._open()
        with self.counted.begin() as transaction:
            self.length = transaction.stat()["entries"]

    def __len__(self) -> int:
        return int(self.length)

    def __getitem__(self, index: int) -> Any:
        if get_worker_info() is not None:
            return super().__getitem__(index)
        with self.counted.begin() as transaction:
            return parsed(transaction.get(str(index).encode()))


class SharesSqlite(Dataset[Any]):
    """Asks through a connection that is opened at once."""

    def __init__(self, folder: str) -> None:
        self.connection = sqlite3.connect(sqlite_file(folder))

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        query = "select data from records where id = ?"
        return parsed(self.connection.execute(query, (index,)).fetchone()[0])


class OpensSqlite(Dataset[Any]):
    """Honest: connects in the process that reads."""

    def __init__(self, folder: str) -> None:
        self.path = sqlite_file(folder)
        self.connection: sqlite3.Connection | None = None

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        self.connection = self.connection or sqlite3.connect(self.path)
        query = "select data from records where id = ?"
        return parsed(self.connection.execute(query, (index,)).fetchone()[0])

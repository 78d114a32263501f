"""Datasets that get their examples from somewhere: each named for where."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import threading
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT = 12
SIZE = 8192
"""Bytes of a stored example."""


def make_files(folder: Path) -> list[Path]:
    """Return a file for each example, made where they are missing."""
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{number:02d}.bin" for number in range(COUNT)]
    for number, path in enumerate(paths):
        if not path.exists():
            path.write_bytes(bytes([number]) * SIZE)
    return paths


class Files(Dataset[Any]):
    """A file for each example, decoded."""

    def __init__(self, root: str) -> None:
        self.paths = make_files(Path(root) / "files")
        (Path(root) / "classes.txt").write_text("a\nb\n")
        self.classes = (Path(root) / "classes.txt").read_text().split()

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        data = bytearray(self.paths[index].read_bytes())
        return torch.frombuffer(data, dtype=torch.uint8), index % 2


class Undecoded(Files):
    """The bytes of each file as they are."""

    def __getitem__(self, index: int) -> Any:
        return {"jpg": self.paths[index].read_bytes(), "label": index % 2}


def decode(examples: list[Any]) -> torch.Tensor:
    """Return a batch of decoded examples."""
    return torch.stack([torch.tensor(list(item["jpg"])) for item in examples])


def decoded_by_collate(root: str) -> DataLoader[Any]:
    """Return a loader that decodes in its workers."""
    return DataLoader(Undecoded(root), batch_size=4, collate_fn=decode)


class Remembered(Dataset[Any]):
    """All was read when it was built."""

    def __init__(self, root: str) -> None:
        self.rows = [path.read_bytes() for path in make_files(Path(root) / "files")]

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        return torch.tensor(self.rows[index][0])


class Mapped(Dataset[Any]):
    """One array that is mapped into memory."""

    def __init__(self, root: str) -> None:
        path = Path(root) / "rows.npy"
        if not path.exists():
            np.save(path, np.ones((COUNT, SIZE), np.uint8))
        self.rows = np.load(path, mmap_mode="r")

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        return torch.from_numpy(np.array(self.rows[index]))


class Archived(Dataset[Any]):
    """A zip archive that is kept open from the construction on."""

    def __init__(self, root: str) -> None:
        path = Path(root) / "rows.zip"
        with zipfile.ZipFile(path, "w") as made:
            for number in range(COUNT):
                made.writestr(str(number), bytes([number]) * SIZE)
        self.archive = zipfile.ZipFile(path)

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        return torch.tensor(list(self.archive.read(str(index))[:8]))


class Database(Dataset[Any]):
    """A database that C code opens and keeps open."""

    def __init__(self, root: str) -> None:
        path = Path(root) / "rows.sqlite"
        path.unlink(missing_ok=True)
        self.base = sqlite3.connect(path)
        self.base.execute("create table rows (id integer primary key, data blob)")
        rows = [(number, bytes([number]) * SIZE) for number in range(COUNT)]
        self.base.executemany("insert into rows values (?, ?)", rows)
        self.base.commit()

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        query = "select data from rows where id = ?"
        (data,) = self.base.execute(query, (index,)).fetchone()
        return torch.tensor(list(data[:8]))


class Unseen(Files):
    """Files that are opened behind Python's back, as OpenCV does."""

    def __getitem__(self, index: int) -> Any:
        import ctypes

        library = ctypes.CDLL(None)
        descriptor = library.open(os.fsencode(self.paths[index]), os.O_RDONLY)
        data = os.read(descriptor, SIZE)
        library.close(descriptor)
        return torch.tensor(data[0])


class Served(Dataset[Any]):
    """A store on this machine that is asked anew for each example."""

    def __init__(self, root: str) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            made, _ = self.listener.accept()
            with made:
                made.sendall(bytes(8))

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        with socket.create_connection(self.listener.getsockname()) as made:
            return torch.tensor(list(made.recv(8)))


class Kept(Served):
    """A connection that is made once, when the dataset is built."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.made = socket.create_connection(self.listener.getsockname())

    def _serve(self) -> None:
        made, _ = self.listener.accept()
        while made.recv(1):
            made.sendall(bytes(8))

    def __getitem__(self, index: int) -> Any:
        self.made.sendall(b"x")
        return torch.tensor(list(self.made.recv(8)))


class Lines(IterableDataset[Any]):
    """A stream of texts out of two files."""

    def __init__(self, root: str) -> None:
        self.paths = [Path(root) / f"{number}.jsonl" for number in range(2)]
        for path in self.paths:
            rows = [{"text": f"{path.stem} {row} " + "x" * 500} for row in range(20)]
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def __iter__(self) -> Iterator[Any]:
        for path in self.paths:
            with path.open() as lines:
                for line in lines:
                    yield json.loads(line)["text"]


class Batched(IterableDataset[Any]):
    """A stream that makes batches of four itself, of each worker's share."""

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        mine = torch.arange(first, 24, step)
        for place in range(0, len(mine), 4):
            rows = mine[place : place + 4]
            yield rows, rows * 2


def batched(root: str) -> DataLoader[Any]:
    """Return a loader that leaves the batches alone."""
    return DataLoader(Batched(), batch_size=None)


def first_byte(example: Any) -> int:
    """Return how much of a unit an example has: its first value."""
    return int(example[0][0])


def characters(text: str) -> int:
    """Return the length of a text."""
    return len(text)


def rows(element: Any) -> torch.Tensor:
    """Return twice the rows of a batch, as a tensor."""
    return torch.tensor(2 * len(element[0]))


def raising(example: Any) -> int:
    """Raise."""
    raise KeyError("tokens")


def negative(example: Any) -> int:
    """Return what no count can be."""
    return -1


def texts(example: Any) -> str:
    """Return no number."""
    return "3"


def endless(example: Any) -> float:
    """Return a number that is none to count with."""
    return float("nan")


def many(example: Any) -> torch.Tensor:
    """Return several numbers."""
    return torch.tensor([1, 2])


SIZE_OF_WORD = 3

"""Pictures fetched one by one from a store that takes 10 to 20 ms for each.

Reading is waiting: far more workers than CPUs pay off. Each worker holds one connection
of its own and asks for one object at a time, as clients of object stores do that are
used from `__getitem__`.
"""

import http.client
import io
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

_CHECKOUT = str(Path(__file__).resolve().parents[2])
if _CHECKOUT not in sys.path:
    sys.path.append(_CHECKOUT)

from studies.making import (  # noqa: E402  # found by the lines above
    StudyError,
    cut_pictures,
    main_of,
    make_once,
    photo_files,
    study_folder,
)

COUNT = 2048
"""Objects in the store: 64 batches of 32."""

SIDE = 96
"""Height and width of a picture, in pixels."""

PATIENCE_S = 30.0
"""Longest wait for an answer."""

OBJECTS = "objects"
"""Folder of the objects, in the study's."""

SEED = 8
RECIPE = 1
"""Version of the way the objects are made; those of another version are made anew."""


class Objects(Dataset[tuple[Tensor, int]]):
    """The objects of a store, each fetched when it is asked for.

    An example is `(pixels, label)`: float32 of shape (3, 96, 96), 0 to 1, and the class
    that the object's key begins with.
    """

    def __init__(self, url: str) -> None:
        """Ask the store for its keys; the connection is closed again.

        Args:
            url: address of the store, without a path.
        """
        self.connection: http.client.HTTPConnection | None = None
        """Of the process that reads; None until it asks for something."""
        self.url = url
        self.store: LocalStore | None = None
        """Held where the store belongs to this dataset: it ends with it."""
        self._process_id = 0
        self._keys = tuple(self.fetch("").decode().split())
        kinds = sorted({key.partition("/")[0] for key in self._keys})
        numbers = {kind: number for number, kind in enumerate(kinds)}
        self._labels = [numbers[key.partition("/")[0]] for key in self._keys]
        self._close()

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        content = self.fetch(self._keys[index])
        with Image.open(io.BytesIO(content)) as image:
            pixels = np.asarray(image.convert("RGB"), dtype=np.float32)
        planes = np.ascontiguousarray(pixels.transpose(2, 0, 1)) / 255
        return torch.from_numpy(planes), self._labels[index]

    def __getstate__(self) -> dict[str, Any]:
        # Neither a connection nor the store's process can be sent to a spawned worker.
        return {**self.__dict__, "connection": None, "store": None}

    def __del__(self) -> None:
        self._close()

    def fetch(self, key: str) -> bytes:
        """Return an object's content.

        A store may close a connection that was idle, which shows when the next request
        is sent: it is sent once more, over a new one.
        """
        try:
            return self._ask(key)
        except ConnectionError:
            self._close()
            return self._ask(key)

    def _ask(self, key: str) -> bytes:
        connection = self._own_connection()
        connection.request("GET", f"/{quote(key)}")
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != http.client.OK:
            msg = f"{self.url} answered {answer.status} {answer.reason} for {key!r}"
            raise StudyError(msg)
        return content

    def _own_connection(self) -> http.client.HTTPConnection:
        """Return this process's connection; one that was inherited is not used."""
        if self.connection is None or self._process_id != os.getpid():
            self._close()
            place = urlsplit(self.url)
            self.connection = http.client.HTTPConnection(
                place.hostname or "", place.port, timeout=PATIENCE_S
            )
            self._process_id = os.getpid()
        return self.connection

    def _close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class LocalStore:
    """A store in a process of its own, for as long as this one lives.

    It ends with this object, and when the last process is gone that holds the other end
    of its stdin: this one and those forked from it. So it outlives nobody, however they
    ended.
    """

    def __init__(self, folder: Path) -> None:
        """Start it over the files of a folder.

        Raises:
            StudyError: it ended before it said its address.
        """
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("store.py"), folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        weakref.finalize(self, _end, self._process, os.getpid())
        out = self._process.stdout
        self.url = "" if out is None else out.readline().strip()
        """Its address."""
        if not self.url:
            msg = f"the store of {folder} ended at once; its reason is above"
            raise StudyError(msg)

    @property
    def process_id(self) -> int:
        """Of the store."""
        return self._process.pid


def make_objects(root: Path, photos: Path | None = None, count: int = COUNT) -> bool:
    """Make the objects unless they are there; return whether they were made.

    Args:
        root: folder of the study's files.
        photos: folder of the photos; None: the one in the user's cache.
        count: number of objects.
    """

    def write(folder: Path) -> None:
        pictures = cut_pictures(photo_files(photos), count, SIDE, SEED)
        for number, (picture, label) in enumerate(pictures):
            path = folder / OBJECTS / f"{label:02d}" / f"{number:06d}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(picture)

    recipe = {"study": "remote", "recipe": RECIPE, "count": count}
    return make_once(root, recipe, write, photos)


def remote(
    url: str | None = None,
    root: str | None = None,
    photos: str | None = None,
    count: int = COUNT,
) -> Objects:
    """Return the objects of a store.

    Args:
        url: address of a store that runs; None: one is started, over objects that are
            made first where they are missing, and ends with the process that asked.
        root: folder of the objects; None means the one in the user's cache.
        photos: folder of the photos that they are cut from; None: likewise.
        count: number of objects in the folder.
    """
    if url is not None:
        return Objects(url)
    folder = study_folder("remote") if root is None else Path(root)
    make_objects(folder, None if photos is None else Path(photos), count)
    store = LocalStore(folder / OBJECTS)
    found = Objects(store.url)
    found.store = store
    return found


def loader() -> DataLoader[tuple[Tensor, int]]:
    """Return a loader with PyTorch's defaults; its settings are then the baseline."""
    return DataLoader(remote(), batch_size=32, shuffle=True)


def _end(process: subprocess.Popen[str], owner: int) -> None:
    """End a store, in the process that started it only."""
    if os.getpid() != owner:
        return
    process.terminate()
    process.communicate()


if __name__ == "__main__":
    _FOLDER = study_folder("remote")
    sys.exit(main_of(lambda: make_objects(_FOLDER), _FOLDER, sys.argv[1:]))

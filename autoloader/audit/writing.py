"""Write arrays and tables beside each other; a disk that refuses is named by the file.

Plain `.npy` without pickle, and JSON. What is in them belongs to those who write.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from autoloader.errors import StoredFileError
from autoloader.files import refusals_named

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array.

    Raises:
        StoredFileError: the disk refuses.
    """
    with _refusals_named(path), path.open("wb") as file:
        np.save(_Plain(file), array, allow_pickle=False)


def write_table(path: Path, table: Any) -> None:
    """Write what JSON can hold.

    Raises:
        StoredFileError: the disk refuses.
    """
    with _refusals_named(path):
        path.write_text(json.dumps(table), encoding="utf-8")


@contextmanager
def _refusals_named(path: Path) -> Iterator[None]:
    """Name the file that a disk refuses.

    Where its folder is gone, somebody removed it: this pass is lost, the study is not.
    """
    try:
        with refusals_named(path):
            yield
    except StoredFileError as exc:
        if isinstance(exc.__cause__, FileNotFoundError):
            raise exc.__cause__ from None
        raise


class _Plain:
    """A file of which numpy knows no more than how to write.

    To a real one it writes by itself, and says of a full disk only how many items are
    missing.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.write = file.write

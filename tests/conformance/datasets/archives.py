"""Archives, and files of HDF5, read through one handle that workers inherit."""

import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from torch.utils.data import Dataset

from tests.conformance.datasets.records import (
    LENGTH,
    SIZE,
    SlowFile,
    made,
    parsed,
    record,
)

FILLING = 9000
"""Bytes behind each record of a zip: more than its reader fetches ahead."""


def zip_file(folder: str) -> Path:
    """Return a zip of one member for each id."""

    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for index in range(LENGTH):
                name = zipfile.ZipInfo(str(index))
                archive.writestr(name, record(index).ljust(FILLING))

    return made(folder, "records.zip", write)


def tar_file(folder: str) -> Path:
    """Return a tar of one member for each id, of equal sizes."""

    def write(path: Path) -> None:
        with tarfile.open(path, "w") as archive:
            for index in range(LENGTH):
                member = tarfile.TarInfo(str(index))
                member.size = SIZE
                archive.addfile(member, io.BytesIO(record(index)))

    return made(folder, "records.tar", write)


def hdf5_file(folder: str) -> Path:
    """Return an HDF5 file with the records as rows, one chunk for each."""

    def write(path: Path) -> None:
        rows = [np.frombuffer(record(index), np.uint8) for index in range(LENGTH)]
        wide = np.pad(np.stack(rows), ((0, 0), (0, FILLING)))
        with h5py.File(path, "w") as file:
            file.create_dataset("records", data=wide, chunks=(1, wide.shape[1]))

    return made(folder, "records.h5", write)


class Archived(Dataset[Any]):
    """Reads a record for each id."""

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        return parsed(self.read(index))

    def read(self, index: int) -> bytes:
        """Return the record."""
        raise NotImplementedError


class SharesZip(Archived):
    """Reads whole members through an archive that is opened at once.

    Args:
        folder: of the run.
        is_slow: whether each read comes a moment after its seek.
    """

    def __init__(self, folder: str, is_slow: bool = True) -> None:
        path = zip_file(folder)
        self.archive = zipfile.ZipFile(SlowFile(path) if is_slow else path)

    def read(self, index: int) -> bytes:
        """Return the record."""
        return self.archive.read(str(index))


class SharesZipHeads(SharesZip):
    """Reads the head of each member: its checksum is never reached."""

    def read(self, index: int) -> bytes:
        """Return the record."""
        with self.archive.open(str(index)) as member:
            return member.read(SIZE)


class OpensZip(Archived):
    """Honest: opens the archive in the process that reads."""

    def __init__(self, folder: str) -> None:
        self.path = zip_file(folder)
        self.archive: zipfile.ZipFile | None = None

    def read(self, index: int) -> bytes:
        """Return the record."""
        self.archive = self.archive or zipfile.ZipFile(self.path)
        return self.archive.read(str(index))


class SharesTar(Archived):
    """Reads members through an archive that is opened at once.

    Args:
        folder: of the run.
        is_slow: whether each read comes a moment after its seek.
    """

    def __init__(self, folder: str, is_slow: bool = True) -> None:
        path = tar_file(folder)
        file = SlowFile(path) if is_slow else path.open("rb")
        self.archive = tarfile.open(fileobj=file)  # noqa: SIM115  # it is the fault
        self.members = self.archive.getmembers()

    def read(self, index: int) -> bytes:
        """Return the record."""
        file = self.archive.extractfile(self.members[index])
        assert file is not None
        return file.read()


class SharesHdf5(Archived):
    """Reads rows through a file of HDF5 that is opened at once.

    Args:
        folder: of the run.
        driver: how HDF5 reads: `sec2` with offsets of its own, `stdio` with the
            file's, `python` through a file object that is slow, as a remote one is.
    """

    def __init__(self, folder: str, driver: str = "sec2") -> None:
        path = hdf5_file(folder)
        if driver == "python":
            self.file = h5py.File(SlowFile(path), "r")
        else:
            self.file = h5py.File(path, "r", driver=driver)
        self.rows = self.file["records"]

    def read(self, index: int) -> bytes:
        """Return the record."""
        return bytes(self.rows[index, :SIZE].tobytes())


class OpensHdf5(Archived):
    """Honest: opens the file of HDF5 in the process that reads."""

    def __init__(self, folder: str) -> None:
        self.path = hdf5_file(folder)
        self.rows: Any = None

    def read(self, index: int) -> bytes:
        """Return the record."""
        if self.rows is None:
            self.rows = h5py.File(self.path, "r")["records"]
        return bytes(self.rows[index, :SIZE].tobytes())

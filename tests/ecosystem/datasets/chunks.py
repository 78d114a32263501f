"""litdata: chunks on disk, streamed by workers that share them, or by each whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litdata import StreamingDataLoader, StreamingDataset
from litdata.streaming.writer import BinaryWriter
from torch.utils.data import DataLoader, IterableDataset

from tests.conformance.datasets.records import LENGTH, made, parsed, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def chunked(folder: str) -> str:
    """Return a folder of chunks with ten records each."""

    def write(path: Path) -> None:
        writer = BinaryWriter(str(path), chunk_size=10)
        for index in range(LENGTH):
            writer[index] = record(index)
        writer.done()
        writer.merge()

    return str(made(folder, "chunks", write))


class Records(StreamingDataset):  # type: ignore[misc]  # untyped where not installed
    """Honest: litdata deals the chunks to workers."""

    def __init__(self, folder: str) -> None:
        super().__init__(chunked(folder), shuffle=False)

    def __getitem__(self, index: Any) -> Any:
        """Return a record's example."""
        return parsed(bytes(super().__getitem__(index)))


def streamed(folder: str) -> DataLoader[Any]:
    """Return the loader of litdata over them."""
    loader: DataLoader[Any] = StreamingDataLoader(Records(folder), batch_size=8)
    return loader


class ByIndex(IterableDataset[Any]):
    """Goes through all of it by index, in each worker."""

    def __init__(self, folder: str) -> None:
        self.records = Records(folder)

    def __iter__(self) -> Iterator[Any]:
        """Yield each example, whoever asks."""
        for index in range(LENGTH):
            yield self.records[index]

"""mosaicml-streaming: shards on disk, dealt to workers, or read by each whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streaming import MDSWriter, StreamingDataset
from torch.utils.data import DataLoader, IterableDataset

from tests.conformance.datasets.records import LENGTH, made, parsed, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def shards(folder: str) -> str:
    """Return a folder of shards with a few records each."""

    def write(path: Path) -> None:
        with MDSWriter(
            out=str(path), columns={"record": "bytes"}, size_limit=900
        ) as out:
            for index in range(LENGTH):
                out.write({"record": record(index)})

    return str(made(folder, "shards", write))


class Records(StreamingDataset):  # type: ignore[misc]  # untyped where not installed
    """Honest: it deals its shards to workers."""

    def __init__(self, folder: str) -> None:
        super().__init__(local=shards(folder), batch_size=8, shuffle=False)

    def __getitem__(self, index: Any) -> Any:
        """Return a record's example."""
        return parsed(super().__getitem__(index)["record"])


def dealt(folder: str) -> DataLoader[Any]:
    """Return a loader over them."""
    return DataLoader(Records(folder), batch_size=8)


class ByIndex(IterableDataset[Any]):
    """Goes through all of it by index, in each worker."""

    def __init__(self, folder: str) -> None:
        self.records = Records(folder)

    def __iter__(self) -> Iterator[Any]:
        """Yield each example, whoever asks."""
        for index in range(LENGTH):
            yield self.records[index]

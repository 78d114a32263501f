"""Hugging Face datasets: a table and a stream with a lambda, as people write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.utils.data import IterableDataset

from tests.conformance.datasets.libraries import hf_stream, hf_table

if TYPE_CHECKING:
    from collections.abc import Iterator


def table_with_lambda(folder: str) -> Any:
    """Return a table whose rows are changed when they are read."""
    table = hf_table(folder)
    table.set_transform(lambda rows: {**rows, "twice": [2 * n for n in rows["label"]]})
    return table


def stream_with_lambda(folder: str, shards: int = 4) -> Any:
    """Return a stream of parquet files, changed row by row."""
    stream = hf_stream(folder, shards)
    return stream.map(lambda row: {**row, "twice": 2 * row["label"]})


class _EveryRow(IterableDataset[Any]):
    """Goes through a table from its start, in each worker."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __iter__(self) -> Iterator[Any]:
        yield from self.table


def table_as_a_stream(folder: str) -> IterableDataset[Any]:
    """Return a table that is iterated, and of which no worker takes a share."""
    return _EveryRow(hf_table(folder))

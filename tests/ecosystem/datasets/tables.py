"""Hugging Face datasets: a table and a stream with a lambda, as people write them."""

from __future__ import annotations

from typing import Any

from tests.conformance.datasets.libraries import hf_stream, hf_table


def table_with_lambda(folder: str) -> Any:
    """Return a table whose rows are changed when they are read."""
    table = hf_table(folder)
    table.set_transform(lambda rows: {**rows, "twice": [2 * n for n in rows["label"]]})
    return table


def stream_with_lambda(folder: str, shards: int = 4) -> Any:
    """Return a stream of parquet files, changed row by row."""
    stream = hf_stream(folder, shards)
    return stream.map(lambda row: {**row, "twice": 2 * row["label"]})

"""Real libraries on real files: webdataset, Hugging Face datasets, datapipes."""

import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import webdataset as wds
from torch.utils.data import DataLoader
from torch.utils.data.datapipes.iter import IterableWrapper
from torchdata.stateful_dataloader import StatefulDataLoader

from tests.conformance.canary import example
from tests.conformance.datasets.records import LENGTH, made

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")

import datasets  # it asks when it is imported whether it is offline

# webdataset


def tar_shards(folder: str, shards: int) -> list[str]:
    """Return tar files of the names that webdataset reads, ids dealt to them."""

    def write(path: Path) -> None:
        path.mkdir()
        for shard in range(shards):
            with tarfile.open(path / f"{shard}.tar", "w") as archive:
                for index in range(shard, LENGTH, shards):
                    _add(archive, index)

    root = made(folder, f"webdataset-{shards}", write)
    return [f"{root}/{shard}.tar" for shard in range(shards)]


def _add(archive: tarfile.TarFile, index: int) -> None:
    whole = example(index)
    array = io.BytesIO()
    np.save(array, whole["pixels"].numpy())
    parts = {
        "npy": array.getvalue(),
        "cls": str(whole["label"]).encode(),
        "txt": whole["text"].encode(),
    }
    for kind, data in parts.items():
        member = tarfile.TarInfo(f"{index:04}.{kind}")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))


def as_example(found: dict[str, Any]) -> dict[str, Any]:
    """Return what webdataset decoded, under the names of all the others."""
    return {
        "id": int(found["__key__"]),
        "label": found["cls"],
        "pixels": torch.from_numpy(found["npy"]),
        "text": found["txt"],
    }


def _all_urls(urls: Iterator[Any]) -> Iterator[Any]:
    """Give every worker all shards."""
    yield from urls


def web(folder: str, shards: int = 4, splits: bool = True, **options: Any) -> Any:
    """Return a WebDataset.

    Args:
        folder: of the run.
        shards: tar files.
        splits: whether workers share the shards, as is the default.
        options: of WebDataset.
    """
    splitter = wds.split_by_worker if splits else _all_urls
    urls = tar_shards(folder, shards)
    options = {"shardshuffle": False, "workersplitter": splitter, **options}
    return wds.WebDataset(urls, **options).decode().map(as_example)


def web_shuffled(folder: str, splits: bool = True) -> Any:
    """Return a WebDataset whose shards and examples are shuffled."""
    return web(folder, splits=splits, shardshuffle=4, seed=1).shuffle(20)


def web_resampled(folder: str, shards: int = 25) -> Any:
    """Return a WebDataset that draws shards with replacement, for ever."""
    return web(folder, shards, resampled=True)


def web_batched(folder: str) -> DataLoader[Any]:
    """Return a loader of a WebDataset that batches itself, as its manual has it."""
    return DataLoader(web(folder).batched(8), batch_size=None)


# Hugging Face datasets


def parquet_shards(folder: str, shards: int) -> list[str]:
    """Return parquet files, ids dealt to them."""

    def write(path: Path) -> None:
        path.mkdir()
        for shard in range(shards):
            rows = [example(index) for index in range(shard, LENGTH, shards)]
            whole = datasets.Dataset.from_dict(
                {
                    "id": [row["id"] for row in rows],
                    "label": [row["label"] for row in rows],
                    "pixels": [row["pixels"].flatten().tolist() for row in rows],
                    "text": [row["text"] for row in rows],
                }
            )
            whole.to_parquet(str(path / f"{shard}.parquet"))

    root = made(folder, f"parquet-{shards}", write)
    return [f"{root}/{shard}.parquet" for shard in range(shards)]


def _loaded(folder: str, files: list[str], *, streaming: bool) -> Any:
    found = datasets.load_dataset(
        "parquet",
        data_files=files,
        split="train",
        streaming=streaming,
        cache_dir=f"{folder}/cache",
    )
    return found.with_format("torch")


def hf_table(folder: str) -> Any:
    """Return a dataset of Hugging Face in Arrow files, read by index."""
    return _loaded(folder, parquet_shards(folder, 4), streaming=False)


def hf_stream(folder: str, shards: int = 4, shuffles: bool = False) -> Any:
    """Return a stream of Hugging Face over local parquet files."""
    stream = _loaded(folder, parquet_shards(folder, shards), streaming=True)
    return stream.shuffle(seed=0, buffer_size=20) if shuffles else stream


def hf_interleaved(folder: str) -> Any:
    """Return three shards interleaved with one: they count as one."""
    files = parquet_shards(folder, 4)
    parts = [_loaded(folder, part, streaming=True) for part in (files[:3], files[3:])]
    return datasets.interleave_datasets(
        parts, stopping_strategy="all_exhausted_without_replacement"
    )


def _unchanged(batch: dict[str, Any]) -> dict[str, Any]:
    return batch


def hf_dropping(folder: str) -> Any:
    """Return a stream whose `map` drops the incomplete batch, of each worker's."""
    stream = hf_stream(folder)
    return stream.map(_unchanged, batched=True, batch_size=10, drop_last_batch=True)


def hf_rank(folder: str) -> Any:
    """Return what the first of two ranks reads of a stream."""
    from datasets.distributed import split_dataset_by_node

    return split_dataset_by_node(hf_stream(folder), rank=0, world_size=2)


# datapipes and loaders of torchdata


def pipe(order: str) -> Any:
    """Return a datapipe of numbered examples.

    Args:
        order: `unfiltered`; `filtered` has a sharding filter; `filtered_batched` drops
            the incomplete batch behind it, `batched_filtered` before it.
    """
    source = IterableWrapper([example(index) for index in range(LENGTH)])
    match order:
        case "unfiltered":
            return source
        case "filtered":
            return source.sharding_filter()
        case "filtered_batched":
            batched = source.sharding_filter().batch(10, drop_last=True)
        case "batched_filtered":
            batched = source.batch(10, drop_last=True).sharding_filter()
        case _:
            raise ValueError(order)
    return DataLoader(batched.unbatch(), batch_size=8)


def stateful_loader() -> Any:
    """Return a loader of torchdata, whose state can be saved."""
    from tests.conformance.datasets.sharding import Split

    return StatefulDataLoader(Split(), batch_size=8)

"""Read a study's examples in a plain loop, timed by hand. No tuner is imported here.

    python plain_loop.py FILE

builds the loader that `loader()` of the file gives, takes its dataset, and then takes
one JSON line an order on stdin and answers one line on stdout:

    {"kind": "rate", "settings": {...}, "warm_s": 2, "timed_s": 2}
        examples a second of whole epochs that take 2 s or more, once the loader was
        read for 2 s: files in the page cache, kept workers running, memory at hand
    {"kind": "ids", "settings": {...}}
        the labels of one epoch, where they are ids

Each order is carried out in a process that is forked for it: no config inherits what
another one has left, as none does in a training that begins with it.
"""

import contextlib
import importlib.util
import json
import os
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset


def load(path: Path) -> DataLoader[Any]:
    """Return the loader of a study's file, imported as if the file were run."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        msg = f"{path} cannot be imported"
        raise SystemExit(msg)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    found: DataLoader[Any] = module.loader()
    return found


def build(base: DataLoader[Any], settings: dict[str, Any]) -> DataLoader[Any]:
    """Return a loader of the same examples with other settings."""
    is_stream = isinstance(base.dataset, IterableDataset)
    return DataLoader(
        base.dataset,
        shuffle=None if is_stream else True,
        collate_fn=base.collate_fn,
        **settings,
    )


def size(batch: Any) -> int:
    """Return how many examples a batch has: all its fields have one row for each."""
    fields = batch.values() if isinstance(batch, dict) else batch
    return len(next(iter(fields)))


def rate(loader: DataLoader[Any], warm_s: float, timed_s: float) -> float:
    """Return the examples a second of whole epochs, start and end included."""
    if warm_s:
        warm_until = time.perf_counter() + warm_s
        for _ in loader:
            if time.perf_counter() >= warm_until:
                break
    examples, seconds = 0, 0.0
    started = time.perf_counter()
    while not examples or seconds < timed_s:
        for batch in loader:
            examples += size(batch)
        seconds = time.perf_counter() - started
    return examples / seconds


def ids(loader: DataLoader[Any]) -> list[int]:
    """Return the labels of one epoch."""
    return [label for _, labels in loader for label in labels.tolist()]


def forked(base: DataLoader[Any], order: dict[str, Any], threads: int) -> Any:
    """Return what a child of this process finds; None where it fails and says why."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            code = carry_out(base, order, threads, sending)
        os._exit(code)
    os.close(sending)
    with os.fdopen(receiving) as answer:
        found = answer.read()
    os.waitpid(child, 0)
    return json.loads(found) if found else None


def carry_out(
    base: DataLoader[Any], order: dict[str, Any], threads: int, sending: int
) -> int:
    """Answer an order into a pipe; return the exit code of its process."""
    torch.set_num_threads(threads)
    try:
        loader = build(base, order["settings"])
        if order["kind"] == "ids":
            found: Any = ids(loader)
        else:
            found = rate(loader, order["warm_s"], order["timed_s"])
    except Exception:  # noqa: BLE001  # said, and the config has no rate
        traceback.print_exc()
        return 1
    del loader
    with os.fdopen(sending, "w") as answer:
        answer.write(json.dumps(found))
    return 0


def main() -> None:
    """Answer orders until stdin ends."""
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a pool of threads would not survive the fork
    base = load(Path(sys.argv[1]).resolve())
    for line in sys.stdin:
        print(json.dumps(forked(base, json.loads(line), threads)), flush=True)


if __name__ == "__main__":
    main()

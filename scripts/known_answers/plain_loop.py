"""A plain loop over a DataLoader, timed by hand. Imports nothing of the package.

    python plain_loop.py FILE:ATTRIBUTE ARGUMENTS

builds the dataset once, then takes one JSON line an order on stdin: the loader's
settings, the index list, and which batches to time; and answers one line on stdout.
"""

import importlib.util
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader


def load(spec: str, arguments: dict[str, Any]) -> Any:
    """Return what the attribute of a file gives."""
    path, _, attribute = spec.rpartition(":")
    sys.path.insert(0, str(Path(path).parent))
    found = importlib.util.spec_from_file_location("workload", path)
    if found is None or found.loader is None:
        msg = f"{path} cannot be imported"
        raise SystemExit(msg)
    module = importlib.util.module_from_spec(found)
    sys.modules["workload"] = module
    found.loader.exec_module(module)
    return getattr(module, attribute)(**arguments)


def time_window(loader: Any, warm: int, steady: int) -> float:
    """Return the examples a second of the batches after the warm ones."""
    examples = 0
    started = ended = time.perf_counter()
    for number, batch in enumerate(loader, start=1):
        if warm < number <= warm + steady:
            examples += len(batch[0])
        if number == warm:
            started = time.perf_counter()
        elif number == warm + steady:
            ended = time.perf_counter()
    return examples / (ended - started)


def time_epoch(loader: Any) -> float:
    """Return the examples a second of a whole epoch, start and end included."""
    examples = 0
    started = time.perf_counter()
    for batch in loader:
        examples += len(batch[0])
    return examples / (time.perf_counter() - started)


def forked(loader: Any, warm: int, steady: int) -> float:
    """Return what a child of this process reads."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(sending, json.dumps(time_window(loader, warm, steady)).encode())
        os._exit(0)
    os.close(sending)
    with os.fdopen(receiving) as answer:
        found = float(json.loads(answer.read()))
    os.waitpid(child, 0)
    return found


def main() -> None:
    """Answer orders until stdin ends."""
    found = load(sys.argv[1], json.loads(sys.argv[2]))
    for line in sys.stdin:
        order = json.loads(line)
        if order["kind"] == "window":
            indices = json.loads(Path(order["indices"]).read_text())
            loader = DataLoader(found, sampler=indices, **order["settings"])
            rate = forked(loader, order["warm"], order["steady"])
        else:
            init = found.worker_init_fn
            loader = DataLoader(found.dataset, worker_init_fn=init, **order["settings"])
            if order["settings"].get("persistent_workers"):
                time_epoch(loader)
            rate = time_epoch(loader)
        del loader
        print(json.dumps(rate), flush=True)


if __name__ == "__main__":
    main()

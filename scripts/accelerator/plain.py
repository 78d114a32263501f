"""Measure in plain PyTorch what the package measures: nothing of it is imported here.

    python scripts/accelerator/plain.py loop step data --workload photos --pin
    python scripts/accelerator/plain.py device
    python scripts/accelerator/plain.py busy --seconds 3

Prints one JSON object with what each found. Each call is a process of its own, with its
own context on the device; `--device cpu` goes through the same code without one.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import deque
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import torch

from scripts.accelerator import workloads

if TYPE_CHECKING:
    from collections.abc import Callable

UVM = "/dev/nvidia-uvm"
"""What CUDA opens, and NVIDIA's management library does not."""

PINNED_BYTES = 3 << 20
"""Bytes of each tensor that is pinned to see what is told of it."""

PINNED_TENSORS = 5

MOST_EPOCHS = 50
"""Epochs of a loop, one after the other in one list; it is left before."""


def main() -> int:
    """Measure what is asked for and print it."""
    options = _options()
    acts: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
        "loop": loop, "step": step, "data": data, "device": device, "busy": busy,
    }  # fmt: skip
    print(json.dumps({act: acts[act](options) for act in options.acts}))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure in plain PyTorch.")
    acts = ("loop", "step", "data", "device", "busy")
    parser.add_argument("acts", choices=acts, nargs="+")
    parser.add_argument("--workload", choices=tuple(workloads.SIZES))
    parser.add_argument("--examples", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--warm", type=int, default=4, help="batches of each worker")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pin", action="store_true")
    parser.add_argument("--seconds", type=float, default=2.0)
    return parser.parse_args()


def _loader(
    options: argparse.Namespace, *, epochs: int = 1
) -> torch.utils.data.DataLoader[Any]:
    """Return a loader over the examples in their order, as often as is asked for."""
    made = {"photos": workloads.photos, "tensors": workloads.tensors}
    dataset = made[options.workload](options.examples)
    indices = list(range(len(dataset))) * epochs
    return torch.utils.data.DataLoader(
        torch.utils.data.Subset(dataset, indices),
        batch_size=options.batch_size,
        num_workers=options.workers,
        pin_memory=options.pin,
    )


class _Mover:
    """Copies batches on a stream of their own, two of them under way at most."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.events: list[tuple[Any, Any]] = []
        self.stood: list[float] = []
        self.held: deque[Any] = deque()
        self.has_clock = device == "cuda"
        self.stream = torch.cuda.Stream() if self.has_clock else None

    def __call__(self, batch: Any) -> None:
        """Copy a batch."""
        begun = time.perf_counter()
        if not self.has_clock:
            self.held.append([part.to(self.device) for part in batch])
            if len(self.held) > 2:
                self.held.popleft()
            return
        if len(self.held) == 2:
            self.held.popleft()[1].synchronize()
        first = torch.cuda.Event(enable_timing=True)
        last = torch.cuda.Event(enable_timing=True)
        with torch.cuda.stream(self.stream):
            first.record()
            copy = [part.to(self.device, non_blocking=True) for part in batch]
            last.record()
        self.held.append((copy, last))
        self.events.append((first, last))
        self.stood.append(time.perf_counter() - begun)

    def figures(self, warm: int) -> dict[str, Any]:
        """Return medians of the copies after the first ones, and what was hidden."""
        if not self.has_clock:
            return {"transfer_s": None, "hidden_share": None}
        torch.cuda.synchronize()
        copies = [first.elapsed_time(last) / 1000 for first, last in self.events[warm:]]
        hidden = 1 - sum(self.stood[warm:]) / max(sum(copies), 1e-9)
        return {
            "transfer_s": median(copies),
            "hidden_share": min(1.0, max(0.0, hidden)),
        }


def _run(
    options: argparse.Namespace, act: Callable[[Any], object], *, sync: bool
) -> dict[str, Any]:
    """Hand batches to something for some seconds; return how fast they went."""
    warm = options.warm * max(1, options.workers)
    moments: list[float] = []
    is_pinned = True
    for batch in _loader(options, epochs=MOST_EPOCHS):
        is_pinned = is_pinned and batch[0].is_pinned()
        act(batch)
        if sync and options.device == "cuda":
            torch.cuda.synchronize()
        moments.append(time.perf_counter())
        steady_s = moments[-1] - moments[min(warm, len(moments)) - 1]
        if len(moments) >= 2 * warm and steady_s >= options.seconds:
            break
    steady = len(moments) - warm
    return {
        "examples_per_s": options.batch_size
        * steady
        / (moments[-1] - moments[warm - 1]),
        "batches": len(moments),
        "pinned": is_pinned,
        "warm": warm,
    }


def loop(options: argparse.Namespace) -> dict[str, Any]:
    """Move batches to the device."""
    mover = _Mover(options.device)
    found = _run(options, mover, sync=False)
    found |= mover.figures(found["warm"])
    return found | _memory(options.device)


def step(options: argparse.Namespace) -> dict[str, Any]:
    """Train on batches."""
    found = _run(options, workloads.Convnet(options.device), sync=True)
    return found | _memory(options.device)


def _memory(device: str) -> dict[str, Any]:
    if device != "cuda":
        return {"accelerator_bytes": None, "pinned_bytes": None}
    stats = getattr(torch.cuda, "host_memory_stats", dict)()
    return {
        "accelerator_bytes": torch.cuda.max_memory_allocated(),
        "pinned_bytes": stats.get("allocated_bytes.peak"),
    }


def data(options: argparse.Namespace) -> dict[str, Any]:
    """Compare each batch of an epoch with what one process reads."""
    loader = _loader(options)
    size, wrong, examples, pinned = loader.batch_size or 1, 0, 0, True
    for place, batch in enumerate(loader):
        pinned = pinned and batch[0].is_pinned()
        for row in range(len(batch[0])):
            image, label = loader.dataset[place * size + row]
            is_same = torch.equal(batch[0][row], image) and int(batch[1][row]) == label
            wrong += not is_same
            examples += 1
    return {"wrong": wrong, "examples": examples, "pinned": pinned}


def device(options: argparse.Namespace) -> dict[str, Any]:
    """Tell what PyTorch knows of the device, and what is seen of pinned tensors."""
    found: dict[str, Any] = {
        "torch": torch.__version__,
        "python": sys.version.split()[0],
    }
    if options.device != "cuda":
        return found
    found["asked"] = torch.cuda.is_available()
    found["uvm_when_asked"] = _is_open(UVM)
    properties = torch.cuda.get_device_properties(0)
    torch.zeros(1, device="cuda")
    found["uvm_when_used"] = _is_open(UVM)
    resident = _resident_bytes()
    held = [
        torch.ones(PINNED_BYTES, dtype=torch.uint8).pin_memory()
        for _ in range(PINNED_TENSORS)
    ]
    stats = getattr(torch.cuda, "host_memory_stats", dict)()
    return found | {
        "name": properties.name,
        "uuid": str(getattr(properties, "uuid", "")),
        "memory_bytes": properties.total_memory,
        "cuda": torch.version.cuda,
        "pinned": all(tensor.is_pinned() for tensor in held),
        "pinned_bytes": stats.get("allocated_bytes.peak"),
        "resident_growth_bytes": _resident_bytes() - resident,
    }


def busy(options: argparse.Namespace) -> dict[str, Any]:
    """Multiply matrices for some seconds."""
    side = 4096 if options.device == "cuda" else 256
    matrix = torch.rand(side, side, device=options.device)
    deadline = time.perf_counter() + options.seconds
    products = 0
    while time.perf_counter() < deadline:
        for _ in range(20):
            matrix = (matrix @ matrix).clamp_(0, 1)
        if options.device == "cuda":
            torch.cuda.synchronize()
        products += 20
    return {"products": products}


def _is_open(device: str) -> bool:
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        return False
    return any(
        entry.is_symlink() and str(entry.readlink()) == device
        for entry in folder.iterdir()
    )


def _resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


if __name__ == "__main__":
    raise SystemExit(main())

"""Compare plain training loops: is the loop of a chosen config as fast as any?

    python scripts/bench_step.py --dataset FILE:NAME --step FILE:NAME --batch-size 64
        [--chosen autoloader.yaml] [--config workers[,prefetch[,kept]] ...] [--rounds N]

Each reading is one process that builds dataset, step and DataLoader as a training
script does, goes through a short epoch, and times a whole one, shuffled. Nothing of
autoloader is imported: that is its point. Rounds are interleaved, every second one in
reverse order; each config is compared with the fastest by the mean of its log ratios.
The exit code is 1 where the chosen config is more than 3 % slower than the fastest.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from statistics import fmean, median
from typing import Any

import yaml

ZONE = 0.03
"""What shared machines tell nothing finer of."""

FIRST_STEPS = 4
"""Batches of the first epoch, in which the model is built."""


def main() -> int:
    """Read the loops in rounds, print them, return the exit code."""
    options = _options()
    if options.one is not None:
        print(json.dumps(_one(options)))
        return 0
    configs = {text: _settings(text, options.batch_size) for text in options.config}
    if options.chosen is not None:
        with Path(options.chosen).open(encoding="utf-8") as file:
            configs["chosen"] = yaml.safe_load(file)["dataloader"]
    rates: dict[str, list[float]] = {name: [] for name in configs}
    for number in range(options.rounds):
        names = list(configs)
        for name in names[::-1] if number % 2 else names:
            rates[name].append(_read(options, configs[name]))
        shown = "  ".join(f"{name} {found[-1]:.1f}" for name, found in rates.items())
        print(f"round {number + 1}: {shown} examples/s", flush=True)
    return _judge(rates)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare plain training loops.")
    parser.add_argument("--dataset", required=True, metavar="FILE:NAME")
    parser.add_argument("--step", required=True, metavar="FILE:NAME")
    parser.add_argument("--batch-size", type=int, required=True, metavar="N")
    parser.add_argument("--examples", type=int, metavar="N", help="of an epoch")
    parser.add_argument("--chosen", metavar="FILE", help="a recommendation")
    parser.add_argument("--config", action="append", default=[], metavar="CONFIG")
    parser.add_argument("--rounds", type=int, default=4, metavar="N")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser.parse_args()


def _settings(text: str, batch_size: int) -> dict[str, Any]:
    """Return DataLoader's arguments that `3`, `3,4` or `3,4,kept` stands for."""
    workers, *others = text.split(",")
    settings: dict[str, Any] = {"batch_size": batch_size, "num_workers": int(workers)}
    if int(workers):
        numbers = [part for part in others if part.isdigit()]
        settings["prefetch_factor"] = int(numbers[0]) if numbers else 2
        settings["persistent_workers"] = "kept" in others
    return settings


def _read(options: argparse.Namespace, settings: dict[str, Any]) -> float:
    """Return the examples a second of an epoch, in a process of its own."""
    command = [
        sys.executable, __file__, "--dataset", options.dataset, "--step", options.step,
        "--batch-size", str(options.batch_size), "--one", json.dumps(settings),
    ]  # fmt: skip
    if options.examples is not None:
        command += ["--examples", str(options.examples)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rate: float = json.loads(done.stdout.splitlines()[-1])
    return rate


def _one(options: argparse.Namespace) -> float:
    """Train one short epoch, then one against the clock."""
    from torch.utils.data import DataLoader, Subset

    dataset = _load(options.dataset)()
    if options.examples is not None:
        dataset = Subset(dataset, range(min(options.examples, len(dataset))))
    found = _load(options.step)
    step = found() if isinstance(found, type) else found
    loader: Any = DataLoader(dataset, shuffle=True, **json.loads(options.one))
    for batch in islice(loader, FIRST_STEPS):
        step(batch)
    begun, examples = time.perf_counter(), 0
    for batch in loader:
        examples += len(batch[0])
        step(batch)
    return examples / (time.perf_counter() - begun)


def _load(spec: str) -> Any:
    path, _, name = spec.rpartition(":")
    sys.path.insert(0, str(Path(path).resolve().parent))
    found = importlib.util.spec_from_file_location(Path(path).stem, path)
    if found is None or found.loader is None:
        msg = f"{path} cannot be imported"
        raise SystemExit(msg)
    module = importlib.util.module_from_spec(found)
    sys.modules[Path(path).stem] = module
    found.loader.exec_module(module)
    return getattr(module, name)


def _judge(rates: dict[str, list[float]]) -> int:
    """Print each config against the fastest; 1 where the chosen one is slower."""
    means = {
        name: fmean(math.log(rate) for rate in found) for name, found in rates.items()
    }
    fastest = max(means, key=lambda name: means[name])
    for name, found in rates.items():
        ratio = math.exp(means[name] - means[fastest])
        print(f"{name:>12}  {median(found):8.1f} examples/s  {ratio:.3f} of {fastest}")
    if "chosen" not in means:
        return 0
    return int(math.exp(means["chosen"] - means[fastest]) < 1 - ZONE)


if __name__ == "__main__":
    sys.exit(main())

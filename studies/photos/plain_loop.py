"""Compare a recommendation with PyTorch's defaults in plain loops.

    python studies/photos/plain_loop.py autoloader.yaml [--rounds N] [--examples N]

Reads the YAML file with PyYAML, builds both loaders as any training script does, and
times whole epochs in turns. It imports nothing of autoloader: that is its point. Each
loader lives through all rounds, and a first epoch of each is not timed, so that the
files are in the page cache and kept workers are running.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import yaml
from dataset import photos
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Subset

Loader = DataLoader[tuple[Tensor, int]]


def read_settings(path: Path) -> dict[str, Any]:
    """Return the keyword arguments for DataLoader from a recommendation."""
    with path.open(encoding="utf-8") as file:
        settings: dict[str, Any] = yaml.safe_load(file)["dataloader"]
    return settings


def build_loaders(
    dataset: Dataset[tuple[Tensor, int]], settings: Mapping[str, Any]
) -> dict[str, Loader]:
    """Return the two loaders by name; both have the same batch size."""
    batch_size = settings["batch_size"]
    return {
        "recommended": DataLoader(dataset, shuffle=True, **settings),
        "default": DataLoader(dataset, shuffle=True, batch_size=batch_size),
    }


def time_epoch(loader: Loader) -> float:
    """Return the examples a second of one whole epoch, start and end included."""
    examples = 0
    start = time.perf_counter()
    for batch in loader:
        examples += len(batch[0])
    return examples / (time.perf_counter() - start)


def race(loaders: Mapping[str, Loader], rounds: int) -> dict[str, list[float]]:
    """Return the rates of each loader by round, reversing the order each time.

    Slow drift of the machine then falls on both alike.
    """
    rates: dict[str, list[float]] = {name: [] for name in loaders}
    for loader in loaders.values():
        time_epoch(loader)
    for number in range(rounds):
        names = list(loaders)
        for name in names if number % 2 == 0 else names[::-1]:
            rates[name].append(time_epoch(loaders[name]))
        shown = "  ".join(f"{name} {rates[name][-1]:7.1f}" for name in loaders)
        print(f"round {number + 1:2d}  {shown}  examples/s", flush=True)
    return rates


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison and print it; return the exit code."""
    parser = argparse.ArgumentParser(description="Compare in plain loops.")
    parser.add_argument("recommendation", type=Path, metavar="FILE")
    parser.add_argument("--rounds", type=int, default=6, metavar="N")
    parser.add_argument("--examples", type=int, default=768, metavar="N")
    options = parser.parse_args(arguments)
    settings = read_settings(options.recommendation)
    dataset = photos()
    # Every class, not the first ones: the files are sorted by class.
    chosen = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(0))
    subset = Subset(dataset, chosen[: options.examples].tolist())
    print(f"DataLoader(dataset, shuffle=True, **{settings}), {len(subset)} examples")
    rates = race(build_loaders(subset, settings), options.rounds)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    shown = "  ".join(f"{name} {rate:7.1f}" for name, rate in medians.items())
    print(f"median    {shown}  examples/s")
    print(f"ratio of medians {medians['recommended'] / medians['default']:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

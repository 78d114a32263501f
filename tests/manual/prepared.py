"""A folder as the README and the manual assume it, and how their blocks are run there.

Budgets are small, what takes a GPU is left out, and places that a reader fills in
(`/data`, the name of a study) are filled in; all else is run as it is written.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.manual.blocks import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.manual.blocks import Block

DATA = """
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import BatchSampler, DataLoader, Dataset
from torch.utils.data import IterableDataset, SequentialSampler, get_worker_info


class Photos(Dataset):
    def __init__(self, root):
        self.files = sorted(Path(root).glob("*.npy"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return torch.from_numpy(np.load(self.files[index])), index % 10


def count(example):
    return 7


class Lines(IterableDataset):
    def __iter__(self):
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        for number in range(first, 192, step):
            yield torch.full((8,), number), number % 10


stream = Lines()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(48, 10)

    def forward(self, images):
        return self.layer(images.flatten(1))


def step(batch):
    time.sleep(0.05)


class Step:
    def __call__(self, batch):
        step(batch)


def train(images, labels):
    assert len(images) == len(labels)
    print("trained on", len(labels))


PHOTOS = Path(__file__).resolve().parent / "photos"
"""
"""What a reader has: a dataset, a model, a step."""

FILES = {
    "data.py": f"{DATA}\ntrain = Photos(PHOTOS)\n",
    "mypackage/__init__.py": "",
    "mypackage/data.py": DATA.replace(".parent /", ".parents[1] /")
    + "\ntrain_set = Photos(PHOTOS)\n",
}

HEAD = """
import autoloader
import yaml
from autoloader import load
from train import *

loader = DataLoader(dataset, batch_size=64)

_tune = autoloader.tune
autoloader.tune = lambda *dataset, **more: _tune(
    *dataset, **{"target": 50, **more, "budget": "8s", "trials": 2, "out": "live.yaml"}
)
"""
"""What stands above a block of Python."""

EXAMPLES = 192

SMALL = {
    "tune": ["--budget", "8s", "--trials", "2", "--num-workers", "0:1"],
    "measure": ["--budget", "20s", "--rounds", "3"],
}
"""Flags that are added, so that a command takes seconds."""

ROOT_OF_DATA = re.compile(r"(?<![\w/])/data(?![\w-])")
"""What a reader names otherwise: `--arg root=/data`."""

MAY_END = {
    "measure": (0, 6),
    "retune": (0, 6, 10),
    "tune": (0, 6),
}
"""Exit codes: few rounds may leave undecided what is faster. All else ends with 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A folder to run blocks in, and the Python that does."""

    folder: Path
    """The working folder."""
    python: Path = Path(sys.executable)
    """Of the environment with the package."""

    @classmethod
    def in_folder(cls, folder: Path, python: Path = Path(sys.executable)) -> Prepared:
        """Return a new one: data, `train.py` with the README's first block, no YAML."""
        import numpy as np

        (folder / "photos").mkdir(parents=True)
        (folder / "mypackage").mkdir()
        for name, text in FILES.items():
            (folder / name).write_text(text, encoding="utf-8")
        for number in range(EXAMPLES):
            photo = np.full((3, 4, 4), number, dtype=np.float32)
            np.save(folder / "photos" / f"{number:03}.npy", photo)
        return cls(folder=folder, python=python)

    def write_script(self, block: Block) -> None:
        """Write `train.py`: what a reader has, and what the README makes of it."""
        text = f"{DATA}\n{block.text}\n\ndataset = Photos(PHOTOS)\n"
        (self.folder / "train.py").write_text(text, encoding="utf-8")

    def run(self, block: Block, *more: str) -> list[str]:
        """Run a block, and return what each of its commands, or its Python, prints.

        Args:
            block: of commands or Python.
            more: flags of a target, for each `tune` that names none.
        """
        if block.kind == "python":
            return [self._python(self._filled_in(block.text))]
        return [
            self.command([self._filled_in(word) for word in words], *more)
            for words in block.commands
        ]

    def command(self, words: Sequence[str], *more: str) -> str:
        """Run a command of autoloader, and return what it prints."""
        _, name, *flags = words
        added = SMALL.get(name, [])
        if name == "tune" and "--target" not in flags:
            added = [*added, *more]
        return self.started(
            [str(self.python), "-m", "autoloader", name, *flags, *added],
            MAY_END.get(name, (0,)),
        )

    def _python(self, text: str) -> str:
        script = self.folder / "block.py"
        script.write_text(f"{HEAD}\n{text}\n", encoding="utf-8")
        return self.started([str(self.python), "block.py"], (0,))

    def started(self, words: list[str], may_end: tuple[int, ...] = (0,)) -> str:
        """Run a program in the folder, and return what it prints."""
        # the package of this checkout, unless the environment has one of its own
        is_own = self.python == Path(sys.executable)
        without = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        found = subprocess.run(
            words,
            cwd=self.folder,
            env={**without, "PYTHONPATH": str(ROOT)} if is_own else without,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        said = found.stdout + found.stderr
        assert found.returncode in may_end, f"{words}: {found.returncode}\n{said}"
        return said

    def _filled_in(self, text: str) -> str:
        """Return a text with what a reader fills in."""
        studies = self.folder / ".autoloader"
        for written, pattern in (
            (".autoloader/data-train-1a2b3c4d", "*-train-*"),
            (".autoloader/measure-20260102-150405", "measure-*"),
        ):
            found = sorted(studies.glob(pattern))
            if found:
                text = text.replace(written, f".autoloader/{found[-1].name}")
        text = ROOT_OF_DATA.sub(str(self.folder / "photos"), text)
        return text.replace(".cuda()", "")

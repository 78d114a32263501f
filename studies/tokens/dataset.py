"""Real text in pieces of words, padded to the longest of its batch, with masks.

The text is Python's own standard library as it is installed: every machine that runs
this has it. Passages of forty lines are cut into pieces and looked up when they are
asked for, in Python, as a training does that tokenises on the way.
"""

import collections
import json
import platform
import re
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

_CHECKOUT = str(Path(__file__).resolve().parents[2])
if _CHECKOUT not in sys.path:
    sys.path.append(_CHECKOUT)

from studies.making import (  # noqa: E402  # found by the lines above
    StudyError,
    main_of,
    make_once,
    study_folder,
)

LINES = 40
"""Lines of a passage."""

MOST_TOKENS = 512
"""Pieces of a passage that are kept: more are cut off, as a model's input is."""

VOCABULARY = 8192
"""Numbers of pieces, padding and the unknown one among them."""

PADDING, UNKNOWN = 0, 1

PIECE = re.compile(
    r"[A-Z]?[a-z]{1,6}|[A-Z]{1,4}|[0-9]{1,3}|\n|[ \t]{1,8}|[^\sA-Za-z0-9]|\s"
)
"""A piece of a word, a number's digits, a line's end, blanks, or one other sign."""

LEFT_OUT = frozenset({"__pycache__", "dist-packages", "site-packages", "test", "tests"})
"""Folders whose sources are no part of the text: some systems leave tests out."""

RECIPE = 1
"""Version of the way the files are made; those of another version are made anew."""


class Example(TypedDict):
    """One passage."""

    input_ids: Tensor
    """int64 of shape (pieces,), 1 to 512 of them."""
    label: int
    """Number of the module or package that the passage is from."""


class Batch(TypedDict):
    """Passages, padded to the longest of them."""

    input_ids: Tensor
    """int64 of shape (batch, longest)."""
    attention_mask: Tensor
    """int64 of the same shape: 1 where there is a piece, 0 where there is padding."""
    labels: Tensor
    """int64 of shape (batch,)."""


class Passages(Dataset[Example]):
    """The passages of a folder, tokenised anew whenever they are asked for."""

    def __init__(self, root: Path) -> None:
        """Read text, bounds, labels and vocabulary into memory."""
        self._text = (root / "text.txt").read_bytes()
        self._ends: list[int] = np.load(root / "ends.npy").tolist()
        self._labels: list[int] = np.load(root / "labels.npy").tolist()
        pieces: list[str] = json.loads((root / "vocabulary.json").read_text("utf-8"))
        self.numbers = {piece: number for number, piece in enumerate(pieces, start=2)}

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, index: int) -> Example:
        label = self._labels[index]
        start = self._ends[index - 1] if index else 0
        text = self._text[start : self._ends[index]].decode("utf-8")
        numbers = self.numbers
        found = [numbers.get(piece, UNKNOWN) for piece in PIECE.findall(text)]
        return {"input_ids": torch.tensor(found[:MOST_TOKENS]), "label": label}


def collate(examples: Sequence[Example]) -> Batch:
    """Pad the passages of a batch to the longest of them."""
    rows = [example["input_ids"] for example in examples]
    masks = [torch.ones_like(row) for row in rows]
    return {
        "input_ids": pad_sequence(rows, batch_first=True, padding_value=PADDING),
        "attention_mask": pad_sequence(masks, batch_first=True),
        "labels": torch.tensor([example["label"] for example in examples]),
    }


def count(example: Example) -> int:
    """Return the pieces of a passage, the unit beside examples."""
    return len(example["input_ids"])


def make_text(root: Path, sources: Path | None = None) -> bool:
    """Make text and vocabulary unless they are there; return whether they were made.

    Args:
        root: their folder.
        sources: folder of Python sources; None: the standard library.

    Raises:
        StudyError: there are no sources, or the files cannot be written.
    """

    def write(folder: Path) -> None:
        found = Path(sysconfig.get_path("stdlib")) if sources is None else sources
        passages = list(_passages(found))
        if not passages:
            msg = f"there are no Python sources in {found}"
            raise StudyError(msg)
        content = [passage.encode("utf-8") for passage, _ in passages]
        (folder / "text.txt").write_bytes(b"".join(content))
        np.save(folder / "ends.npy", np.cumsum([len(item) for item in content]))
        np.save(folder / "labels.npy", [label for _, label in passages])
        pieces = json.dumps(_vocabulary(passage for passage, _ in passages))
        (folder / "vocabulary.json").write_text(pieces, encoding="utf-8")

    recipe = {
        "study": "tokens",
        "recipe": RECIPE,
        "python": platform.python_version(),
    }
    return make_once(root, recipe, write)


def tokens(root: str | None = None) -> Passages:
    """Return the passages, made first where they are missing.

    Args:
        root: their folder; None means the one in the user's cache.
    """
    folder = study_folder("tokens") if root is None else Path(root)
    make_text(folder)
    return Passages(folder)


def loader() -> DataLoader[Example]:
    """Return a loader with PyTorch's defaults; its settings are then the baseline."""
    return DataLoader(tokens(), batch_size=64, shuffle=True, collate_fn=collate)


def _passages(sources: Path) -> Iterator[tuple[str, int]]:
    """Yield the passages of all sources in the order of their paths, with labels."""
    files = sorted(
        path
        for path in sources.rglob("*.py")
        if not LEFT_OUT & set(path.relative_to(sources).parts)
    )
    tops = sorted({path.relative_to(sources).parts[0] for path in files})
    labels = {top: label for label, top in enumerate(tops)}
    for path in files:
        text = path.read_text(encoding="utf-8", errors="replace")
        lines = text.splitlines(keepends=True)
        for first in range(0, len(lines), LINES):
            passage = "".join(lines[first : first + LINES])
            yield passage, labels[path.relative_to(sources).parts[0]]


def _vocabulary(passages: Iterator[str]) -> list[str]:
    """Return the most frequent pieces; of equally frequent ones, the first seen."""
    counted: collections.Counter[str] = collections.Counter()
    for passage in passages:
        counted.update(PIECE.findall(passage))
    return [piece for piece, _ in counted.most_common(VOCABULARY - 2)]


if __name__ == "__main__":
    _FOLDER = study_folder("tokens")
    sys.exit(main_of(lambda: make_text(_FOLDER), _FOLDER, sys.argv[1:]))

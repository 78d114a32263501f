"""Real libraries with threads of their own, used before the workers are forked."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
from fsspec.implementations.local import LocalFileSystem

from tests.conformance.canary import PIXELS, TEXT
from tests.conformance.marked import LENGTH, Marked


class ReadsBySharedLoop(Marked):
    """Reads by an asynchronous file system that was in use before the fork."""

    def __init__(self, folder: str) -> None:
        self.folder = _texts(folder)
        self.files: Any = AsyncFileSystemWrapper(LocalFileSystem())
        self.files.ls(str(self.folder))

    def __getitem__(self, index: int) -> Any:
        """Return the example, its text read by the file system."""
        text = self.files.cat_file(str(self.folder / f"{index}.txt")).decode()
        return {**super().__getitem__(index), "text": text}


class ReadsByLoopOfItsOwn(ReadsBySharedLoop):
    """Makes a file system of its own in each process."""

    def __getitem__(self, index: int) -> Any:
        """Return the example, its text read by a file system of this process."""
        files: Any = AsyncFileSystemWrapper(LocalFileSystem(), skip_instance_cache=True)
        text = files.cat_file(str(self.folder / f"{index}.txt")).decode()
        return {**Marked.__getitem__(self, index), "text": text}


def _texts(folder: str) -> Path:
    """Return a folder with a text file for each example, made if missing."""
    made = Path(folder) / "texts"
    if not made.exists():
        temporary = Path(folder) / f"texts-{os.getpid()}"
        temporary.mkdir()
        for number in range(LENGTH):
            (temporary / f"{number}.txt").write_text(f"{TEXT} {number}")
        temporary.rename(made)
    return made


class ResizesLargePictures(Marked):
    """Resizes by OpenCV, which takes several threads where a picture is large."""

    def __init__(self) -> None:
        import cv2

        self.large = np.tile(np.array(PIXELS, np.uint8), (3000, 250))
        cv2.setNumThreads(2)
        cv2.resize(self.large, (2000, 2000))

    def __getitem__(self, index: int) -> Any:
        """Return the example, with the sum of a picture."""
        import cv2

        total = int(cv2.resize(self.large, (1000, 1000)).sum(dtype=np.int64))
        return {**super().__getitem__(index), "sum": total}


def tokenizer() -> Any:
    """Return a tokenizer of the marked words and all numbers."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {TEXT: 0, "?": 1, **{str(n): n + 2 for n in range(LENGTH)}}
    made = Tokenizer(models.WordLevel(words, unk_token="?"))  # noqa: S106
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return made


class TokenizesAfterUse(Marked):
    """Has used its tokenizer's threads before the workers start.

    Args:
        forced: whether the library is told to use threads whatever happened before.
    """

    def __init__(self, forced: bool = False) -> None:
        if forced:
            os.environ["TOKENIZERS_PARALLELISM"] = "true"
        self.tokenizer = tokenizer()
        self.tokenizer.encode_batch([f"{TEXT} 1"] * 64)

    def __getitem__(self, index: int) -> Any:
        """Return the example, with the tokens of its text."""
        found = super().__getitem__(index)
        tokens = self.tokenizer.encode_batch([found["text"]] * 64)
        return {**found, "tokens": tokens[0].ids}


class FiltersFrame(Marked):
    """Filters a frame of polars, whose threads do not survive a fork."""

    def __init__(self) -> None:
        import polars

        numbers = list(range(100_000))
        texts = [f"{TEXT} {n}" for n in range(LENGTH)]
        self.frame = polars.DataFrame(
            {"id": numbers, "text": [texts[n % LENGTH] for n in numbers]}
        ).filter(polars.col("id") >= 0)

    def __getitem__(self, index: int) -> Any:
        """Return the example, its text found in the frame."""
        import polars

        row = self.frame.lazy().filter(polars.col("id") == index).collect()
        return {**super().__getitem__(index), "text": row["text"][0]}

"""Frames of 3 MB out of one memory-mapped file, as video and microscopy keep them.

Each example is copied out of the page cache and sent on as it is: nothing is decoded,
and moving bytes is all the work.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

_CHECKOUT = str(Path(__file__).resolve().parents[2])
if _CHECKOUT not in sys.path:
    sys.path.append(_CHECKOUT)

from studies.making import (  # noqa: E402  # found by the lines above
    main_of,
    make_once,
    photo_files,
    study_folder,
)

COUNT = 300
"""Frames in the file: 944 MB."""

SIDE = 1024
"""Height and width of a frame, in pixels."""

SEED = 4
RECIPE = 1
"""Version of the way the file is made; one of another version is made anew."""


class Frames(Dataset[tuple[Tensor, int]]):
    """The frames of a file.

    An example is `(pixels, label)`: uint8 of shape (3, 1024, 1024), 3 MB, and the class
    of the photo it shows. Each process maps the file when it first reads from it.
    """

    def __init__(self, root: Path) -> None:
        """Read the labels; the frames stay where they are."""
        self._path = root / "frames.npy"
        self._labels: list[int] = np.load(root / "labels.npy").tolist()
        self._frames: npt.NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        label = self._labels[index]  # refuses an index beyond the end
        planes = self._mapped()[index].transpose(2, 0, 1)
        return torch.from_numpy(np.ascontiguousarray(planes)), label

    def __getstate__(self) -> dict[str, Any]:
        # A map would be pickled as an array: the whole file, to each spawned worker.
        return {**self.__dict__, "_frames": None}

    def _mapped(self) -> npt.NDArray[np.uint8]:
        if self._frames is None:
            self._frames = np.load(self._path, mmap_mode="r")
        return self._frames


def make_frames(root: Path, photos: Path | None = None, count: int = COUNT) -> bool:
    """Make the file unless it is there; return whether it was made.

    Args:
        root: its folder.
        photos: folder of the photos; None: the one in the user's cache.
        count: number of frames.
    """

    def write(folder: Path) -> None:
        files = photo_files(photos)
        order = np.random.default_rng(SEED).permutation(len(files))
        shown = [files[order[number % len(files)]] for number in range(count)]
        frames = np.lib.format.open_memmap(
            folder / "frames.npy", "w+", np.uint8, (count, SIDE, SIDE, 3)
        )
        for number, (path, _) in enumerate(shown):
            with Image.open(path) as image:
                frames[number] = np.asarray(image.convert("RGB").resize((SIDE, SIDE)))
        frames.flush()
        np.save(folder / "labels.npy", [label for _, label in shown])

    recipe = {"study": "frames", "recipe": RECIPE, "count": count}
    return make_once(root, recipe, write, photos)


def frames(root: str | None = None) -> Frames:
    """Return the frames, made first where they are missing.

    Args:
        root: their folder; None means the one in the user's cache.
    """
    folder = study_folder("frames") if root is None else Path(root)
    make_frames(folder)
    return Frames(folder)


def loader() -> DataLoader[tuple[Tensor, int]]:
    """Return a loader with PyTorch's defaults; its settings are then the baseline."""
    return DataLoader(frames(), batch_size=8, shuffle=True)


if __name__ == "__main__":
    _FOLDER = study_folder("frames")
    sys.exit(main_of(lambda: make_frames(_FOLDER), _FOLDER, sys.argv[1:]))

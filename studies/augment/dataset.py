"""Small pictures, decoded and changed at random with NumPy, anew in each epoch.

NumPy's generators are where many trainings go wrong: workers that start from one state
all make the same changes. Here each example draws a generator of its own from torch's,
which PyTorch seeds for every worker and every epoch.
"""

import io
import sys
from pathlib import Path

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
    cut_pictures,
    main_of,
    make_once,
    photo_files,
    study_folder,
)

COUNT = 8192
"""Pictures: 128 batches of 64."""

SIDE = 64
"""Height and width of a picture and of an example, in pixels."""

MARGIN = 8
"""Pixels by which a picture is widened on each side before it is cropped."""

NOISE = 0.02
"""Standard deviation of the noise that is added, where white is 1."""

ERASED = (8, 24)
"""Shortest and longest side of the part that is blotted out, in pixels."""

WHITE = np.float32(255)
SEED = 6
RECIPE = 1
"""Version of the way the files are made; those of another version are made anew."""

Pixels = npt.NDArray[np.float32]
"""(height, width, 3), 0 to 1."""


class Pictures(Dataset[tuple[Tensor, int]]):
    """The pictures, each changed at random.

    An example is `(pixels, label)`: float32 of shape (3, 64, 64), and the class of the
    photo it was cut from.
    """

    def __init__(self, root: Path, *, train: bool = True) -> None:
        """Read all files into memory, as they are.

        Args:
            root: folder of the files.
            train: whether pictures are changed; else they are decoded only.
        """
        self._content: npt.NDArray[np.uint8] = np.load(root / "content.npy")
        self._ends: list[int] = np.load(root / "ends.npy").tolist()
        self._labels: list[int] = np.load(root / "labels.npy").tolist()
        self._train = train

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        label = self._labels[index]
        start = self._ends[index - 1] if index else 0
        content = self._content[start : self._ends[index]].tobytes()
        with Image.open(io.BytesIO(content)) as image:
            pixels = np.asarray(image.convert("RGB"), dtype=np.float32) / WHITE
        if self._train:
            seed = int(torch.randint(2**62, ()).item())
            pixels = changed(pixels, np.random.default_rng(seed))
        return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1))), label


def changed(pixels: Pixels, rng: np.random.Generator) -> Pixels:
    """Return a picture moved, mirrored, in other light, with noise and a blot."""
    wide = np.pad(pixels, ((MARGIN, MARGIN), (MARGIN, MARGIN), (0, 0)), mode="reflect")
    top, left = rng.integers(0, 2 * MARGIN + 1, 2)
    found = wide[top : top + SIDE, left : left + SIDE]
    if rng.random() < 0.5:
        found = found[:, ::-1]
    brightness, contrast, saturation = rng.uniform(0.7, 1.3, 3).astype(np.float32)
    mean = found.mean()
    found = (found - mean) * contrast + mean * brightness
    grey = found.mean(axis=2, keepdims=True)
    found = grey + (found - grey) * saturation
    found += NOISE * rng.standard_normal(found.shape, dtype=np.float32)
    height, width = rng.integers(ERASED[0], ERASED[1] + 1, 2)
    top, left = rng.integers(0, SIDE - height), rng.integers(0, SIDE - width)
    found[top : top + height, left : left + width] = mean
    clipped: Pixels = np.clip(found, 0, 1)
    return clipped


def make_pictures(root: Path, photos: Path | None = None, count: int = COUNT) -> bool:
    """Make the files unless they are there; return whether they were made.

    Args:
        root: their folder.
        photos: folder of the photos; None: the one in the user's cache.
        count: number of pictures.
    """

    def write(folder: Path) -> None:
        found = cut_pictures(photo_files(photos), count, SIDE, SEED)
        content = np.frombuffer(b"".join(picture for picture, _ in found), np.uint8)
        np.save(folder / "content.npy", content)
        np.save(folder / "ends.npy", np.cumsum([len(picture) for picture, _ in found]))
        np.save(folder / "labels.npy", [label for _, label in found])

    recipe = {"study": "augment", "recipe": RECIPE, "count": count}
    return make_once(root, recipe, write, photos)


def augment(root: str | None = None, train: bool = True) -> Pictures:
    """Return the pictures, made first where they are missing.

    Args:
        root: their folder; None means the one in the user's cache.
        train: whether they are changed at random.
    """
    folder = study_folder("augment") if root is None else Path(root)
    make_pictures(folder)
    return Pictures(folder, train=train)


def loader() -> DataLoader[tuple[Tensor, int]]:
    """Return a loader with PyTorch's defaults; its settings are then the baseline."""
    return DataLoader(augment(), batch_size=64, shuffle=True)


if __name__ == "__main__":
    _FOLDER = study_folder("augment")
    sys.exit(main_of(lambda: make_pictures(_FOLDER), _FOLDER, sys.argv[1:]))

"""The photos as a dataset: open, decode, crop at random, flip, normalise.

What a training on photos usually does for each example, written out with Pillow and
NumPy so that it needs no torchvision. Making the files belongs in make_photos.py.
"""

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from make_photos import COUNT, default_root, make_photos
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

SIDE = 224
"""Height and width of an example, in pixels."""

_AREA_SHARE = (0.08, 1.0)
_ASPECT_RATIO = (3 / 4, 4 / 3)
_CENTRE_SHARE = SIDE / 256  # of the shorter side, as in the usual evaluation crop

# ImageNet's mean and standard deviation, folded into one product and one difference.
_MEAN = np.array((0.485, 0.456, 0.406), dtype=np.float32).reshape(3, 1, 1)
_STD = np.array((0.229, 0.224, 0.225), dtype=np.float32).reshape(3, 1, 1)
_SCALE = 1 / (255 * _STD)
_SHIFT = _MEAN / _STD

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels of the photo."""


class PhotoFolder(Dataset[tuple[Tensor, int]]):
    """Photos below one folder per class, sorted by path, so that ids are stable.

    An example is `(pixels, label)`: float32 of shape (3, 224, 224), normalised, and
    the place of its class among the sorted class names.
    """

    def __init__(self, root: Path, *, train: bool = True) -> None:
        """List the files.

        Args:
            root: Folder with one folder per class in it.
            train: Random crop and flip, drawn from torch's global generator; else
                the centre, without randomness.
        """
        self.classes = tuple(
            sorted(folder.name for folder in root.iterdir() if folder.is_dir())
        )
        self._files = tuple(
            (str(path), label)
            for label, name in enumerate(self.classes)
            for path in sorted((root / name).glob("*.jpg"))
        )
        self._train = train

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        path, label = self._files[index]
        with Image.open(path) as image:
            box = _random_box(*image.size) if self._train else _centre_box(*image.size)
            photo = image.convert("RGB").resize(
                (SIDE, SIDE), Image.Resampling.BILINEAR, box=box
            )
        flip = self._train and torch.rand(1).item() < 0.5
        return _normalised(np.asarray(photo), flip=flip), label


def photos(
    root: str | None = None, train: bool = True, count: int = COUNT
) -> PhotoFolder:
    """Return the photos, made first where they are missing.

    Args:
        root: Their folder; None means the one in the user's cache.
        train: Random crops and flips, else the centre.
        count: Number of files in the folder.
    """
    folder = default_root() if root is None else Path(root)
    make_photos(folder, count)
    return PhotoFolder(folder, train=train)


def loader() -> DataLoader[tuple[Tensor, int]]:
    """Return a loader with PyTorch's defaults; its settings are then the baseline."""
    return DataLoader(photos(), batch_size=64, shuffle=True)


def _random_box(width: int, height: int) -> Box:
    """Draw a box of random area and shape; the centre when ten draws do not fit."""
    log_ratio = [math.log(ratio) for ratio in _ASPECT_RATIO]
    for _ in range(10):
        area = width * height * torch.empty(1).uniform_(*_AREA_SHARE).item()
        ratio = math.exp(torch.empty(1).uniform_(*log_ratio).item())
        box_width = round(math.sqrt(area * ratio))
        box_height = round(math.sqrt(area / ratio))
        if 0 < box_width <= width and 0 < box_height <= height:
            top = int(torch.randint(0, height - box_height + 1, (1,)).item())
            left = int(torch.randint(0, width - box_width + 1, (1,)).item())
            return left, top, left + box_width, top + box_height
    return _centre_box(width, height)


def _centre_box(width: int, height: int) -> Box:
    side = min(width, height) * _CENTRE_SHARE
    left, top = (width - side) / 2, (height - side) / 2
    return left, top, left + side, top + side


def _normalised(pixels: npt.NDArray[np.uint8], *, flip: bool) -> Tensor:
    """Turn (height, width, 3) bytes into a normalised (3, height, width) tensor."""
    view = (pixels[:, ::-1] if flip else pixels).transpose(2, 0, 1)
    values = np.empty(view.shape, dtype=np.float32)
    np.multiply(view, _SCALE, out=values)
    values -= _SHIFT
    return torch.from_numpy(values)

"""What the check reads: photos and tensors of 3 MB, made in memory, and a convnet.

Nothing is downloaded. Photos are noise in the size of photos; where Pillow is there
they are JPEG files in memory, else they are packed by zlib.
"""

from __future__ import annotations

import io
import math
import zlib
from typing import Any

import numpy as np
import torch

SIDE = 224
"""Pixels of a side of a photo, as a network takes it."""

FLOATS = 3 * 1024 * 256
"""Numbers of a tensor of 3 MB."""

SIZES = {"photos": (384, 64), "tensors": (128, 16)}
"""Examples of an epoch, and of a batch."""

DRY_SIZES = {"photos": (32, 4), "tensors": (16, 2)}
"""The same where there is no device: all of the code, and little of the work."""


class Photos(torch.utils.data.Dataset[Any]):
    """Packed pictures in memory, unpacked where they are read."""

    def __init__(self, examples: int) -> None:
        self.examples = examples
        rng = np.random.default_rng(0)
        coarse = rng.integers(0, 256, (16, SIDE // 8, SIDE // 8, 3), dtype=np.uint8)
        pictures = coarse.repeat(8, axis=1).repeat(8, axis=2)
        self.packed = [_pack(picture) for picture in pictures]

    def __len__(self) -> int:
        """Return how many there are."""
        return self.examples

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        """Return a picture as floats, and its number as label."""
        pixels = _unpack(self.packed[index % len(self.packed)])
        image = torch.from_numpy(pixels).permute(2, 0, 1).float().div_(255)
        image[0, 0, 0] = index / self.examples  # which tells each from all others
        return image, index % 10


class Tensors(torch.utils.data.Dataset[Any]):
    """Tensors of 3 MB that cost a copy."""

    def __init__(self, examples: int) -> None:
        self.examples = examples

    def __len__(self) -> int:
        """Return how many there are."""
        return self.examples

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        """Return a tensor full of its own number, and a label."""
        return torch.full((FLOATS,), float(index)), index % 10


class Opaque:
    """A batch of a class that PyTorch does not pin."""

    def __init__(self, tensors: list[torch.Tensor]) -> None:
        self.pixels = torch.stack(tensors)


class Convnet:
    """Three convolutions, trained on whatever comes."""

    def __init__(self, device: str | None = None) -> None:
        torch.manual_seed(0)
        self.device = device or _device()
        self.model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 32, 9, stride=8, padding=4),
            torch.nn.ReLU(),
            torch.nn.Conv2d(32, 64, 3, stride=2, padding=1),
            torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(4),
            torch.nn.Flatten(),
            torch.nn.Linear(64 * 16, 10),
        ).to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def __call__(self, batch: Any) -> None:
        """Train on a batch, which is moved as a training script moves it."""
        images, labels = (part.to(self.device, non_blocking=True) for part in batch)
        side = math.isqrt(images[0].numel() // 3)
        images = images.reshape(len(images), 3, side, side)
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.model(images), labels)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()


def too_large(batch: Any) -> None:
    """Ask for more memory than any device has."""
    torch.empty(2**50, dtype=torch.uint8, device=_device())
    del batch


def photos(examples: int) -> Photos:
    """Return so many photos."""
    return Photos(examples)


def tensors(examples: int) -> Tensors:
    """Return so many tensors."""
    return Tensors(examples)


def opaque(examples: int) -> torch.utils.data.DataLoader[Any]:
    """Return a loader whose batches PyTorch leaves unpinned."""
    return torch.utils.data.DataLoader(Tensors(examples), collate_fn=_opaque)


def _opaque(examples: list[tuple[torch.Tensor, int]]) -> Opaque:
    return Opaque([tensor for tensor, _label in examples])


def _device() -> str:
    found = torch.accelerator.current_accelerator()
    return (
        "cpu" if found is None or not torch.accelerator.is_available() else found.type
    )


def _pack(picture: Any) -> bytes:
    try:
        from PIL import Image
    except ImportError:
        return zlib.compress(picture.tobytes())
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG")
    return file.getvalue()


def _unpack(packed: bytes) -> Any:
    if packed[:2] != b"\xff\xd8":  # not how JPEG begins
        flat = np.frombuffer(bytearray(zlib.decompress(packed)), dtype=np.uint8)
        return flat.reshape(SIDE, SIDE, 3)
    from PIL import Image

    return np.array(Image.open(io.BytesIO(packed)))

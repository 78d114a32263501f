"""torchvision: an ImageFolder of real PNG files, with transforms v2, honest and not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from PIL import Image
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

from tests.conformance.datasets.records import LENGTH, made

if TYPE_CHECKING:
    from pathlib import Path

CLASSES = 3

SIDE = 12


def image_folder(folder: str) -> Path:
    """Return a folder of pictures, one of its subfolders a class."""

    def write(path: Path) -> None:
        generator = np.random.default_rng(0)
        for index in range(LENGTH):
            place = path / f"class-{index % CLASSES}"
            place.mkdir(parents=True, exist_ok=True)
            pixels = generator.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(place / f"{index:04}.png")

    return made(folder, "pictures", write)


def photos(folder: str) -> ImageFolder:
    """Return what a training reads: flipped, cropped and scaled at random."""
    transform = v2.Compose(
        [
            v2.ToImage(),
            v2.RandomHorizontalFlip(),
            v2.RandomResizedCrop(8, antialias=True),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )
    return ImageFolder(str(image_folder(folder)), transform=transform)


def validation(folder: str) -> ImageFolder:
    """Return what a validation reads: always the same."""
    transform = v2.Compose(
        [v2.ToImage(), v2.CenterCrop(8), v2.ToDtype(torch.float32, scale=True)]
    )
    return ImageFolder(str(image_folder(folder)), transform=transform)


def with_lambda(folder: str) -> ImageFolder:
    """Return pictures whose transform cannot be sent to a spawned worker."""
    transform = v2.Compose([v2.ToImage(), v2.Lambda(lambda image: image / 255)])
    return ImageFolder(str(image_folder(folder)), transform=transform)


class _Jitter:
    """Brightens by a generator of its own, of which each worker gets a copy."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)

    def __call__(self, image: torch.Tensor) -> torch.Tensor:
        """Return the image, a little brighter or darker."""
        return image * float(self.generator.uniform(0.8, 1.2))


def one_generator(folder: str) -> ImageFolder:
    """Return pictures that all workers change in the same way."""
    steps: list[Any] = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), _Jitter()]
    return ImageFolder(str(image_folder(folder)), transform=v2.Compose(steps))


def of_any_size(folder: str) -> ImageFolder:
    """Return pictures that were cropped to sizes of their own: no batch holds them."""

    def crop(image: torch.Tensor) -> torch.Tensor:
        return image[..., : 4 + int(image.sum()) % 4]

    steps = v2.Compose([v2.ToImage(), v2.Lambda(crop)])
    return ImageFolder(str(image_folder(folder)), transform=steps)

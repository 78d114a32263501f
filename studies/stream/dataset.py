"""Pictures from tar shards, read from front to back: the shape of large collections.

Whole shards are dealt to the workers, so that each file is opened by one of them and
read in order. Twice as many workers as shards do nothing more.
"""

import io
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

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

SHARDS = 16
COUNT = 4096
"""Examples in all shards together: 256 in each, four batches of 64."""

SIDE = 128
"""Height and width of a picture, in pixels."""

SEED = 5
RECIPE = 1
"""Version of the way the shards are made; those of another version are made anew."""


class Example(TypedDict):
    """One picture."""

    id: int
    """Its place in the collection, as the archive names it."""
    image: Tensor
    """float32 of shape (3, 128, 128), 0 to 1."""
    label: int
    """Class of the photo it was cut from."""


class Shards(IterableDataset[Example]):
    """The examples of all shards, in their order, or of those that a worker has.

    Worker k of n reads shards k, k + n, k + 2n and so on.
    """

    def __init__(self, root: Path) -> None:
        """List the shards."""
        self._shards = tuple(sorted(root.glob("*.tar")))

    def __iter__(self) -> Iterator[Example]:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for shard in self._shards[first::step]:
            yield from _read(shard)


def make_shards(root: Path, photos: Path | None = None, count: int = COUNT) -> bool:
    """Make the shards unless they are there; return whether they were made.

    Args:
        root: their folder.
        photos: folder of the photos; None: the one in the user's cache.
        count: number of examples in all of them.
    """

    def write(folder: Path) -> None:
        pictures = cut_pictures(photo_files(photos), count, SIDE, SEED)
        for shard, places in enumerate(np.array_split(np.arange(count), SHARDS)):
            with tarfile.open(folder / f"{shard:02d}.tar", "w") as archive:
                for number in places.tolist():
                    picture, label = pictures[number]
                    _add(archive, f"{number:06d}.jpg", picture)
                    _add(archive, f"{number:06d}.cls", str(label).encode())

    recipe = {"study": "stream", "recipe": RECIPE, "count": count}
    return make_once(root, recipe, write, photos)


def stream(root: str | None = None) -> Shards:
    """Return the stream, its shards made first where they are missing.

    Args:
        root: their folder; None means the one in the user's cache.
    """
    folder = study_folder("stream") if root is None else Path(root)
    make_shards(folder)
    return Shards(folder)


def loader() -> DataLoader[Example]:
    """Return a loader with PyTorch's defaults; its settings are then the baseline."""
    return DataLoader(stream(), batch_size=64)


def _read(shard: Path) -> Iterator[Example]:
    """Yield the examples of an archive without ever seeking in it."""
    image = torch.empty(0)
    with tarfile.open(shard, "r|") as archive:
        for member in archive:
            file = archive.extractfile(member)
            content = b"" if file is None else file.read()
            stem, _, ending = member.name.partition(".")
            if ending == "jpg":
                image = _decoded(content)
            else:  # the class follows its picture
                yield {"id": int(stem), "image": image, "label": int(content)}


def _decoded(content: bytes) -> Tensor:
    with Image.open(io.BytesIO(content)) as image:
        pixels = np.asarray(image.convert("RGB"), dtype=np.float32)
    return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)) / 255)


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)  # of no owner and no date: the same each time
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


if __name__ == "__main__":
    _FOLDER = study_folder("stream")
    sys.exit(main_of(lambda: make_shards(_FOLDER), _FOLDER, sys.argv[1:]))

"""Marks placed in the data of each conformance dataset: none may ever come out again.

A text and a pixel pattern; `traces` looks for them in whatever a run left or said.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

TEXT = "kanarie-zwitscher-7f3a91"
"""A text that no program writes by itself."""

PIXELS = (171, 205, 239, 18, 52, 86, 120, 154, 188, 222, 240, 13)
"""Pixel values in an order that nothing has by itself."""


def pixels(index: int) -> torch.Tensor:
    """Return a picture of 1 x 4 x 4 bytes: the pattern, then the id."""
    values = np.array([*PIXELS, *int(index).to_bytes(4, "little")], np.uint8)
    return torch.from_numpy(values).reshape(1, 4, 4)


def example(index: int) -> dict[str, Any]:
    """Return the example of an id: label `7 * index`, marked pixels, marked text."""
    return {
        "id": index,
        "label": index * 7,
        "pixels": pixels(index),
        "text": f"{TEXT} {index}",
    }


def traces(texts: dict[str, bytes]) -> list[str]:
    """Return the names of those texts in which a mark is found.

    Args:
        texts: what was printed or written, by name.
    """
    listed = ", ".join(str(value) for value in PIXELS[:4]).encode()
    spaced = " ".join(str(value) for value in PIXELS[:4]).encode()
    marks = (TEXT.split("-", maxsplit=1)[0].encode(), bytes(PIXELS[:6]), listed, spaced)
    return [name for name, data in texts.items() if any(m in data for m in marks)]


def files_under(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each regular file of a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield str(path.relative_to(folder)), path.read_bytes()

"""A few photos for the studies that cut pictures from them."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

CLASSES = ("cat", "rocket", "temple")
EACH = 3
"""Photos of a class."""


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of small photos, one folder a class in it."""
    root = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(0)
    for name in CLASSES:
        (root / name).mkdir()
        for number in range(EACH):
            colours = rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)
            photo = Image.fromarray(colours).resize((160, 120))
            photo.save(root / name / f"{number}.jpg")
    return root

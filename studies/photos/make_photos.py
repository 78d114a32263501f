"""Make the photos of this study: real JPEG files, cut from photographs in wheels.

    python studies/photos/make_photos.py [--root DIR] [--count N]

scikit-image and scikit-learn ship a few colour photographs inside their packages.
Seeded crops of them, scaled to 380-500 pixels a side, give a folder of any size that
has to be opened, decoded and resized as any folder of photos has. Nothing is
downloaded. Reading the files as a dataset belongs in dataset.py, not here.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

try:
    from PIL import Image
except ModuleNotFoundError as exc:
    msg = "Pillow, which writes the photos, is not installed: pip install '.[vision]'"
    if __name__ == "__main__":
        sys.exit(msg)
    raise ModuleNotFoundError(msg, name="PIL") from exc

RECIPE = 2
"""Version of the way the files are made; a folder of another one is made anew."""

COUNT = 1600
"""Files made by default: 25 batches of 64."""

QUALITY = 90
"""JPEG quality; with 4:2:0, what a camera or a photo site writes."""

SIDE_PIXELS = (380, 500)
"""Shortest and longest side of a file."""

CUT_SHARE = (0.6, 1.0)
"""Side of a cut, as a share of the largest one of its shape in the photograph."""

PHOTOGRAPHS = (
    ("astronaut", "skimage", "data/astronaut.png"),
    ("cat", "skimage", "data/chelsea.png"),
    ("coffee", "skimage", "data/coffee.png"),
    ("flower", "sklearn", "datasets/images/flower.jpg"),
    ("galaxies", "skimage", "data/hubble_deep_field.jpg"),
    ("motorcycle", "skimage", "data/motorcycle_left.png"),
    ("retina", "skimage", "data/retina.jpg"),
    ("rocket", "skimage", "data/rocket.jpg"),
    ("temple", "sklearn", "datasets/images/china.jpg"),
    ("tissue", "skimage", "data/ihc.png"),
)
"""Class, package and place in it of each photograph."""

MANIFEST = "manifest.json"
_SUBSAMPLING_420 = 2  # Pillow's number for 4:2:0


class PhotosError(Exception):
    """The photos cannot be made; the message says why and what to do."""


def default_root() -> Path:
    """Return the folder in the user's cache, or a temporary one without a home."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if Path(cache).is_absolute():
        return Path(cache, "autoloader", "photos")
    try:
        home = Path.home()
    except RuntimeError:  # neither HOME nor an entry in the user database
        return Path(tempfile.gettempdir(), "autoloader", "photos")
    return home / ".cache" / "autoloader" / "photos"


def is_finished(root: Path, count: int) -> bool:
    """Tell whether `root` holds `count` photos of this recipe."""
    return _manifest(root) == {"count": count, "recipe": RECIPE}


def make_photos(root: Path, count: int = COUNT) -> bool:
    """Make the photos unless they are there; return whether they were made.

    The files appear in one step: a maker that is interrupted leaves no half folder,
    and of two at once the later one keeps what the earlier one has made.

    Args:
        root: Folder of the photos, one folder a class in it. An existing one is
            replaced only if an earlier recipe or another count made it.
        count: Number of files, spread evenly over the classes.

    Raises:
        PhotosError: A photograph is not installed, the folder holds something else,
            or it cannot be written.
    """
    if is_finished(root, count):
        return False
    if count < len(PHOTOGRAPHS):
        msg = f"count must be at least {len(PHOTOGRAPHS)}, one a class, got {count}"
        raise PhotosError(msg)
    if root.exists() and not _is_ours_or_empty(root):
        msg = f"{root} holds other files; give an empty or a new folder"
        raise PhotosError(msg)
    sources = [(name, _source(package, place)) for name, package, place in PHOTOGRAPHS]
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root.parent, prefix=".photos-") as work:
            _write(Path(work, "new"), sources, count)
            return _move_in(Path(work), root, count)
    except OSError as exc:
        msg = f"the photos cannot be written to {root}: {exc.strerror or exc}"
        raise PhotosError(msg) from exc


def _manifest(root: Path) -> object:
    """Return what the folder says about itself, None when it says nothing."""
    try:
        manifest: object = json.loads((root / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest


def _is_ours_or_empty(root: Path) -> bool:
    manifest = _manifest(root)
    ours = isinstance(manifest, dict) and manifest.keys() == {"count", "recipe"}
    return ours or (root.is_dir() and not any(root.iterdir()))


def _source(package: str, place: str) -> Path:
    """Return the path of a photograph without importing its package."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        msg = (
            f"{package}, whose photographs the study is cut from, is not installed:"
            " pip install '.[vision]'"
        )
        raise PhotosError(msg)
    path = Path(spec.origin).parent / place
    if not path.is_file():
        msg = (
            f"this version of {package} does not ship {place}: pip install '.[vision]'"
        )
        raise PhotosError(msg)
    return path


def _write(folder: Path, sources: Sequence[tuple[str, Path]], count: int) -> None:
    """Write all files of all classes and the manifest into a new folder."""
    for label, (name, path) in enumerate(sources):
        (folder / name).mkdir(parents=True)
        with Image.open(path) as image:
            photograph = image.convert("RGB")
        for number in range(label, count, len(sources)):
            # A stream of its own for each file: the count changes none of them.
            rng = np.random.default_rng((RECIPE, number))
            _cut(photograph, rng).save(
                folder / name / f"{number // len(sources):04d}.jpg",
                quality=QUALITY,
                subsampling=_SUBSAMPLING_420,
            )
    text = json.dumps({"count": count, "recipe": RECIPE}) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def _cut(photograph: Image.Image, rng: np.random.Generator) -> Image.Image:
    """Cut a random part and scale it to a random size of the same shape."""
    shortest, longest = SIDE_PIXELS
    width, height = (int(side) for side in rng.integers(shortest, longest + 1, 2))
    fit = min(photograph.width / width, photograph.height / height)
    scale = fit * rng.uniform(*CUT_SHARE)
    left = rng.uniform(0, photograph.width - width * scale)
    top = rng.uniform(0, photograph.height - height * scale)
    box = (left, top, left + width * scale, top + height * scale)
    return photograph.resize((width, height), Image.Resampling.LANCZOS, box=box)


def _move_in(work: Path, root: Path, count: int) -> bool:
    """Move the new folder to its place; return whether it was the first there."""
    if is_finished(root, count):
        return False
    with contextlib.suppress(FileNotFoundError):
        root.rename(work / "old")  # removed with the working folder
    try:
        (work / "new").rename(root)
    except OSError:
        if is_finished(root, count):  # another maker came first
            return False
        with contextlib.suppress(OSError):
            (work / "old").rename(root)
        raise
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the photos and print one line about them; return the exit code."""
    parser = argparse.ArgumentParser(description="Make the photos of this study.")
    parser.add_argument("--root", type=Path, default=None, metavar="DIR")
    parser.add_argument("--count", type=int, default=COUNT, metavar="N")
    options = parser.parse_args(arguments)
    root: Path = options.root or default_root()
    try:
        made = make_photos(root, options.count)
    except PhotosError as exc:
        print(exc, file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in root.glob("*/*.jpg"))
    verb = "made" if made else "found"
    print(
        f"{verb} {options.count} photos in {len(PHOTOGRAPHS)} classes,"
        f" {size / 1e6:.0f} MB, in {root}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

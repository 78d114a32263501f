"""Make what a study reads: once, in one step, and named by its recipe.

The studies put their files beside those of the photos, from which the pictures of the
others are cut. Nothing is downloaded. What an example is belongs in each dataset.py.
"""

import argparse
import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

# After the study's own folder, which has a module of the name `dataset` as well.
_PHOTOS = str(Path(__file__).resolve().with_name("photos"))
if _PHOTOS not in sys.path:
    sys.path.append(_PHOTOS)

from make_photos import RECIPE as PHOTOS_RECIPE  # noqa: E402  # found by the line above
from make_photos import PhotosError, default_root, make_photos  # noqa: E402
from PIL import Image  # noqa: E402  # make_photos says what to do where it is missing

QUALITY = 90
"""JPEG quality of cut pictures."""

CUT_SHARE = (0.3, 1.0)
"""Side of a cut, as a share of the photo's shorter side."""

MANIFEST = "manifest.json"

Recipe = Mapping[str, object]
"""What the files depend on: another recipe makes them anew."""


class StudyError(Exception):
    """A study's files cannot be made or used; the message says why and what to do."""


def study_folder(name: str) -> Path:
    """Return the folder of a study's files in the user's cache."""
    return default_root().with_name(name)


def photo_files(root: Path | None = None) -> list[tuple[Path, int]]:
    """Return the photos with the number of their class, made where they are missing.

    Args:
        root: their folder; None: the one in the user's cache. One that is given is
            taken as it is.

    Raises:
        StudyError: there are none.
    """
    folder = default_root() if root is None else root
    if root is None:
        make_photos(folder)
    classes = sorted(path for path in folder.iterdir() if path.is_dir())
    found = [
        (path, label)
        for label, kind in enumerate(classes)
        for path in sorted(kind.glob("*.jpg"))
    ]
    if not found:
        msg = f"there are no photos in {folder}"
        raise StudyError(msg)
    return found


def make_once(
    folder: Path,
    recipe: Recipe,
    write: Callable[[Path], None],
    photos: Path | None = None,
) -> bool:
    """Make a study's files unless they are there; return whether they were made.

    They appear in one step: a maker that is interrupted leaves no half folder, and of
    two at once the later one keeps what the earlier one has made.

    Args:
        folder: where they belong. One that another recipe made is replaced.
        recipe: what they depend on.
        write: puts them into an empty folder.
        photos: folder of the photos that they are cut from; None: the one in the user's
            cache. Files that were cut from others are replaced.

    Raises:
        StudyError: the folder holds something else, or cannot be written.
    """
    source = PHOTOS_RECIPE if photos is None else str(photos.resolve())
    wanted = {"photos": source, **recipe}
    if _manifest(folder) == wanted:
        return False
    if folder.exists() and not _is_ours_or_empty(folder):
        msg = f"{folder} holds other files; give an empty or a new folder"
        raise StudyError(msg)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        prefix = f".{folder.name}-"
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=prefix) as work:
            new = Path(work, "new")
            new.mkdir()
            write(new)
            (new / MANIFEST).write_text(json.dumps(wanted) + "\n", encoding="utf-8")
            return _move_in(Path(work), folder, wanted)
    except OSError as exc:
        msg = f"files cannot be written to {folder}: {exc.strerror or exc}"
        raise StudyError(msg) from exc


def cut_pictures(
    photos: Sequence[tuple[Path, int]], count: int, side: int, seed: int
) -> list[tuple[bytes, int]]:
    """Return seeded square cuts of photos as JPEG, each with its label, well mixed.

    Args:
        photos: files and labels; each gives about as many cuts as any other.
        count: of pictures.
        side: of a picture, in pixels.
        seed: of places and sizes of the cuts, and of their order.
    """
    found: list[tuple[bytes, int]] = []
    for number, (path, label) in enumerate(photos):
        rng = np.random.default_rng((seed, number))
        cuts = count // len(photos) + (number < count % len(photos))
        if cuts:
            with Image.open(path) as image:
                photo = image.convert("RGB")
            found += [(_cut(photo, side, rng), label) for _ in range(cuts)]
    order = np.random.default_rng(seed).permutation(len(found))
    return [found[place] for place in order]


def main_of(make: Callable[[], bool], folder: Path, arguments: Sequence[str]) -> int:
    """Make a study's files and print one line about them; return the exit code."""
    what = f"Make the files of the study in {folder}."
    argparse.ArgumentParser(description=what).parse_args(arguments)
    try:
        made = make()
    except (PhotosError, StudyError) as exc:
        print(exc, file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{'made' if made else 'found'} {size / 1e6:.0f} MB in {folder}")
    return 0


def _cut(photo: Image.Image, side: int, rng: np.random.Generator) -> bytes:
    shorter = min(photo.size)
    wide = shorter * rng.uniform(*CUT_SHARE)
    left = rng.uniform(0, photo.width - wide)
    top = rng.uniform(0, photo.height - wide)
    box = (left, top, left + wide, top + wide)
    cut = photo.resize((side, side), Image.Resampling.BICUBIC, box=box)
    with io.BytesIO() as file:
        cut.save(file, "JPEG", quality=QUALITY)
        return file.getvalue()


def _manifest(folder: Path) -> object:
    """Return what the folder says about itself, None when it says nothing."""
    try:
        manifest: object = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest


def _is_ours_or_empty(folder: Path) -> bool:
    manifest = _manifest(folder)
    ours = isinstance(manifest, dict) and {"photos", "study"} <= manifest.keys()
    return ours or (folder.is_dir() and not any(folder.iterdir()))


def _move_in(work: Path, folder: Path, wanted: Recipe) -> bool:
    """Move the new folder to its place; return whether it was the first there."""
    if _manifest(folder) == wanted:
        return False
    with contextlib.suppress(FileNotFoundError):
        folder.rename(work / "old")  # removed with the working folder
    try:
        (work / "new").rename(folder)
    except OSError:
        if _manifest(folder) == wanted:  # another maker came first
            return False
        with contextlib.suppress(OSError):
            (work / "old").rename(folder)
        raise
    return True

"""Files of a study appear once, whole, and only in a folder that is theirs."""

import errno
import importlib
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from studies.making import (
    StudyError,
    cut_pictures,
    main_of,
    make_once,
    photo_files,
    study_folder,
)
from tests.studies.reading import digests, times

Rename = Callable[[Path, Path], Path]

RECIPE = {"study": "frames", "recipe": 1, "count": 2}


def write(folder: Path) -> None:
    """Write one file."""
    (folder / "frames.bin").write_bytes(b"frames")


def refusing_new(path: Path, target: Path, rename: Rename = Path.rename) -> Path:
    """Rename as the system does, but nothing that was just made."""
    if path.name == "new":
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    return rename(path, target)


def test_files_are_made_once(tmp_path: Path) -> None:
    """A second start finds the files and writes nothing."""
    root = tmp_path / "cache" / "frames"

    assert make_once(root, RECIPE, write)
    before = times(root)
    assert not make_once(root, RECIPE, write)

    assert (root / "frames.bin").read_bytes() == b"frames"
    assert times(root) == before


def test_another_recipe_replaces_the_files(tmp_path: Path) -> None:
    """What an earlier recipe made goes, and nothing else lies beside the folder."""
    root = tmp_path / "frames"
    make_once(root, RECIPE, lambda folder: (folder / "old").touch())

    assert make_once(root, {**RECIPE, "recipe": 2}, write)

    assert sorted(path.name for path in root.iterdir()) == [
        "frames.bin",
        "manifest.json",
    ]
    assert list(tmp_path.iterdir()) == [root]


def test_files_cut_from_other_photos_are_replaced(tmp_path: Path) -> None:
    """Those of the cache and those of a folder have the same recipe."""
    root, photos = tmp_path / "frames", tmp_path / "photos"
    make_once(root, RECIPE, write)

    assert make_once(root, RECIPE, write, photos)
    assert not make_once(root, RECIPE, write, photos)
    assert make_once(root, RECIPE, write, tmp_path / "others")
    assert make_once(root, RECIPE, write)


def test_old_files_stay_where_new_ones_cannot_be_moved_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are put back; nothing else is left beside them."""
    root = tmp_path / "frames"
    make_once(root, RECIPE, write)
    before = digests(root)
    monkeypatch.setattr(Path, "rename", refusing_new)
    said = f"files cannot be written to {root}: {os.strerror(errno.EIO)}"

    with pytest.raises(StudyError, match=f"^{re.escape(said)}$"):
        make_once(root, {**RECIPE, "recipe": 2}, write)

    assert digests(root) == before
    assert list(tmp_path.iterdir()) == [root]


def test_old_photos_stay_where_new_ones_cannot_be_moved_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the files of the other studies do."""
    photos = importlib.import_module("make_photos")  # found by studies.making alone
    root = tmp_path / "photos"
    photos.make_photos(root, 10)
    before = digests(root)
    monkeypatch.setattr(Path, "rename", refusing_new)
    said = f"the photos cannot be written to {root}: {os.strerror(errno.EIO)}"

    with pytest.raises(photos.PhotosError, match=f"^{re.escape(said)}$"):
        photos.make_photos(root, 11)

    assert len(before) == 11
    assert digests(root) == before
    assert list(tmp_path.iterdir()) == [root]


def test_an_interrupted_maker_leaves_nothing(tmp_path: Path) -> None:
    """Without a manifest nothing is moved into place, and the work is removed."""
    root = tmp_path / "frames"

    def stop(folder: Path) -> None:
        write(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_once(root, RECIPE, stop)

    assert list(tmp_path.iterdir()) == []


def test_the_files_of_a_faster_maker_are_kept(tmp_path: Path) -> None:
    """Of two makers at once the later one takes what is there."""
    root = tmp_path / "frames"

    def overtaken(folder: Path) -> None:
        write(folder)
        make_once(root, RECIPE, lambda other: (other / "first").touch())

    assert not make_once(root, RECIPE, overtaken)

    assert (root / "first").exists()


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    """Whatever is no study's is refused by its name, and stays."""
    (tmp_path / "thesis.tex").touch()
    said = f"{tmp_path} holds other files; give an empty or a new folder"

    with pytest.raises(StudyError, match=f"^{re.escape(said)}$"):
        make_once(tmp_path, RECIPE, write)

    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """The system's reason is told with the folder."""
    (tmp_path / "file").touch()
    root = tmp_path / "file" / "frames"
    said = f"files cannot be written to {root}: {os.strerror(errno.EEXIST)}"

    with pytest.raises(StudyError, match=f"^{re.escape(said)}$"):
        make_once(root, RECIPE, write)


def test_files_lie_beside_the_photos(monkeypatch: pytest.MonkeyPatch) -> None:
    """XDG_CACHE_HOME moves the files of all studies."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache/someone")

    assert study_folder("frames") == Path("/var/cache/someone/autoloader/frames")


def test_photos_are_listed_with_their_class(photos: Path) -> None:
    """Classes are numbered by their names, files stand in the order of theirs."""
    found = photo_files(photos)

    assert [label for _, label in found] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert found[4][0] == photos / "rocket" / "1.jpg"


def test_a_folder_without_photos_is_named(tmp_path: Path) -> None:
    """Nothing can be cut from an empty folder."""
    said = f"there are no photos in {tmp_path}"

    with pytest.raises(StudyError, match=f"^{re.escape(said)}$"):
        photo_files(tmp_path)


def test_cut_pictures_depend_on_the_seed_alone(photos: Path) -> None:
    """The same seed gives the same bytes in the same order, another one others."""
    files = photo_files(photos)

    found = cut_pictures(files, 20, 32, seed=1)

    assert found == cut_pictures(files, 20, 32, seed=1)
    assert found != cut_pictures(files, 20, 32, seed=2)
    assert len({picture for picture, _ in found}) == 20


def test_cut_pictures_are_spread_over_the_photos(photos: Path) -> None:
    """Each class has its share, and neighbours are not all of one."""
    labels = [label for _, label in cut_pictures(photo_files(photos), 20, 32, seed=1)]

    assert sorted(labels.count(kind) for kind in range(3)) == [6, 6, 8]
    assert labels != sorted(labels)


def test_the_line_of_a_maker_says_what_it_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Made or found, how much, and where."""
    (tmp_path / "frames.bin").write_bytes(bytes(2_600_000))

    assert main_of(lambda: True, tmp_path, []) == 0
    assert main_of(lambda: False, tmp_path, []) == 0

    said = capsys.readouterr().out
    assert said == f"made 3 MB in {tmp_path}\nfound 3 MB in {tmp_path}\n"


def test_a_maker_that_fails_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The reason goes to stderr, without a traceback, and the code is 1."""

    def fail() -> bool:
        msg = "there are no photos"
        raise StudyError(msg)

    assert main_of(fail, tmp_path, []) == 1

    assert capsys.readouterr().err == "there are no photos\n"


def test_the_folder_of_the_photos_comes_last_on_the_path() -> None:
    """Each study has a module `dataset`, and its own is the one to be found."""
    folder = str(Path(__file__).parents[2] / "studies" / "photos")

    assert sys.path.count(folder) == 1
    assert sys.path.index(folder) > 0


def test_made_files_can_be_told_by_their_content(tmp_path: Path) -> None:
    """Two makers of one recipe write the same bytes, the manifest included."""
    make_once(tmp_path / "a", RECIPE, write)
    make_once(tmp_path / "b", RECIPE, write)

    assert digests(tmp_path / "a") == digests(tmp_path / "b")

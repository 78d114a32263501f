"""Every field of a stored file is named where it is wrong; so is what is no file."""

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoloader.errors import AutoloaderError
from tests.fuzz.readers import READERS, Reader
from tests.fuzz.spoiling import Place, holder_of, places_of

WRONG: dict[str, Any] = {"wrong": [["here"]]}
"""No field is a mapping with this key."""

FREE: dict[str, tuple[Place, ...]] = {
    "contract": (),
    "recommendation": (("measured",), ("target", "examples_per_s"), ("study",)),
    "config": (("dataloader",),),
    "study file": (("arg",),),
    "outcomes": (),
    "state": (("facts", "baseline"), ("key",), ("schema",)),
}
"""What is for people alone, or where a mapping is looked into by its own keys."""


def make_endless(path: Path) -> None:
    """Make a file of a terabyte that takes no room."""
    path.touch()
    os.truncate(path, 2**40)


KINDS: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "folder": lambda path: path.mkdir(),
    "loop": lambda path: path.symlink_to(path),
    "dangling": lambda path: path.symlink_to(path.with_name("none")),
    "device": lambda path: path.symlink_to("/dev/zero"),
    "endless": make_endless,
    "missing": lambda path: None,
}
"""What may stand in a file's place."""


def dotted(place: Place) -> str:
    """Return a place as an error names it."""
    words = "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}" for step in place
    )
    return words.removeprefix(".")


def error_of(reader: Reader, path: Path, data: Any) -> str | None:
    """Return what is said of a file; None where it is taken as it is."""
    path.write_bytes(reader.write(data))
    try:
        reader.read(path)
    except AutoloaderError as exc:
        return exc.message
    return None


def is_free(name: str, place: Place) -> bool:
    """Whether any value may stand at a place."""
    return any(place[: len(free)] == free for free in FREE[name])


@pytest.mark.parametrize("name", FREE)
def test_each_field_that_is_wrong_is_named(name: str, tmp_path: Path) -> None:
    """With dots from the file's top, and the path of the file."""
    reader = READERS[name]
    path = tmp_path / reader.file
    unnamed = []
    whole = reader.whole(tmp_path)

    for place in places_of(whole):
        if is_free(name, place):
            continue
        data = reader.whole(tmp_path)
        holder_of(data, place)[place[-1]] = copy.deepcopy(WRONG)
        said = error_of(reader, path, data)
        named = dotted(place[1:] if name == "outcomes" else place)
        words = words_for(name, place, named)
        if said is None or str(path) not in said or words not in said:
            unnamed.append((named, said))

    assert unnamed == []


def words_for(name: str, place: Place, named: str) -> str:
    """Return the words that must stand in the sentence."""
    if name == "outcomes" and len(place) == 1:
        return f"line {int(place[0]) + 1} "
    if name == "study file":
        return str(place[0])
    if name == "config":
        return str(place[-1])
    return named


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["contract", "recommendation", "config", "study file"])
def test_what_is_no_file_is_refused_at_once(
    name: str, kind: str, tmp_path: Path
) -> None:
    """Without waiting for a writer, and without reading what has no end."""
    reader = READERS[name]
    path = tmp_path / reader.file
    KINDS[kind](path)

    with pytest.raises(AutoloaderError) as caught:
        reader.read(path)

    assert caught.value.exit_code in {2, 5}
    assert str(path) in caught.value.message


@pytest.mark.parametrize("name", ["contract", "recommendation", "config", "study file"])
def test_a_name_that_is_too_long_is_refused(name: str, tmp_path: Path) -> None:
    """By the system's own words."""
    reader = READERS[name]
    path = tmp_path / f"{'x' * 300}.yaml"

    with pytest.raises(AutoloaderError) as caught:
        reader.read(path)

    assert caught.value.message.endswith(" cannot be read: File name too long")

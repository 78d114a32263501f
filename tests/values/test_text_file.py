"""Small text files are read whole; what is none is refused without waiting for it."""

import os
from pathlib import Path

import pytest

from autoloader.values.text_file import read_text


def why(path: Path) -> str:
    """Return the reason why a file is not read."""
    with pytest.raises(OSError) as caught:  # noqa: PT011  # its words are what is asked
        read_text(path)
    return str(caught.value.strerror)


@pytest.mark.parametrize(
    "data", ["größe\n".encode(), b"\xef\xbb\xbf" + "größe\n".encode()]
)
def test_text_is_read_without_its_mark(tmp_path: Path, data: bytes) -> None:
    """Some editors write a byte order mark before UTF-8."""
    path = tmp_path / "x.yaml"
    path.write_bytes(data)

    assert read_text(path) == "größe\n"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Nobody may ever write into it."""
    path = tmp_path / "x.yaml"
    os.mkfifo(path)

    assert why(path) == "it is no regular file"


def test_a_device_is_not_read() -> None:
    """It may have no end."""
    assert why(Path("/dev/zero")) == "it is no regular file"


def test_a_folder_is_told_as_the_system_tells_it(tmp_path: Path) -> None:
    """Commands have a sentence of their own for it."""
    assert why(tmp_path) == "Is a directory"


@pytest.mark.parametrize("name", ["a\0b.yaml", "a\ud800b.yaml"])
def test_a_name_that_no_file_can_have_is_told(name: str) -> None:
    """It comes from another file, say, where it was written as an escape."""
    assert why(Path(name)) == "no file can have this name"


def test_a_file_that_is_too_long_is_not_read_to_its_end(tmp_path: Path) -> None:
    """A terabyte of nothing takes no memory."""
    path = tmp_path / "x.yaml"
    path.touch()
    os.truncate(path, 2**40)

    assert why(path) == "it has more than 1 MiB"


def test_a_longer_file_is_read_where_that_is_expected(tmp_path: Path) -> None:
    """Up to the very last byte."""
    path = tmp_path / "x.json"
    path.write_bytes(b" " * (2 * 2**20))

    assert len(read_text(path, most_mib=2)) == 2 * 2**20


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("größe".encode("latin-1"), "invalid start byte at byte 2"),
        ("größe".encode("utf-16"), "invalid start byte at byte 0"),
    ],
)
def test_text_of_another_encoding_is_told(
    tmp_path: Path, data: bytes, words: str
) -> None:
    """With the place, which an editor can be sent to."""
    path = tmp_path / "x.yaml"
    path.write_bytes(data)

    assert why(path) == f"it is no UTF-8 text, {words}"

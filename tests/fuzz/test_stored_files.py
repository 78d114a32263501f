"""What is in a stored file is a valid value, or an error that names file and place."""

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from autoloader.errors import AutoloaderError
from autoloader.report.cleaning import clean
from tests.fuzz.readers import READERS, Reader
from tests.fuzz.spoiling import documents

QUICK, MANY = 40, 400
"""Files of each kind."""

PLACE = re.compile(
    r"line \d+|cannot be read: |is no (YAML|contract|recommendation|JSON)"
    r"|must be a mapping|holds no settings|unknown (key|section)|has schema"
    r"|names? | in FILE"
    r"|: [\w-]+(\.\w+|\[\d+\])*:? (must|has|lacks|cannot|needs|is)"
    r"|: argument --|does not say how it was asked for"
)
"""Where an error says that it is: a line, a section, or a field with dots."""

LONGEST = 1500
"""Characters of a sentence that can still be read."""


def error_of(reader: Reader, path: Path) -> AutoloaderError | None:
    """Return what a file is refused with; None where it is read."""
    try:
        reader.read(path)
    except AutoloaderError as exc:
        return exc
    return None


def holds(reader: Reader, path: Path, data: bytes) -> None:
    """Check that a file is read, or refused by a sentence with path and place."""
    path.write_bytes(data)

    error = error_of(reader, path)

    if error is None:
        return
    message = error.message
    assert error.exit_code in {2, 5}, message
    assert str(path) in message
    assert PLACE.search(message.replace(str(path), "FILE")), message
    assert len(message) < LONGEST
    clean(message).encode()


def fuzz(name: str, folder: Path, count: int, *, is_seeded: bool) -> None:
    """Try so many files of one kind."""
    reader = READERS[name]
    canary = folder / "canary"
    path = folder / reader.file
    whole = reader.whole(folder)

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=is_seeded,
        suppress_health_check=list(HealthCheck),
    )
    @given(documents(whole, reader.write, canary=str(canary)))
    def run(data: bytes) -> None:
        holds(reader, path, data)

    run()
    assert not canary.exists()


@pytest.mark.parametrize("name", READERS)
def test_a_whole_file_is_read(name: str, tmp_path: Path) -> None:
    """Before anything in it is spoiled."""
    reader = READERS[name]
    path = tmp_path / reader.file
    path.write_bytes(reader.write(reader.whole(tmp_path)))

    reader.read(path)


@pytest.mark.parametrize("name", READERS)
def test_a_spoiled_file_is_read_or_refused(name: str, tmp_path: Path) -> None:
    """The same few for everybody."""
    fuzz(name, tmp_path, QUICK, is_seeded=True)


@pytest.mark.full
@pytest.mark.parametrize("name", READERS)
def test_many_spoiled_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    """Others each time; a failing one is printed, to be added where it belongs."""
    fuzz(name, tmp_path, MANY, is_seeded=False)

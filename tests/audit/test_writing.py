"""What a disk refuses is named with its file, whoever notices."""

import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from autoloader.audit.writing import write_array, write_table
from autoloader.errors import StoredFileError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@pytest.fixture
def small_files() -> Iterator[None]:
    """Let this process write no file of more than 4,000 bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("dtype", [np.uint64, np.int32])
def test_an_array_comes_back_as_it_was(dtype: type, tmp_path: Path) -> None:
    """Its type too, and without pickle."""
    array: NDArray[Any] = np.arange(100_000, dtype=dtype)

    write_array(tmp_path / "a.npy", array)

    found = np.load(tmp_path / "a.npy", allow_pickle=False)
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)


@pytest.mark.usefixtures("small_files")
def test_an_array_that_finds_no_room_names_its_file(tmp_path: Path) -> None:
    """By itself numpy says how many items are missing, and neither file nor why."""
    path = tmp_path / "fixed.npy"

    with pytest.raises(StoredFileError) as found:
        write_array(path, np.zeros(1000, np.uint64))

    assert found.value.message == f"{path} cannot be used: File too large"
    assert found.value.hint == "free some space and run the same command again"


@pytest.mark.usefixtures("small_files")
def test_a_table_that_finds_no_room_names_its_file(tmp_path: Path) -> None:
    """The same for what is no array."""
    path = tmp_path / "scope.json"

    with pytest.raises(StoredFileError) as found:
        write_table(path, ["x" * 100] * 100)

    assert found.value.message == f"{path} cannot be used: File too large"


def test_a_full_device_is_named_in_its_own_words() -> None:
    """The one that is always full."""
    with pytest.raises(StoredFileError) as found:
        write_array(Path("/dev/full"), np.zeros(1000, np.uint64))

    assert found.value.message == "/dev/full cannot be used: No space left on device"


def test_a_folder_that_was_removed_is_no_fault_of_the_disk(tmp_path: Path) -> None:
    """Whoever removed it took this pass; the study goes on."""
    with pytest.raises(FileNotFoundError):
        write_array(tmp_path / "gone" / "a.npy", np.arange(3))
    with pytest.raises(FileNotFoundError):
        write_table(tmp_path / "gone" / "t.json", [1])

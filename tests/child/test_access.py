"""Where examples come from, as the reference sees it while it reads them."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autoloader.child.access import AccessWatch, decoding_of
from autoloader.child.cache import read_files
from autoloader.child.reference import run_reference
from autoloader.child.stages import StageBoard
from autoloader.values.job import ReferenceOrder
from autoloader.values.scope import (
    AccessFacts,
    DatasetFacts,
    Scope,
    ScopeRequest,
    SourceSpec,
)
from tests.reads import COUNT, SIZE

READS = Path(__file__).parents[1] / "reads.py"


class Found:
    """What a reference in this process found out."""

    def __init__(self, name: str, root: Path, **request: Any) -> None:
        self.folder = root / "reference"
        self.folder.mkdir()
        board = StageBoard.create(root / "board")
        order = ReferenceOrder(
            source=SourceSpec(spec=f"{READS}:{name}", arguments=(("root", str(root)),)),
            request=ScopeRequest(time_limit_s=1.0, **request),
            folder=str(self.folder),
        )
        message = run_reference(order, board)
        board.close()
        self.facts = DatasetFacts.from_dict(message["facts"])
        self.scope = Scope.from_dict(message["scope"])
        self.listed = {Path(path).name for path in read_files(self.folder)}

    @property
    def access(self) -> AccessFacts:
        """Return where examples come from."""
        assert self.facts.access is not None
        return self.facts.access


@pytest.fixture(autouse=True)
def path_as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo what an import of the datasets' file adds."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("reads", None)


def test_files_that_python_opens_are_seen_by_name(tmp_path: Path) -> None:
    """Those in use count; one that the construction read is listed for a cold cache."""
    found = Found("Files", tmp_path)

    assert (found.access.source, found.access.files) == ("local", COUNT)
    assert found.access.read_bytes_per_example == pytest.approx(SIZE, rel=0.1)
    assert found.access.storage_bytes_per_example is not None
    assert len(found.access.file_systems) == 1
    assert found.access.decoding == "inside"
    names = {f"{number:02d}.bin" for number in range(COUNT)}
    assert found.listed == names | {"classes.txt"}
    assert (found.folder / "files.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("name", "file"),
    [("Mapped", "rows.npy"), ("Archived", "rows.zip"), ("Database", "rows.sqlite")],
)
def test_files_that_are_held_open_or_mapped_are_seen(
    name: str, file: str, tmp_path: Path
) -> None:
    """Whoever opened them, and whenever."""
    found = Found(name, tmp_path)

    assert (found.access.source, found.access.files) == ("local", 1)
    assert file in found.listed


def test_bytes_that_c_code_reads_are_seen_without_a_name(tmp_path: Path) -> None:
    """Something is read, and no file can be dropped from the cache."""
    found = Found("Unseen", tmp_path)

    assert (found.access.source, found.access.files) == ("local", 0)
    assert found.access.decoding == "inside"


def test_what_was_read_before_is_memory(tmp_path: Path) -> None:
    """Files of the construction are not where examples come from."""
    found = Found("Remembered", tmp_path)

    assert (found.access.source, found.access.files) == ("memory", 0)
    assert found.access.decoding == "none_seen"
    assert found.access.read_bytes_per_example == pytest.approx(0, abs=16)
    assert "00.bin" in found.listed


@pytest.mark.parametrize("name", ["Served", "Kept"])
def test_a_connection_makes_it_a_network(name: str, tmp_path: Path) -> None:
    """Made for each example, or once; to this machine as well."""
    found = Found(name, tmp_path)

    assert found.access.source == "network"
    assert found.access.connections >= 1


def test_bytes_that_nobody_decodes_are_outside(tmp_path: Path) -> None:
    """They become tensors after the loader."""
    assert Found("Undecoded", tmp_path).access.decoding == "outside"


def test_bytes_that_collate_decodes_are_inside(tmp_path: Path) -> None:
    """The user's collate_fn runs in the workers."""
    assert Found("decoded_by_collate", tmp_path).access.decoding == "inside"


def test_a_stream_is_watched_as_well(tmp_path: Path) -> None:
    """Its files, its bytes, and texts that are still to be cut into tokens."""
    found = Found("Lines", tmp_path)

    assert (found.access.source, found.access.files) == ("local", 2)
    assert found.access.decoding == "outside"
    assert found.access.read_bytes_per_example == pytest.approx(520, rel=0.2)


def test_what_is_made_up_comes_from_memory(tmp_path: Path) -> None:
    """What watching reads itself is not counted in."""
    found = Found("batched", tmp_path)

    assert (found.access.source, found.access.decoding) == ("memory", "none_seen")
    assert found.access.read_bytes_per_example == pytest.approx(0, abs=4)


@pytest.mark.parametrize(
    ("types", "is_read", "said"),
    [
        (["tensor", "int"], True, "inside"),
        (["bytes", "int"], True, "outside"),
        (["str", "tensor"], True, "inside"),
        (["Image", "int"], True, "inside"),
        (["float"], True, "inside"),
        (["tensor"], False, "none_seen"),
    ],
)
def test_decoding_is_told_by_what_examples_are_made_of(
    types: list[str], is_read: bool, said: str
) -> None:
    """Only bytes and text beside plain numbers are still to be decoded."""
    assert decoding_of(types, is_read=is_read) == said


def test_code_and_folders_of_the_system_are_no_data(tmp_path: Path) -> None:
    """Nor is what the watch's owner reads and writes."""
    own = tmp_path / "own"
    own.mkdir()
    names = ["module.py", "library.so.1", "data.bin", "own/ledger.npy"]
    for name in names:
        (tmp_path / name).write_bytes(b"x")

    with AccessWatch([own]) as watch:
        watch.begin_reading()
        for name in [*names, "/proc/self/stat", "/etc/passwd"]:
            (tmp_path / name).read_bytes()
        (tmp_path / "log.txt").write_bytes(b"written only")
        seen = watch.files()

    assert seen.in_use == (str(tmp_path / "data.bin"),)
    assert seen.in_use_bytes == 1


def test_a_relative_path_is_kept_as_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The working folder may be another one later."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.bin").write_bytes(b"x")

    with AccessWatch() as watch:
        watch.begin_reading()
        Path("data.bin").read_bytes()
        seen = watch.files()

    assert seen.in_use == (str(tmp_path / "data.bin"),)


def test_nothing_is_noted_once_the_watch_is_over(tmp_path: Path) -> None:
    """The hook stays for good, and does nothing more."""
    (tmp_path / "data.bin").write_bytes(b"x")

    with AccessWatch() as watch:
        watch.begin_reading()
    (tmp_path / "data.bin").read_bytes()

    assert watch.files().in_use == ()


def test_odd_paths_do_not_stop_who_opens_them(tmp_path: Path) -> None:
    """What cannot be noted is left out, and what the user's code meets is its own."""
    with AccessWatch() as watch:
        watch.begin_reading()
        with pytest.raises(ValueError, match="null"):
            open("a\0b")  # noqa: PTH123, SIM115  # as a user does
        sys.audit("open", object())
        sys.audit("socket.connect", None, None)
        seen = watch.files()

    assert seen.in_use == ()


def test_a_datagram_socket_is_no_connection(tmp_path: Path) -> None:
    """It is how programs ask for their own address."""
    with AccessWatch() as watch:
        watch.begin_reading()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
            made.connect(("127.0.0.1", 9))
        facts = watch.facts(watch.files(), [], 1)

    assert (facts.source, facts.connections) == ("memory", 0)
    assert facts.read_bytes_per_example is None

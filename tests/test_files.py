"""Files are written whole or not at all, and known to be writable beforehand."""

import errno
import fcntl
import os
import re
import stat
from pathlib import Path
from typing import IO

import pytest

from autoloader import files
from autoloader.errors import StoredFileError, UsageError
from autoloader.files import check_writable, keep_copy, refusals_named, write_whole


def refuse(*_arguments: object, **_keywords: object) -> None:
    """Stand in for a call that a full disk refuses."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def mode_of(path: Path) -> int:
    """Return the permission bits of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_written_as_it_was_given(tmp_path: Path) -> None:
    """Text of any language arrives, and nothing else is in the folder."""
    path = tmp_path / "new.yaml"

    write_whole(path, "größe: 3\n")

    assert path.read_text(encoding="utf-8") == "größe: 3\n"
    assert list(tmp_path.iterdir()) == [path]


def test_an_old_file_survives_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever fails before the end, what stood there stands there still."""
    path = tmp_path / "old.yaml"
    path.write_text("old", encoding="utf-8")
    monkeypatch.setattr(os, "fsync", refuse)

    with pytest.raises(StoredFileError) as caught:
        write_whole(path, "new")

    assert str(caught.value) == f"{path} cannot be written: No space left on device"
    assert caught.value.hint == "what stood there before is unchanged"
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_text_that_cannot_be_encoded_leaves_nothing_behind(tmp_path: Path) -> None:
    """An error of another kind does not leave a temporary file either."""
    path = tmp_path / "new.yaml"

    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "a lone surrogate: \udcff")

    assert list(tmp_path.iterdir()) == []


def test_the_mode_of_an_old_file_is_kept(tmp_path: Path) -> None:
    """A file that only its owner reads stays so."""
    path = tmp_path / "old.yaml"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)

    write_whole(path, "new")

    assert mode_of(path) == 0o640
    assert path.read_text(encoding="utf-8") == "new"


def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path: Path) -> None:
    """It is no more private than any other file of the user's, and no less."""
    path = tmp_path / "new.yaml"
    before = os.umask(0o027)

    try:
        write_whole(path, "new")
    finally:
        umask = os.umask(before)

    assert mode_of(path) == 0o640
    assert umask == 0o027


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """What it points to is written, as any editor would."""
    target = tmp_path / "elsewhere" / "true.yaml"
    target.parent.mkdir()
    target.write_text("old", encoding="utf-8")
    link = tmp_path / "link.yaml"
    link.symlink_to(target)

    write_whole(link, "new")

    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"


def test_a_device_is_never_replaced_by_a_file(tmp_path: Path) -> None:
    """As root, a rename would put a file in the place of /dev/null."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    with pytest.raises(StoredFileError) as caught:
        write_whole(pipe, "new")

    assert str(caught.value) == f"{pipe} cannot be written: it is no regular file"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_missing_folder_is_an_error_of_the_file(tmp_path: Path) -> None:
    """The folder can go between the check and the writing."""
    path = tmp_path / "gone" / "new.yaml"

    sentence = f"{path} cannot be written: No such file or directory"
    with pytest.raises(StoredFileError, match=f"^{re.escape(sentence)}$"):
        write_whole(path, "new")


@pytest.mark.parametrize("name", ["new.yaml", "old.yaml", "link.yaml", "n" * 255])
def test_a_writable_place_passes_and_stays_as_it_is(tmp_path: Path, name: str) -> None:
    """The check writes nothing that is seen afterwards."""
    (tmp_path / "old.yaml").write_text("old", encoding="utf-8")
    (tmp_path / "link.yaml").symlink_to("old.yaml")
    before = sorted(tmp_path.iterdir())

    check_writable(tmp_path / name)

    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "old.yaml").read_text(encoding="utf-8") == "old"


def test_a_relative_path_is_checked_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The flag is given as people type it."""
    monkeypatch.chdir(tmp_path)

    check_writable(Path("new.yaml"))

    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_refused_with_the_command_that_makes_it(
    tmp_path: Path,
) -> None:
    """The way out can be pasted."""
    path = tmp_path / "no" / "such" / "out.yaml"

    with pytest.raises(UsageError) as caught:
        check_writable(path)

    assert str(caught.value) == (
        f"--out {path} cannot be written: there is no folder {path.parent}"
    )
    assert caught.value.hint == f"mkdir -p {path.parent}"


def test_a_folder_is_refused_where_a_file_is_needed(tmp_path: Path) -> None:
    """The way out names a file in it."""
    with pytest.raises(UsageError) as caught:
        check_writable(tmp_path)

    assert str(caught.value) == f"--out {tmp_path} is a folder, and a file is needed"
    assert caught.value.hint == f"--out {tmp_path / 'autoloader.yaml'}"


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """`mkdir` would not help there."""
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "out.yaml"

    with pytest.raises(UsageError) as caught:
        check_writable(path)

    assert str(caught.value) == (
        f"--out {path} cannot be written: {tmp_path / 'file'} is no folder"
    )
    assert caught.value.hint == "name another place with --out"


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    """A pipe or a device cannot be replaced."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    sentence = f"--out {pipe} is no regular file"
    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}$"):
        check_writable(pipe)


def test_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    """What the file system says is passed on."""
    path = tmp_path / ("n" * 300)

    sentence = f"--out {path} cannot be written: File name too long"
    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}$"):
        check_writable(path)


def test_a_folder_that_refuses_a_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is noticed before the first trial."""
    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    path = tmp_path / "out.yaml"

    with pytest.raises(UsageError) as caught:
        check_writable(path)

    assert str(caught.value) == (
        f"--out {path} cannot be written: No space left on device"
    )
    assert caught.value.hint == "name another place with --out"


def test_a_read_only_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody protected it; root may write anything, so the answer is a stand-in's."""
    path = tmp_path / "out.yaml"
    path.touch()
    monkeypatch.setattr(os, "access", lambda target, mode: False)

    sentence = f"--out {path} cannot be written: it is read-only"
    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}$"):
        check_writable(path)


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    """By the next one who writes the file, and nothing else that has such a name."""
    left = tmp_path / ".new.yaml.ab12cd_8.autoloader-tmp"
    others = [
        tmp_path / ".new.yaml.original",
        tmp_path / ".new.yaml.AB12CD_8.autoloader-tmp",
        tmp_path / ".other.yaml.ab12cd_8.autoloader-tmp",
    ]
    for path in [left, *others]:
        path.touch()

    write_whole(tmp_path / "new.yaml", "new")

    assert set(tmp_path.iterdir()) == {tmp_path / "new.yaml", *others}


def test_what_another_one_is_writing_is_left_to_him(tmp_path: Path) -> None:
    """Two studies may write one file: the last one stands, whole."""
    path = tmp_path / "new.yaml"
    with files._unfinished(path) as other:
        write_whole(path, "new")

        assert Path(other.name).exists()
    assert path.read_text(encoding="utf-8") == "new"


def test_a_file_that_was_taken_for_a_left_one_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer came between its making and its lock."""
    path, flock = tmp_path / "new.yaml", fcntl.flock
    taken: list[Path] = []

    def come_between(file: IO[str], operation: int) -> None:
        if not taken:
            taken.append(Path(file.name))
            taken[0].unlink()
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", come_between)
    write_whole(path, "new")

    assert taken
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text(encoding="utf-8") == "new"


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, "free some space and run the same command again"),
        (errno.EFBIG, "free some space and run the same command again"),
        (errno.EROFS, "run the same command again"),
    ],
)
def test_a_disk_that_takes_no_more_is_an_error_of_the_folder(
    tmp_path: Path, number: int, hint: str
) -> None:
    """What it says while a file is written names none."""
    sentence = f"{tmp_path} cannot be used: {os.strerror(number)}"
    with (
        pytest.raises(StoredFileError, match=f"^{re.escape(sentence)}$") as caught,
        refusals_named(tmp_path),
    ):
        raise OSError(number, os.strerror(number))

    assert caught.value.hint == hint


def test_a_file_of_the_folder_is_named(tmp_path: Path) -> None:
    """Somebody removed it meanwhile."""
    path = tmp_path / "gone" / "file"

    sentence = f"{path} cannot be used: No such file or directory"
    with (
        pytest.raises(StoredFileError, match=f"^{re.escape(sentence)}$"),
        refusals_named(tmp_path),
    ):
        path.read_bytes()


def test_what_is_wrong_with_other_files_passes_through(tmp_path: Path) -> None:
    """It is none of the study's."""
    with pytest.raises(FileNotFoundError), refusals_named(tmp_path / "study"):
        (tmp_path / "other").read_bytes()
    with pytest.raises(OSError, match="Bad file descriptor"), refusals_named(tmp_path):
        os.fstat(10_000)


def test_a_copy_is_kept_whole(tmp_path: Path) -> None:
    """What it is a copy of stays as it is."""
    path, copy = tmp_path / "old.yaml", tmp_path / "old.yaml.before"
    path.write_text("größe: 3\n", encoding="utf-8")

    keep_copy(path, copy)

    assert copy.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("data", "why"),
    [(None, "No such file or directory"), (b"\xff", "it is no UTF-8 text")],
)
def test_what_cannot_be_kept_is_told(
    tmp_path: Path, data: bytes | None, why: str
) -> None:
    """Before anything is written in its place."""
    path, copy = tmp_path / "old.yaml", tmp_path / "old.yaml.before"
    if data is not None:
        path.write_bytes(data)

    with pytest.raises(StoredFileError) as caught:
        keep_copy(path, copy)

    assert str(caught.value) == f"{path} cannot be kept as old.yaml.before: {why}"
    assert not copy.exists()

"""The folder for studies is looked at before anything is made."""

import os
from pathlib import Path

import pytest

from autoloader.errors import UsageError
from autoloader.trial.workplace import check_workplace

HINT = "cd to another folder; --dataset, --out and study files may lie elsewhere"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the place where studies would be kept."""
    return tmp_path / ".autoloader"


def refusal_of(root: Path) -> UsageError:
    """Return why a place is refused."""
    with pytest.raises(UsageError) as caught:
        check_workplace(root)
    return caught.value


def test_nothing_is_made_where_nothing_is_yet(root: Path) -> None:
    """A mistyped flag leaves the working folder as it was."""
    check_workplace(root)

    assert list(root.parent.iterdir()) == []


def test_a_folder_of_an_earlier_run_is_taken_as_it_is(root: Path) -> None:
    """With what lies in it."""
    (root / "photos-1").mkdir(parents=True)

    check_workplace(root)

    assert [path.name for path in root.iterdir()] == ["photos-1"]


def test_a_link_to_a_folder_of_ones_own_is_followed(root: Path) -> None:
    """Studies may be kept on a larger disk."""
    elsewhere = root.parent / "elsewhere"
    elsewhere.mkdir()
    root.symlink_to(elsewhere)

    check_workplace(root)

    assert list(elsewhere.iterdir()) == []


def test_a_link_that_leads_nowhere_is_refused(root: Path) -> None:
    """What it leads to would be made, wherever that is."""
    root.symlink_to(root.parent / "gone")

    refused = refusal_of(root)

    assert refused.message == (
        f"{root} is a link to {root.parent / 'gone'}, where no folder is"
    )
    assert refused.hint == "make that folder, or remove the link"


def test_a_file_in_its_place_is_refused(root: Path) -> None:
    """It is not ours to remove."""
    root.write_text("")

    refused = refusal_of(root)

    assert refused.message == (
        f"{root} is no folder, and studies and logs are kept in it"
    )
    assert refused.hint == "give that file another name"


def test_a_folder_that_is_missing_cannot_be_written(root: Path) -> None:
    """The reason is the system's own."""
    place = root / "none" / "studies"

    refused = refusal_of(place)

    assert refused.message == (
        f"{place.parent} cannot be written: No such file or directory; studies and "
        f"logs are kept in {place}"
    )
    assert refused.hint == HINT


def owned_by(monkeypatch: pytest.MonkeyPatch, owners: dict[Path, int]) -> None:
    """Let paths belong to other users; a link's own path is its absolute one."""
    stat, lstat = Path.stat, Path.lstat

    def with_owner(info: os.stat_result, path: Path) -> os.stat_result:
        fields = list(info)
        fields[4] = owners.get(path, info.st_uid)
        return os.stat_result(fields)

    monkeypatch.setattr(
        Path, "stat", lambda path, **flags: with_owner(stat(path, **flags), path)
    )
    monkeypatch.setattr(Path, "lstat", lambda path: with_owner(lstat(path), path))


def test_a_folder_of_a_stranger_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links in it could lead to files of the user's."""
    root.mkdir()
    owned_by(monkeypatch, {root: 12345})

    refused = refusal_of(root)

    assert refused.message == (
        f"{root} belongs to user 12345, who could have files of yours written over by "
        "links in it"
    )
    assert refused.hint == HINT


@pytest.mark.parametrize(
    "owners", [{".autoloader": 0}, {".autoloader": 12345, ".": 12345}]
)
def test_root_and_the_owner_of_the_working_folder_are_no_strangers(
    owners: dict[str, int], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a container, root works in a folder of somebody's, whose code it runs."""
    root.mkdir()
    owned_by(monkeypatch, {root.parent / name: user for name, user in owners.items()})

    check_workplace(root)


def test_a_working_folder_that_is_gone_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system has no name for it any more."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    refused = refusal_of(Path(".autoloader"))

    assert refused.message == "the working folder is not there any more"
    assert refused.hint == HINT

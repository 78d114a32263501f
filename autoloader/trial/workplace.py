"""The folder that a run keeps its files in, looked at before anything is started.

Nothing is made here: what cannot begin leaves nothing behind.
"""

import os
import tempfile
from pathlib import Path

from autoloader.errors import UsageError

ROOT = Path(".autoloader")
"""Where studies and logs are kept, in the working folder."""

_ELSEWHERE = "cd to another folder; --dataset, --out and study files may lie elsewhere"


def check_workplace(root: Path = ROOT) -> None:
    """Raise where studies and logs could not be kept, or not safely.

    Others may have put the folder there, to have files written through links of theirs:
    it has to belong to this user, to root, or to whom the working folder belongs, whose
    code is run anyway.

    Args:
        root: the folder that will hold them; it is made later, where it is missing.

    Raises:
        UsageError: the folder cannot be written, or is another user's.
    """
    try:
        place = root.absolute()
    except FileNotFoundError as exc:
        msg = "the working folder is not there any more"
        raise UsageError(msg, hint=_ELSEWHERE) from exc
    is_there = place.is_symlink() or place.exists()
    if is_there:
        _check_kind(place)
        _check_owner(place)
    probed = place if is_there else place.parent
    try:
        with tempfile.TemporaryFile(dir=probed):
            pass
    except OSError as exc:
        msg = (
            f"{probed} cannot be written: {exc.strerror}; studies and logs are kept "
            f"in {place}"
        )
        raise UsageError(msg, hint=_ELSEWHERE) from exc


def _check_kind(place: Path) -> None:
    """Raise where something else than a folder has the name.

    Raises:
        UsageError: it is no folder, or a link that leads to none.
    """
    if place.is_dir():
        return
    if place.is_symlink():
        msg = f"{place} is a link to {place.readlink()}, where no folder is"
        raise UsageError(msg, hint="make that folder, or remove the link")
    msg = f"{place} is no folder, and studies and logs are kept in it"
    raise UsageError(msg, hint="give that file another name")


def _check_owner(place: Path) -> None:
    """Raise where the folder, or the link to it, is somebody's who has no say here.

    Raises:
        UsageError: it is.
    """
    trusted = {os.getuid(), 0, place.parent.stat().st_uid}
    for info in (place.lstat(), place.stat()):
        if info.st_uid not in trusted:
            msg = (
                f"{place} belongs to user {info.st_uid}, who could have files of yours "
                "written over by links in it"
            )
            raise UsageError(msg, hint=_ELSEWHERE)

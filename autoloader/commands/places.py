"""Where a recommendation goes, or stands: a file, or a folder of several.

In a folder each kind of hardware has a file of its own, so that machines of several
kinds never write over each other's.
"""

from __future__ import annotations

import contextlib
from pathlib import Path


def place_for(given: str) -> Path:
    """Return the file that `--out` means: in a folder, this hardware's own.

    A folder is what ends in a slash, and is made then, or is there.
    """
    folder = Path(given)
    if given.endswith("/"):
        with contextlib.suppress(OSError):  # told when the file is found unwritable
            folder.mkdir(exist_ok=True)
    elif not is_folder(folder):
        return folder
    from autoloader.measure.machine import read_machine  # psutil

    return folder / read_machine().file_name


def is_folder(path: Path) -> bool:
    """Whether there is a folder; a name that none could have is that of none."""
    try:
        return path.is_dir()
    except OSError:
        return False

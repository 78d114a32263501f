"""The folder of one measuring: a new one each time, named by when it began.

`study.json` says what was measured on which machine; outcomes and their readings lie
beside it (`search.record`). Nothing is gone on with: what a machine was like an hour
ago is no reading of now.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

from autoloader.errors import UsageError
from autoloader.files import write_whole
from autoloader.search.folder import make_root

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from autoloader.search.contenders import Contender
    from autoloader.values.job import Reference
    from autoloader.values.machine import Machine

SCHEMA = 1


def make_measure_folder(root: Path, begun: datetime, *, kind: str = "measure") -> Path:
    """Return a new folder, readable by its owner only and kept out of git.

    Args:
        root: folder of all studies.
        begun: when it began, which is in its name.
        kind: command that it belongs to, with which its name begins.

    Raises:
        UsageError: it cannot be made.
    """
    name = f"{kind}-{begun:%Y%m%d-%H%M%S}"
    try:
        make_root(root)
        number = 1
        while True:
            folder = root / (name if number == 1 else f"{name}-{number}")
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=0o700)
                return folder
            number += 1
    except OSError as exc:
        msg = f"no folder can be made in {root}: {exc.strerror}"
        raise UsageError(msg, hint="work in a folder on a local disk") from exc


def write_study(
    folder: Path,
    *,
    dataset: str,
    reference: Reference,
    machine: Machine,
    contenders: tuple[Contender, ...],
) -> None:
    """Write what is measured, before the first reading.

    Raises:
        StoredFileError: the disk refuses.
    """
    data = {
        "schema": SCHEMA,
        "kind": "measure",
        "dataset": dataset,
        "configs": [item.to_dict() for item in contenders],
        "scope": reference.scope.to_dict(),
        "facts": reference.facts.to_dict(),
        "machine": machine.to_dict(),
    }
    write_whole(folder / "study.json", json.dumps(data, indent=1) + "\n")

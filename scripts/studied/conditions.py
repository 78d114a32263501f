"""Say on what machine and with what versions figures were taken, and keep them apart.

Figures of two machines, or of two versions, are never mixed in one file.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import autoloader
from autoloader.errors import StoredFileError, UsageError
from autoloader.files import write_whole
from autoloader.measure.machine import read_machine
from autoloader.search.study_code import torch_version

ROOT = Path(__file__).parents[2]

SCHEMA = 1

_COMPARED = ("schema", "cpu", "cpus", "system", "kernel", "python", "torch")
"""What must be the same for figures to stand side by side."""

Stored = dict[str, Any]
"""A stored JSON: `conditions` beside the figures."""


def conditions_now() -> dict[str, Any]:
    """Return machine, versions and date."""
    machine = read_machine()
    return {
        "schema": SCHEMA,
        "cpu": machine.cpu_model,
        "cpus": machine.effective_cpus,
        "memory_bytes": machine.memory_total_bytes,
        "system": machine.system,
        "kernel": machine.kernel,
        "python": machine.python,
        "torch": torch_version(),
        "autoloader": autoloader.__version__,
        "commit": _commit(),
        "date": f"{datetime.now().astimezone():%Y-%m-%d}",
    }


def read_stored(path: Path) -> Stored | None:
    """Return what a file holds; None where there is none.

    Raises:
        StoredFileError: it is no JSON object.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as exc:
        msg = f"{path} cannot be read: {exc}"
        raise StoredFileError(msg, hint="remove it, and measure anew") from exc
    if not isinstance(found, dict):
        msg = f"{path} must hold an object, got {type(found).__name__}"
        raise StoredFileError(msg, hint="remove it, and measure anew")
    return found


def go_on_with(path: Path, now: dict[str, Any], *, fresh: bool = False) -> Stored:
    """Return the figures to go on with; those of the same conditions, or none yet.

    Args:
        path: the file; it need not exist.
        now: the conditions of this run.
        fresh: whether what is there is given up.

    Raises:
        UsageError: it holds figures of other conditions.
        StoredFileError: it is no JSON object.
    """
    stored = None if fresh else read_stored(path)
    if stored is None:
        return {"conditions": now}
    differing = differences(stored.get("conditions", {}), now)
    if differing:
        msg = f"{path} holds figures of other conditions: {'; '.join(differing)}"
        raise UsageError(msg, hint="--fresh gives them up, --into names another folder")
    return stored


def differences(was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return in what two sets of conditions differ so that figures cannot be mixed."""
    return [
        f"{name} was {was.get(name)}, now {now[name]}"
        for name in _COMPARED
        if was.get(name) != now[name]
    ]


def store(path: Path, data: Stored) -> None:
    """Write the file whole; a reader, or a run that is killed, never sees half of it.

    Raises:
        StoredFileError: the disk refuses.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(data, indent=1, allow_nan=False) + "\n")


def _commit() -> str | None:
    """Return the commit of this checkout, with + where it was changed since."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        name = _git("rev-parse", "--short", "HEAD")
        return f"{name}+" if _git("status", "--porcelain", "-uno") else name
    return None


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(ROOT), *words],  # noqa: S607  # the git on PATH
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    ).stdout.strip()

"""Tell whether the code that a study read was the code that stands there now.

Files are found by their names and hashed as they are: nothing is imported, so that the
user's code runs in children only.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def code_digests(specs: Mapping[str, str]) -> dict[str, str]:
    """Return a digest of the file that each SPEC names, by the flag that gave it.

    Only that file: of what it imports, a change shows in what the reference reads.
    Empty where no file is found, as for a module that is built in.
    """
    return {
        flag: _digest(_file_of(spec.rpartition(":")[0])) for flag, spec in specs.items()
    }


def torch_version() -> str:
    """Return the version of the torch that is installed; empty where none is."""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return ""


def _digest(path: Path | None) -> str:
    """Return a digest of a file; empty where it cannot be read."""
    if path is None:
        return ""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except (OSError, ValueError):
        return ""


def _file_of(module: str) -> Path | None:
    """Return the file of a module, or of a path; None where there is none."""
    if module.endswith(".py"):
        return Path(module)
    top, *below = module.split(".")
    try:
        found = importlib.util.find_spec(top)  # of a top-level name, imports nothing
    except (AttributeError, ImportError, ValueError):
        return None
    if found is None:
        return None
    if not below:
        return Path(found.origin) if found.has_location and found.origin else None
    for folder in found.submodule_search_locations or ():
        place = Path(folder, *below)
        for path in (place.with_name(f"{below[-1]}.py"), place / "__init__.py"):
            if path.is_file():
                return path
    return None

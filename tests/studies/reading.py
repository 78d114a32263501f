"""What tests of studies ask of files, examples and loaders."""

import hashlib
from pathlib import Path
from typing import Any

import torch


def digests(root: Path) -> dict[str, str]:
    """Return a digest of each file below a folder, by its path there."""
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def times(root: Path) -> dict[str, int]:
    """Return when each file below a folder was last written, in nanoseconds."""
    return {str(path): path.stat().st_mtime_ns for path in root.rglob("*")}


def equal(one: Any, other: Any) -> bool:
    """Whether two examples have the same content, tensor by tensor."""
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            equal(value, other[name]) for name, value in one.items()
        )
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)

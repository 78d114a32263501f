"""Look whether what arrives lies in page-locked memory, whatever `pin_memory` says.

What follows from it is told in `audit.pinning`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.child.device import device_kind, tensors_of
from autoloader.values.scope import UNPINNED

if TYPE_CHECKING:
    from autoloader.values.config import LoaderConfig

LOOKED_AT = 4
"""Batches of a pass that are looked at: the flag works for all of them, or for none."""


class PinWatch:
    """Counts tensors that arrived, and those of them that are pinned.

    Args:
        kind: type of the accelerator that memory is pinned for; None: nothing is asked
            for, or there is none, and nothing is looked at.
    """

    def __init__(self, kind: str | None) -> None:
        self._kind = kind
        self._left = LOOKED_AT
        self._tensors = self._pinned = 0

    def note(self, batch: Any) -> None:
        """Look at a batch as training gets it."""
        if self._kind is None or not self._left:
            return
        self._left -= 1
        for tensor in tensors_of(batch):
            if tensor.device.type == "cpu":  # what lies on a device needs no pinning
                self._tensors += 1
                self._pinned += self._kind not in UNPINNED and tensor.is_pinned()

    def to_dict(self) -> dict[str, Any] | None:
        """Return what was seen, as a message; None where nothing was looked at."""
        if self._kind is None:
            return None
        return {
            "device": self._kind,
            "tensors": self._tensors,
            "pinned": self._pinned,
        }


def pinned_for(config: LoaderConfig) -> str | None:
    """Return the accelerator that a config pins memory for; None where it does not."""
    return device_kind() if config.pin_memory else None

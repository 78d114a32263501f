"""Say where `pin_memory` did nothing: by the tensors that arrived, not by the flag.

Pure: what a pass counted in, cautions out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.values.outcome import Finding
from autoloader.values.scope import UNPINNED

if TYPE_CHECKING:
    from collections.abc import Mapping

_OWN_CLASS = (
    "PyTorch pins tensors, and those in dicts, lists and tuples; a class of your own "
    "needs a method pin_memory() that returns it with its tensors pinned"
)


def judge_pinning(told: Mapping[str, Any] | None) -> list[Finding]:
    """Return the caution of batches that are not pinned though they should be.

    Args:
        told: kind of the accelerator, tensors that arrived in the training process and
            those of them that are pinned; None: nobody asked for it, or there is none.
    """
    if told is None or (told["tensors"] and told["pinned"] == told["tensors"]):
        return []
    tensors, pinned, kind = told["tensors"], told["pinned"], told["device"]
    hint: str | None = _OWN_CLASS
    if kind in UNPINNED:
        message, hint = f"pin_memory did nothing: PyTorch pins nothing for {kind}", None
    elif not tensors:
        message = "pin_memory did nothing: no tensor was found in a batch"
    elif not pinned:
        message = f"pin_memory did nothing: none of {tensors} tensors arrived pinned"
    else:
        message = (
            f"pin_memory left {tensors - pinned} of {tensors} tensors as they were"
        )
    return [
        Finding(
            code="pinning_without_effect",
            count=tensors - pinned,
            message=message,
            hint=hint,
        )
    ]

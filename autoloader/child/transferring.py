"""The pass with the transfer: batches go from the loader to the accelerator.

A training loop whose step is to move the batch, on a stream of its own: what pinned
memory does shows here, and not where a loader is timed alone. Nothing is computed. The
loop is `child.stepping`'s.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import torch

from autoloader.child.device import Device, tensors_of
from autoloader.child.pin_watch import PinWatch, pinned_for
from autoloader.child.stages import Stage
from autoloader.child.stepping import StepRaised, fed_loop
from autoloader.child.weighing import accelerator_bytes, pinned_bytes
from autoloader.errors import ProtocolError

if TYPE_CHECKING:
    from autoloader.child.context import TrialContext

UNDER_WAY = 2
"""Copies that may be under way, or in use: that of this batch, and the last one."""


def transfer_pass(context: TrialContext) -> dict[str, Any]:
    """Move each batch of a loader to the accelerator, against the clock.

    Raises:
        ProtocolError: the order has no plan.
    """
    plan = context.order.plan
    if plan is None:
        msg = "a pass with the transfer needs a plan"
        raise ProtocolError(msg)
    device = Device.here()
    sender = Sender(device, PinWatch(pinned_for(context.order.config)))
    try:
        told = fed_loop(context, plan, lambda: sender, stage=Stage.TRANSFERRING)
    except StepRaised as exc:
        raise (
            exc.__cause__ or exc
        ) from None  # not the user's step: it is told as it came
    return {**told, "transfer": _told(device, sender, len(told["came_s"]))}


class Sender:
    """Called with each batch: asks for a copy, and waits for the one before the last.

    Args:
        device: what batches are moved to.
        watch: looks whether the first ones arrived pinned.
    """

    def __init__(self, device: Device, watch: PinWatch) -> None:
        self.copies = device.copies()
        self.watch = watch
        self.batch_bytes = 0
        self._seen = 0
        self._under_way: deque[tuple[Any, Any]] = deque()

    def __call__(self, batch: Any) -> None:
        """Move a batch; it stays there until the next but one is moved."""
        if not self._seen:  # before the clock runs: the short epoch is at work
            self._look_at(batch)
        self._seen += 1
        if len(self._under_way) == UNDER_WAY:
            last = self._under_way.popleft()[1]
            if last is not None:
                last.synchronize()
        self._under_way.append(self.copies.send(batch))

    def _look_at(self, batch: Any) -> None:
        self.watch.note(batch)
        sizes = (item.numel() * item.element_size() for item in tensors_of(batch))
        self.batch_bytes = sum(sizes)


def _told(device: Device, sender: Sender, batches: int) -> dict[str, Any]:
    """Return what is told of the copies, as a message."""
    transfer_s = sender.copies.seconds(batches)
    watched = sender.watch.to_dict() or {"tensors": 0, "pinned": 0}
    known = accelerator_bytes(torch) if device.is_accelerator else None
    return {
        "transfer_s": None if transfer_s is None else [round(s, 7) for s in transfer_s],
        "untimed": sender.copies.untimed,
        "batch_bytes": sender.batch_bytes,
        "device": device.kind,
        "name": device.facts()["name"],
        "tensors": watched["tensors"],
        "pinned": watched["pinned"],
        "pinned_bytes": pinned_bytes(torch),
        "accelerator_bytes": known,
    }

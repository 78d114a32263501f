"""From the answers of passes to readings: what a trial told, as frozen values.

Starts nothing and judges nothing.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from autoloader.values.ceiling import CeilingReading
from autoloader.values.outcome import Failure, MemoryReading, Reading
from autoloader.values.step import StepReading
from autoloader.values.transfer import TransferReading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoloader.measure.device_meter import DeviceMeter
    from autoloader.values.job import PassOrder, PassPlan
    from autoloader.values.scope import Scope


def reading_of(
    answer: Mapping[str, Any], order: PassOrder, plan: PassPlan, scope: Scope
) -> Reading | Failure:
    """Return the reading of a timed pass, or that not all of it arrived."""
    arrived = sum(answer["counts"])
    if answer["expected"] not in {None, arrived}:
        return Failure(
            kind="crashed",
            phase="timed",
            message=f"{arrived} of {answer['expected']} examples arrived",
            log=order.logs,
        )
    return Reading(
        purpose=order.purpose,
        num_workers=order.config.num_workers,
        kept=answer["kept"],
        arrivals_s=tuple(answer["arrivals_s"]),
        counts=tuple(answer["counts"]),
        warm_batches=plan.warm_batches,
        steady_batches=plan.steady_batches,
        total_s=answer["total_s"],
        epoch_examples=scope.epoch_examples,
        epoch_ends_s=tuple(answer["epoch_ends_s"]),
        cache=scope.cache,
        **answer["load"],
    )


def memory_of(answer: Mapping[str, Any]) -> MemoryReading:
    """Return the reading of a pass that weighed."""
    return MemoryReading(
        full_queue_bytes=answer["full_queue_bytes"],
        epoch_end_bytes=tuple(answer["epoch_end_bytes"]),
        queued_bytes=answer["queued_bytes"],
        queue_was_full=answer["queue_was_full"],
        resident_bytes=answer["resident_bytes"],
        pinned_bytes=answer["pinned_bytes"],
        accelerator_bytes=answer["accelerator_bytes"],
    )


def ceiling_of(answer: Mapping[str, Any]) -> CeilingReading:
    """Return the reading of a pass over free examples."""
    names = {item.name for item in fields(CeilingReading)}
    known = {name: value for name, value in answer.items() if name in names}
    return CeilingReading.from_dict(known)


def step_reading_of(
    answer: Mapping[str, Any],
    *,
    epoch_examples: int | None,
    meter: DeviceMeter | None = None,
) -> StepReading:
    """Return the reading of a pass with the training step.

    Args:
        answer: what it told.
        epoch_examples: length of the user's real epoch; None: not known, or it was the
            step alone.
        meter: which looked at the accelerators meanwhile; None: nobody did.
    """
    names = {item.name for item in fields(StepReading)}
    known = {name: value for name, value in answer.items() if name in names}
    device = None if meter is None else meter.device(answer["device_uuid"])
    if device is not None:
        busy = device.utilisation
    else:
        busy = None if meter is None else meter.share
    return StepReading.from_dict(
        {
            **known,
            **answer["load"],
            "epoch_examples": epoch_examples,
            "utilisation": busy,
            "device": None if device is None else device.to_dict(),
        }
    )


def transfer_reading_of(
    answer: Mapping[str, Any],
    *,
    epoch_examples: int | None,
    meter: DeviceMeter | None = None,
) -> TransferReading:
    """Return the reading of a pass that moved batches to the accelerator.

    Args:
        answer: what it told.
        epoch_examples: length of the user's real epoch; None: not known.
        meter: which looked at the accelerators meanwhile; None: nobody did.
    """
    loop = step_reading_of(answer, epoch_examples=epoch_examples, meter=meter)
    return TransferReading.from_dict({**answer["transfer"], "loop": loop.to_dict()})

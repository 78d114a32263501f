"""The pass that moves batches: timed by two clocks, two copies under way at most."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from autoloader.child import pin_watch, stepping, transferring
from autoloader.child.device import Device
from autoloader.child.pin_watch import PinWatch
from autoloader.child.transferring import UNDER_WAY, Sender, transfer_pass
from autoloader.errors import ProtocolError
from autoloader.measure.planning import FIRST_STEPS
from autoloader.trial.readings import transfer_reading_of
from autoloader.values.transfer import TransferReading
from tests.child.devices import FakeModule, a_device
from tests.child.test_stepping import context


def pinned_context(tmp_path: Any, *, is_pinned: bool = False) -> Any:
    """Return what a pass works on, eight rows of 64 numbers a batch."""
    found = context(tmp_path, None)
    found.order.kind = "transfer"
    found.order.config.pin_memory = is_pinned
    return found


def reading_of(message: dict[str, Any]) -> TransferReading:
    """Return the reading that a pass told."""
    return transfer_reading_of({"event": "result", **message}, epoch_examples=96)


def test_without_an_accelerator_the_loop_is_told_and_nothing_of_copies(
    tmp_path: Any,
) -> None:
    """The same code runs; what is not shown is said."""
    given = pinned_context(tmp_path)

    found = reading_of(transfer_pass(given))

    assert len(found.loop.came_s) == given.order.plan.total
    assert found.loop.counts == (8,) * given.order.plan.total
    assert found.loop.device is None
    if torch.accelerator.is_available():
        return
    assert found.device == "cpu"
    assert found.transfer_s is None
    assert found.untimed == "no accelerator: nothing was moved"
    assert (found.tensors, found.pinned) == (0, 0)
    assert found.accelerator_bytes is None


def test_each_batch_of_the_timed_loop_has_its_copy(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the short epoch before it are left out; the device is not waited for."""
    module = FakeModule()
    monkeypatch.setattr(Device, "here", lambda: a_device(module))
    monkeypatch.setattr(stepping, "device_kind", lambda: "cuda")
    monkeypatch.setattr(pin_watch, "device_kind", lambda: "cuda")
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda self: True)
    given = pinned_context(tmp_path, is_pinned=True)

    found = reading_of(transfer_pass(given))

    total = given.order.plan.total
    assert found.transfer_s == pytest.approx((0.01,) * total)
    assert len(module.streams) == 2 * (total + FIRST_STEPS)
    assert module.synchronized == 1  # once, in the end
    assert (found.tensors, found.pinned) == (1, 1)
    assert found.batch_bytes == 8 * 64 * 4
    assert found.name == "GPU 0"


def test_the_copy_before_the_last_is_waited_for() -> None:
    """So that no more batches lie on the device than training has there."""
    module = FakeModule()
    sender = Sender(a_device(module), PinWatch(None))

    for _ in range(UNDER_WAY + 3):
        sender([torch.ones(4)])

    assert len(module.waited) == 3


def test_what_the_device_refuses_is_told_as_it_came(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody's training step raised it."""

    class Full(FakeModule):
        def Event(self, *, enable_timing: bool) -> Any:
            if self.streams:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")
            return super().Event(enable_timing=enable_timing)

    monkeypatch.setattr(Device, "here", lambda: a_device(Full()))

    with pytest.raises(torch.OutOfMemoryError, match=r"^CUDA out of memory"):
        transfer_pass(pinned_context(tmp_path))


def test_a_pass_without_a_plan_is_a_fault_of_ours() -> None:
    """It would not know when to end."""
    given: Any = SimpleNamespace(order=SimpleNamespace(plan=None))

    with pytest.raises(ProtocolError, match=r"^a pass with the transfer needs a plan$"):
        transfer_pass(given)


def test_the_pass_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is ordered."""
    from autoloader.child import passes

    alone = SimpleNamespace(join=lambda: None)
    given: Any = SimpleNamespace(order=SimpleNamespace(kind="transfer"), meeting=alone)
    monkeypatch.setattr(passes, "transfer_pass", lambda context: {"given": context})

    assert passes.run_pass(given) == {"given": given}
    assert transferring.transfer_pass is not None

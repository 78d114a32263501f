"""Which accelerator there is, how copies to it are timed, which tensors a batch has."""

from collections import namedtuple
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from autoloader.child.device import (
    Device,
    device_kind,
    kind_in_use,
    moved,
    tensors_of,
    uuid_in_use,
)
from tests.child.devices import FakeModule, a_device, a_library

Pair = namedtuple("Pair", "image label")


@pytest.mark.parametrize(
    ("library", "kind"),
    [
        (a_library("cuda"), "cuda"),
        (a_library("mps"), "mps"),
        (a_library("cuda", is_there=False), None),
        (a_library(None), None),
        (a_library(None, is_older=True), None),
    ],
)
def test_the_accelerator_is_told_by_its_own_module(
    library: Any, kind: str | None
) -> None:
    """Built for one is not enough; nothing that makes a context is asked."""
    assert device_kind(library) == kind


def test_this_pytorch_tells_the_same_as_it_tells_itself() -> None:
    """Of this machine, whatever it has."""
    found = device_kind()

    assert (found is not None) is torch.accelerator.is_available()


@pytest.mark.parametrize(
    ("library", "kind"),
    [
        (a_library("cuda", is_in_use=True), "CUDA"),
        (a_library("xpu", is_in_use=True), "XPU"),
        (a_library("cuda"), None),
        (a_library(None), None),
    ],
)
def test_a_context_is_told_by_its_kind(library: Any, kind: str | None) -> None:
    """Where there is none, no device has an id that matters."""
    assert kind_in_use(library) == kind
    if kind is None:
        assert uuid_in_use(library) is None


def test_the_id_of_the_device_in_use_is_told() -> None:
    """By which the parent finds it among all that the driver lists."""
    module = FakeModule()
    library = a_library("cuda", is_in_use=True)
    library.get_device_module = lambda _device: SimpleNamespace(
        is_available=lambda: True,
        current_device=module.current_device,
        get_device_properties=module.get_device_properties,
    )

    assert uuid_in_use(library) == "1f2e"
    assert Device.here(library).facts() == {
        "kind": "cuda",
        "name": "GPU 0",
        "uuid": "1f2e",
    }


def test_without_an_accelerator_batches_stay_where_they_are() -> None:
    """The same code runs, and says what is not shown."""
    device = Device.here(a_library(None))
    batch = [torch.ones(3)]

    copies = device.copies()
    found, last = copies.send(batch)

    assert not device.is_accelerator
    assert found[0] is batch[0]
    assert last is None
    assert copies.seconds(1) is None
    assert copies.untimed == "no accelerator: nothing was moved"
    assert device.facts() == {"kind": "cpu", "name": None, "uuid": None}


def test_copies_are_timed_on_a_stream_of_their_own() -> None:
    """By the device's clock; only the last ones are told, the first warmed up."""
    module = FakeModule()
    copies = a_device(module).copies()

    events = [copies.send([torch.ones(3)])[1] for _ in range(5)]

    assert None not in events
    assert copies.seconds(3) == pytest.approx([0.01] * 3)
    assert set(module.streams) == {"copies"}
    assert module.synchronized == 1
    assert copies.untimed is None


def no_streams(module: FakeModule) -> Any:
    """Return a module like Apple's: one stream for all."""
    return SimpleNamespace(Event=module.Event, synchronize=module.synchronize)


def no_events(module: FakeModule) -> Any:
    """Return a module whose events do not take the time."""

    def refuse(**_others: object) -> None:
        raise NotImplementedError

    return SimpleNamespace(
        Stream=module.Stream,
        stream=module.stream,
        Event=refuse,
        synchronize=module.synchronize,
    )


def mute_events(module: FakeModule) -> Any:
    """Return a module whose events are recorded and do not tell the time."""

    def event(**others: Any) -> Any:
        found: Any = module.Event(**others)
        found.elapsed_time = refuse
        return found

    def refuse(_end: object) -> float:
        raise RuntimeError("elapsed_time is not supported")

    return SimpleNamespace(
        Stream=module.Stream,
        stream=module.stream,
        Event=event,
        synchronize=module.synchronize,
    )


@pytest.mark.parametrize(
    ("like", "why"),
    [
        (no_streams, "cpu has no streams: copies wait for all else"),
        (no_events, "cpu has no events that tell the time"),
        (mute_events, "events of cpu do not tell the time"),
    ],
)
def test_a_device_without_a_clock_of_its_own_says_so(
    like: Callable[[FakeModule], Any], why: str
) -> None:
    """Batches are moved all the same."""
    copies = a_device(like(FakeModule())).copies()

    found, _last = copies.send([torch.ones(3)])

    assert torch.equal(found[0], torch.ones(3))
    assert copies.seconds(1) is None
    assert copies.untimed == why


def test_a_batch_is_moved_with_all_its_containers() -> None:
    """What is no tensor goes with it."""
    batch = {"image": torch.ones(2), "meta": [torch.zeros(1), "name"], "n": 3}

    found = moved(batch, "cpu")

    assert torch.equal(found["image"], torch.ones(2))
    assert found["meta"][1] == "name"
    assert found["n"] == 3


def test_tensors_are_found_wherever_they_are() -> None:
    """In containers within each other, and in attributes of a class of the user's."""
    own = SimpleNamespace(pixels=torch.ones(1), name="x")
    batch = Pair({"a": torch.ones(2)}, [own, (torch.ones(3), "text", b"bytes", None)])

    assert [tensor.numel() for tensor in tensors_of(batch)] == [2, 1, 3]


def test_a_batch_that_holds_itself_ends() -> None:
    """It is looked into to a depth that batches have."""
    batch: list[Any] = [torch.ones(1)]
    batch.append(batch)

    assert len(list(tensors_of(batch))) == 8

"""Whether memory is pinned is looked at on what arrives."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from autoloader.audit.pinning import judge_pinning
from autoloader.child import pin_watch
from autoloader.child.pin_watch import LOOKED_AT, PinWatch, pinned_for
from autoloader.values.config import LoaderConfig

PINNED: set[int] = set()


@pytest.fixture(autouse=True)
def pinning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tensors be pinned where there is no accelerator."""
    PINNED.clear()
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda self: id(self) in PINNED)


def tensors(count: int, *, pinned: int) -> list[torch.Tensor]:
    """Return a batch of which so many are pinned."""
    found = [torch.ones(2) for _ in range(count)]
    PINNED.update(id(item) for item in found[:pinned])
    return found


def told(batches: list[Any], kind: str | None = "cuda") -> dict[str, Any] | None:
    """Return what a watch tells of these batches."""
    watch = PinWatch(kind)
    for batch in batches:
        watch.note(batch)
    return watch.to_dict()


def test_pinned_batches_are_no_caution() -> None:
    """Only so many of them are looked at."""
    batches = [tensors(3, pinned=3) for _ in range(LOOKED_AT + 2)]

    found = told(batches)

    assert found == {"device": "cuda", "tensors": 12, "pinned": 12}
    assert judge_pinning(found) == []


@pytest.mark.parametrize(
    ("batch", "kind", "count", "message"),
    [
        (
            lambda: tensors(2, pinned=0),
            "cuda",
            2,
            "pin_memory did nothing: none of 2 tensors arrived pinned",
        ),
        (
            lambda: tensors(3, pinned=1),
            "cuda",
            2,
            "pin_memory left 2 of 3 tensors as they were",
        ),
        (
            lambda: SimpleNamespace(text="no tensor"),
            "xpu",
            0,
            "pin_memory did nothing: no tensor was found in a batch",
        ),
        (
            lambda: tensors(2, pinned=2),
            "mps",
            2,
            "pin_memory did nothing: PyTorch pins nothing for mps",
        ),
    ],
)
def test_a_flag_that_did_nothing_is_a_caution(
    batch: Any, kind: str, count: int, message: str
) -> None:
    """It is told how far it did not work, and which way leads out."""
    (found,) = judge_pinning(told([batch()], kind))

    assert found.code == "pinning_without_effect"
    assert found.count == count
    assert found.message == message
    assert (found.hint is None) == (kind == "mps")


def test_without_an_accelerator_nothing_is_looked_at() -> None:
    """PyTorch says itself that the flag has no effect then."""
    assert told([tensors(2, pinned=0)], kind=None) is None
    assert judge_pinning(None) == []


def test_a_batch_that_lies_on_the_device_needs_no_pinning() -> None:
    """It is where it is needed."""
    watch = PinWatch("cuda")

    watch.note([torch.ones(2, device="meta")])

    assert watch.to_dict() == {"device": "cuda", "tensors": 0, "pinned": 0}


def test_memory_is_pinned_where_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And where there is an accelerator."""
    monkeypatch.setattr(pin_watch, "device_kind", lambda: "cuda")
    plain = LoaderConfig(num_workers=0, batch_size=8)

    assert pinned_for(plain) is None
    assert pinned_for(LoaderConfig(num_workers=0, batch_size=8, pin_memory=True)) == (
        "cuda"
    )

"""What pinning does to a batch, as far as it can be called without an accelerator."""

from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._utils import ExceptionWrapper
from torch.utils.data._utils import pin_memory as pinning

from autoloader.child.digest import leaves
from autoloader.child.failures import failure_of
from tests.conformance.canary import example
from tests.conformance.datasets.options import Bag, Batch, Pair

Named = namedtuple("Named", "pixels label")


pin_memory: Callable[[Any], Any] = pinning.pin_memory


@pytest.fixture(autouse=True)
def unpinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tensors be "pinned" where there is no accelerator."""
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self, device=None: self)


@pytest.mark.parametrize(
    "batch",
    [
        example(3),
        (example(3)["pixels"], 21),
        Named(example(3)["pixels"], 21),
        Bag(example(3)),
        [example(3), example(4)],
    ],
    ids=["dict", "tuple", "namedtuple", "subclass", "list"],
)
def test_pinning_keeps_kind_and_content(batch: Any) -> None:
    """Today's PyTorch gives back what it got; the gate would see it otherwise."""
    found = pin_memory(batch)

    assert type(found) is type(batch)
    assert leaves(found) == leaves(batch)


def test_a_range_becomes_a_list_of_the_same_content() -> None:
    """A kind that pinning still changes is compared by content all the same."""
    found = pin_memory(range(3))

    assert type(found) is list
    assert leaves(found) == leaves(range(3))


def test_an_unknown_class_is_left_alone() -> None:
    """Nothing in it is pinned, and nothing said."""
    batch = Batch(example(3))

    assert pin_memory(batch) is batch


def test_a_tuple_that_cannot_be_rebuilt_is_a_failure_with_its_reason(
    tmp_path: Path,
) -> None:
    """The pinning thread's exception is read like a worker's."""
    batch = Pair(example(3)["pixels"], 21)
    wrapper: Any = ExceptionWrapper
    with pytest.raises(TypeError) as raised:
        pin_memory(batch)
    info = (TypeError, raised.value, raised.tb)
    wrapped = wrapper(info, where="in pin memory thread for device 0")
    with pytest.raises(TypeError) as caught:
        wrapped.reraise()

    failure = failure_of(caught.value, phase="gate", logs=tmp_path)

    assert failure.kind == "worker_exception"
    assert failure.exception == "TypeError"
    assert "missing 1 required positional argument: 'label'" in failure.message

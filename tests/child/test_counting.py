"""The way to the number of examples in a batch."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch

from autoloader.child.counting import getters_of, steps_to
from autoloader.child.digest import walk


@dataclass
class Pair:
    """A batch as a dataclass."""

    pixels: torch.Tensor
    label: torch.Tensor


class Named(NamedTuple):
    """A batch as a named tuple."""

    pixels: torch.Tensor
    label: torch.Tensor


ROWS = torch.zeros(5, 2)


@pytest.mark.parametrize(
    ("batch", "steps"),
    [
        (ROWS, ()),
        ([ROWS, 1], (0,)),
        (Named(ROWS, ROWS), (0,)),
        ({"pixels": ROWS}, ("pixels",)),
        ({7: ROWS}, (7,)),
        ({"a.b": [{"c": ROWS}]}, ("a.b", 0, "c")),
        (Pair(ROWS, ROWS), ("@pixels",)),
        ({"inner": Pair(ROWS, ROWS)}, ("inner", "@pixels")),
    ],
)
def test_the_way_to_a_field_leads_to_it_again(
    batch: Any, steps: tuple[int | str, ...]
) -> None:
    """By keys, places and attributes, through functions that are written in C."""
    path = next(path for path, value in walk(batch) if value is ROWS)

    found = batch
    for getter in getters_of(steps):
        found = getter(found)

    assert steps_to(batch, path) == steps
    assert found is ROWS
    assert not any(hasattr(getter, "__code__") for getter in getters_of(steps))


@pytest.mark.parametrize(
    ("batch", "path"), [({"@odd": ROWS}, ("@odd",)), ({None: ROWS}, ("None",))]
)
def test_a_key_that_cannot_be_written_down_is_no_way(
    batch: Any, path: tuple[str, ...]
) -> None:
    """Another field is taken then, or the batch's size."""
    assert steps_to(batch, path) is None

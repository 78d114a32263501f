"""Elements that are batches, taken apart into their rows."""

from typing import Any

import numpy as np
import pytest
import torch

from autoloader.child.made_batches import rows_of


def test_columns_become_rows() -> None:
    """Tensors, arrays and lists of one length, in a tuple or in a dict."""
    listed = rows_of((torch.tensor([3, 4]), ["a", "b"], np.array([5, 6])))
    named = rows_of({"x": torch.ones(2, 3), "y": torch.tensor([1, 2])})

    assert listed == [(3, "a", 5), (4, "b", 6)]
    assert named is not None
    assert [sorted(row) for row in named] == [["x", "y"], ["x", "y"]]
    assert named[1]["x"].shape == (3,)


@pytest.mark.parametrize(
    "element",
    [
        (torch.ones(3, 8, 8), 1),
        (torch.ones(3, 8, 8), torch.ones(2)),
        (torch.ones(3, 8, 8),),
        (torch.tensor(1), torch.tensor(2)),
        {"x": torch.ones(0, 2), "y": torch.ones(0)},
        {"x": torch.eye(2).to_sparse(), "y": torch.ones(2)},
        torch.ones(3),
        "text",
        None,
        [],
    ],
)
def test_other_elements_are_examples(element: Any) -> None:
    """One field without rows is enough."""
    assert rows_of(element) is None

"""What differs between what an example is made of here and there, in words."""

import json
from typing import Any

import pytest

from autoloader.audit.signatures import signature_differences

PIXELS: list[Any] = ["pixels", "tensor", "float32", [3, 16, 16]]
LABEL: list[Any] = ["label", "int", None, []]


@pytest.mark.parametrize(
    ("arrived", "said"),
    [
        ([PIXELS, LABEL], {}),
        ([LABEL, PIXELS], {}),
        (
            [["pixels", "tensor", "float64", [3, 16, 16]], LABEL],
            {"dtype_mismatch": "pixels is float64, float32 in one process"},
        ),
        (
            [["pixels", "array", "float64", [1, 16, 16]], LABEL],
            {
                "dtype_mismatch": "pixels is float64, float32 in one process",
                "shape_mismatch": "pixels is 1 x 16 x 16, 3 x 16 x 16 in one process",
            },
        ),
        ([PIXELS], {"field_missing": "label is not there"}),
        (
            [PIXELS, LABEL, ["depth", "int", None, []]],
            {"field_missing": "depth is new"},
        ),
        (
            [PIXELS, ["label", "none", None, None]],
            {
                "dtype_mismatch": "label is none, int in one process",
                "shape_mismatch": "label is of no shape, a single number in one "
                "process",
            },
        ),
    ],
)
def test_the_first_field_that_differs_is_named(
    arrived: list[Any], said: dict[str, str]
) -> None:
    """By code; the order of fields does not matter."""
    here, there = json.dumps(arrived), json.dumps([PIXELS, LABEL])

    assert signature_differences(there, here) == said


def test_a_field_without_a_name_is_the_example() -> None:
    """And one of a tuple is called by its number."""
    whole = signature_differences('[["", "int", null, []]]', '[["", "str", null, []]]')
    of_pair = signature_differences(
        '[["0", "int", null, []]]', '[["0", "str", null, []]]'
    )

    assert whole == {"dtype_mismatch": "the example is str, int in one process"}
    assert of_pair == {"dtype_mismatch": "field 0 is str, int in one process"}

"""One batch put together in one process: what cannot be, and which fields are masks."""

import datetime
from typing import Any

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from autoloader.child.assembly import Assembly, lengths_of, mask_rows, masks_of
from autoloader.child.digest import leaves
from autoloader.child.reading import kinds_of
from autoloader.errors import DatasetError
from autoloader.values.contract import Padding


def assembly_of(examples: list[Any], collate: Any = None) -> Assembly:
    """Return an assembly that knows what these examples are made of."""
    assembly = Assembly(collate)
    for index, example in enumerate(examples):
        assembly.note(index, kinds_of(leaves(example)))
    return assembly


def padded(sequences: list[torch.Tensor]) -> dict[str, torch.Tensor]:
    """Pad to the longest, and say where."""
    rows = pad_sequence(sequences, batch_first=True)
    lengths = torch.tensor([len(item) for item in sequences])
    return {"rows": rows, "mask": torch.arange(rows.shape[1]) < lengths[:, None]}


def test_examples_that_cannot_be_stacked_are_named_by_id() -> None:
    """The known case: four records, one of them grey."""
    examples = [torch.zeros(1 if index == 3 else 3, 16, 16) for index in range(4)]

    with pytest.raises(DatasetError) as caught:
        assembly_of(examples).check(list(enumerate(examples)))

    assert caught.value.message == (
        "contract_violation: 1 of 4 examples differs from the others: id 3: "
        "example is 1 x 16 x 16, others are 3 x 16 x 16"
    )


def test_a_type_that_cannot_be_collated_is_a_fault_of_the_dataset() -> None:
    """It fails in every config alike, so that no trial is needed."""
    examples = [datetime.date(2020, 1, day) for day in (1, 2)]

    with pytest.raises(DatasetError, match="collate_fn fails in one process") as caught:
        assembly_of(examples).check(list(enumerate(examples)))

    assert "datetime.date" in caught.value.message


def test_a_collate_fn_of_ones_own_takes_what_it_takes() -> None:
    """Differing lengths are what it pads."""
    examples = [torch.ones(length) for length in (2, 5, 3)]

    assembly_of(examples, padded).check(list(enumerate(examples)))


def test_numbers_of_one_kind_or_another_can_be_stacked_with_a_caution() -> None:
    """PyTorch takes the dtype of the first one, so it drifts from batch to batch."""
    examples = [1, 0.5, 2]
    assembly = assembly_of(examples)

    assembly.check(list(enumerate(examples)))
    caution = assembly.caution()

    assert caution is not None
    assert caution.code == "contract_violation"
    assert caution.count == 1
    assert caution.ids == (1,)


def test_examples_that_are_alike_are_no_matter() -> None:
    """Nothing is said."""
    examples = [(torch.zeros(3), 1, "a"), (torch.ones(3), 2, "longer")]
    assembly = assembly_of(examples)

    assembly.check(list(enumerate(examples)))

    assert assembly.caution() is None
    assert assembly.padding(list(enumerate(examples))) == ()


def test_the_mask_of_a_padded_batch_is_found() -> None:
    """By its rows, which are as long as the examples are."""
    examples = [torch.full((length,), 7.0) for length in (2, 5, 3)]
    assembly = assembly_of(examples, padded)

    found = assembly.padding(list(enumerate(examples)))

    assert found == (Padding(mask="mask", of="", axis=0),)


def test_rows_of_a_mask_are_counted() -> None:
    """True entries, and whether they come first."""
    rows = mask_rows(torch.tensor([[1, 1, 0], [0, 1, 1], [0, 0, 0]]))

    assert rows is not None
    assert rows.sums == (2, 2, 0)
    assert rows.prefix == (True, False, True)


@pytest.mark.parametrize(
    "value",
    [
        torch.tensor([[0, 2]]),
        torch.ones(3),
        torch.zeros(2, 2, 2),
        [[1, 0]],
        torch.eye(2).to_sparse(),
    ],
)
def test_other_fields_are_no_masks(value: object) -> None:
    """Other numbers, other dimensions, other kinds."""
    assert mask_rows(value) is None


def test_lengths_are_those_of_fields_that_all_examples_have() -> None:
    """One that lacks a field has no length there."""
    examples = [{"a": torch.ones(2, 3), "b": torch.ones(4)}, {"a": torch.ones(5, 3)}]

    assert lengths_of(examples) == {("a", 0): [2, 5], ("a", 1): [3, 3]}
    assert set(masks_of({"m": torch.ones(2, 2), "x": torch.rand(2, 2)})) == {"m"}


def test_the_batch_that_was_put_together_tells_what_an_example_takes() -> None:
    """Padding makes it larger than the example itself."""
    examples = [torch.ones(length) for length in (2, 5, 3)]
    assembly = assembly_of(examples, padded)

    before = assembly.example_bytes
    assembly.check(list(enumerate(examples)))

    assert before is None
    assert assembly.example_bytes == (3 * 5 * 4 + 3 * 5) / 3

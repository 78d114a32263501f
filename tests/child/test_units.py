"""Counting what the user counts, in the reference."""

from pathlib import Path
from typing import Any

import pytest
import torch

from autoloader.child.reference import run_reference
from autoloader.child.stages import StageBoard
from autoloader.child.units import UnitCounter
from autoloader.errors import DatasetError, UsageError
from autoloader.values.job import ReferenceOrder
from autoloader.values.scope import (
    DatasetFacts,
    ScopeRequest,
    SourceSpec,
    UnitFacts,
    UnitSpec,
)

READS = Path(__file__).parents[1] / "reads.py"


def unit(function: str, name: str = "tokens") -> UnitSpec:
    """Return a unit that is counted by a function of the datasets' file."""
    return UnitSpec(name=name, spec=f"{READS}:{function}")


def facts_of(
    name: str, tmp_path: Path, *units: UnitSpec, **request: Any
) -> DatasetFacts:
    """Return the facts of a reference that was read in this process."""
    order = ReferenceOrder(
        source=SourceSpec(spec=f"{READS}:{name}", arguments=(("root", str(tmp_path)),)),
        request=ScopeRequest(units=units, time_limit_s=1.0, **request),
        folder=str(tmp_path),
    )
    board = StageBoard.create(tmp_path / "board")
    try:
        return DatasetFacts.from_dict(run_reference(order, board)["facts"])
    finally:
        board.close()


def test_a_unit_is_counted_in_each_example(tmp_path: Path) -> None:
    """The mean over the scope's list, and no more."""
    found = facts_of("Files", tmp_path, unit("first_byte", "firsts"))

    assert found.units == (UnitFacts(name="firsts", per_example=5.5),)


def test_repeated_entries_count_again() -> None:
    """As the sampler repeats them."""
    counter = UnitCounter([unit("first_byte")])
    for number in (10, 20):
        counter.count(number, (torch.tensor([number]),))

    (found,) = counter.of_entries([0, 1, 1, 1])

    assert found.per_example == 17.5


def test_a_stream_is_counted_once(tmp_path: Path) -> None:
    """In its first pass, whatever it is read again for."""
    found = facts_of("Lines", tmp_path, unit("characters"))

    assert found.units[0].per_example == 504.5


def test_a_batch_of_a_stream_is_counted_as_a_whole(tmp_path: Path) -> None:
    """And what it has is divided by its rows."""
    facts = facts_of("batched", tmp_path, unit("rows"))

    assert facts.by_rows
    assert facts.units == (UnitFacts(name="tokens", per_example=2.0),)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("raising", "raises KeyError: 'tokens' on example 7"),
        ("negative", "must be at least 0 and finite, got -1 on 7"),
        ("endless", "must be at least 0 and finite, got nan on 7"),
        ("texts", "returns str on example 7, no number"),
        ("many", "returns Tensor on example 7, no number"),
    ],
)
def test_what_counts_wrong_is_named_with_the_example(
    function: str, message: str
) -> None:
    """Before any trial, with the rule."""
    counter = UnitCounter([unit(function)])

    with pytest.raises(UsageError) as caught:
        counter.count(7, (torch.tensor([1]),))

    assert caught.value.message == f"--unit tokens={READS}:{function} {message}"
    assert caught.value.hint == (
        "it takes one example and returns a number of at least 0"
    )


def test_a_unit_that_is_no_function_is_refused() -> None:
    """Once the module is imported."""
    with pytest.raises(UsageError) as caught:
        UnitCounter([unit("SIZE_OF_WORD")])

    assert caught.value.message == (
        f"--unit tokens {READS}:SIZE_OF_WORD is an int, and a function is needed"
    )


def test_a_stream_whose_unit_fails_is_wrong_use_not_a_broken_dataset(
    tmp_path: Path,
) -> None:
    """The dataset itself was read."""
    with pytest.raises(UsageError, match="raises KeyError"):
        facts_of("Lines", tmp_path, unit("raising"))


def test_a_file_of_units_that_cannot_be_imported_is_said(tmp_path: Path) -> None:
    """It is the user's code that raises."""
    (tmp_path / "broken.py").write_text("raise KeyError('x')\n")

    with pytest.raises(DatasetError, match="cannot be imported: KeyError"):
        UnitCounter([UnitSpec(name="tokens", spec=f"{tmp_path / 'broken.py'}:count")])

"""A reference looks for the functions that carry the reading, where it is asked to."""

import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import Dataset

from autoloader.child import reference
from autoloader.child.reference import run_reference
from autoloader.child.stages import StageBoard
from autoloader.values.job import ReferenceOrder
from autoloader.values.scope import DatasetFacts, ScopeRequest, SourceSpec

TEXT = bytes(range(256)) * 400


class Compressed(Dataset[Any]):
    """Compresses a text for each example, and is nearly all compression."""

    def __len__(self) -> int:
        """Return a few."""
        return 6

    def __getitem__(self, index: int) -> Any:
        """Return what has no content worth a word."""
        return torch.tensor([len(zlib.compress(TEXT, 9)), index])


def test_functions_are_named_where_that_was_asked_for(tmp_path: Path) -> None:
    """The one that takes nearly all is the first."""
    found = facts_of(tmp_path, profiled=True)

    assert found.hot[0].name == "zlib.compress"
    assert found.hot[0].share > 0.5


def test_nobody_who_does_not_ask_waits_for_a_profile(tmp_path: Path) -> None:
    """A check wants the data alone."""
    assert facts_of(tmp_path, profiled=False).hot == ()


def test_examples_that_take_longer_than_a_profile_may_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even one of them would be too long."""
    monkeypatch.setattr(reference, "MOST_S", 1e-9)

    assert facts_of(tmp_path, profiled=True).hot == ()


def test_a_dataset_that_fails_once_more_loses_its_profile_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that counts was read before."""
    whole = Compressed.__getitem__

    def tired(self: Compressed, index: int) -> Any:
        if sys.getprofile() is not None:
            raise OSError
        return whole(self, index)

    monkeypatch.setattr(Compressed, "__getitem__", tired)

    found = facts_of(tmp_path, profiled=True)

    assert found.hot == ()
    assert found.length == 6


def facts_of(tmp_path: Path, *, profiled: bool) -> DatasetFacts:
    """Return the facts of a reference that was read in this process."""
    order = ReferenceOrder(
        source=SourceSpec(spec=f"{__name__}:Compressed"),
        request=ScopeRequest(time_limit_s=10.0),
        folder=str(tmp_path),
        profiled=profiled,
    )
    board = StageBoard.create(tmp_path / "board")
    try:
        return DatasetFacts.from_dict(run_reference(order, board)["facts"])
    finally:
        board.close()

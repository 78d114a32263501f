"""A check hands on what it was asked."""

from pathlib import Path
from typing import Any

import pytest

from autoloader import checking
from autoloader.checking import CheckRequest, check
from autoloader.errors import DatasetError
from autoloader.values.gate import GatePolicy
from autoloader.values.scope import SourceSpec


def test_the_reference_is_given_up_after_what_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--hang-after` is said of all that reads the dataset."""
    told: list[Any] = []

    def fail(*_: object, **keywords: object) -> None:
        told.append(keywords["hang_after_s"])
        raise DatasetError("fails")

    monkeypatch.setattr(checking, "read_reference", fail)
    request = CheckRequest(
        source=SourceSpec(spec="data.py:train"),
        folder=tmp_path,
        policy=GatePolicy(hang_after_s=90.0),
    )

    with pytest.raises(DatasetError):
        check(request)

    assert told == [90.0]

"""What a training calls before each epoch."""

from pathlib import Path
from typing import Any

import pytest

from autoloader.child.epochs import EpochCalls
from autoloader.errors import DatasetError, UsageError


class Told:
    """A dataset that keeps what it is told."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def set_epoch(self, epoch: int) -> None:
        """Keep the epoch."""
        self.calls.append(epoch)


def test_set_epoch_comes_first_then_the_hook(tmp_path: Path) -> None:
    """The hook has the last word, as a trainer's own code has."""
    hook = tmp_path / "train.py"
    hook.write_text(
        "def advance(dataset, epoch):\n    dataset.calls.append(('hook', epoch))\n",
        encoding="utf-8",
    )
    dataset = Told()

    calls = EpochCalls.of(dataset, f"{hook}:advance")
    calls.begin(3)

    assert calls.may_change_data
    assert dataset.calls == [3, ("hook", 3)]


def test_a_dataset_that_knows_no_epochs_is_left_alone() -> None:
    """Nothing is called, and nothing can change."""
    calls = EpochCalls(object())

    calls.begin(1)

    assert not calls.may_change_data


def test_what_a_hook_raises_is_told_with_the_epoch() -> None:
    """In one process it is a fault of the dataset."""

    def broken(dataset: Any, epoch: int) -> None:
        raise KeyError("stage 2")

    with pytest.raises(DatasetError) as caught:
        EpochCalls(object(), broken).begin_alone(1)

    assert caught.value.message == (
        "beginning epoch 1 fails in one process: KeyError: 'stage 2'"
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "no_colon",
            "--on-epoch is module:function or file.py:function, got 'no_colon'",
        ),
        ("math:pi", "--on-epoch math:pi is a float, and a function is needed"),
    ],
)
def test_a_hook_that_is_no_function_is_refused(spec: str, message: str) -> None:
    """With the SPEC and what it is."""
    with pytest.raises(UsageError) as caught:
        EpochCalls.of(object(), spec)

    assert caught.value.message == message


def test_a_hook_in_the_datasets_own_file_shares_its_globals(tmp_path: Path) -> None:
    """The file is not run a second time."""
    from autoloader.child.source import load_function, load_source
    from autoloader.values.scope import SourceSpec

    file = tmp_path / "both_in_one.py"
    file.write_text(
        "STATE = []\n"
        "class Data:\n"
        "    state = STATE\n"
        "    def __len__(self):\n        return 3\n"
        "    def __getitem__(self, index):\n        return index\n"
        "def advance(dataset, epoch):\n    STATE.append(epoch)\n",
        encoding="utf-8",
    )

    dataset = load_source(SourceSpec(spec=f"{file}:Data"))
    advance = load_function(f"{file}:advance", flag="--on-epoch", takes="")
    advance(dataset, 5)

    assert dataset.state == [5]

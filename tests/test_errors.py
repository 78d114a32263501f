"""The tree of errors: exit codes, messages, hints."""

import re

import pytest

from autoloader import errors
from autoloader.errors import AutoloaderError, did_you_mean

TREE = {
    "AutoloaderError": 70,
    "UsageError": 2,
    "StepError": 2,
    "DataError": 1,
    "DatasetError": 3,
    "TargetNotMetError": 4,
    "StoredFileError": 5,
    "UndecidedError": 6,
    "ProtocolError": 70,
}


def classes() -> list[type[Exception]]:
    """Return the error classes of the module."""
    return [
        item
        for item in vars(errors).values()
        if isinstance(item, type) and issubclass(item, Exception)
    ]


def test_each_class_carries_the_exit_code_of_the_one_at_fault() -> None:
    """The exit codes are those of the manual, and every class has one."""
    found = {
        item.__name__: item.exit_code
        for item in classes()
        if issubclass(item, AutoloaderError)
    }

    assert found == TREE


def test_the_tree_in_the_docstring_is_the_one_of_the_classes() -> None:
    """Names and codes drawn in the module are those of the code."""
    drawn = re.findall(r"(\w+Error) +exit (\d+)", errors.__doc__ or "")

    assert {name: int(code) for name, code in drawn} == TREE


def test_every_error_is_an_autoloader_error() -> None:
    """A training script catches one class."""
    assert all(issubclass(item, AutoloaderError) for item in classes())


def test_an_error_keeps_message_and_hint_apart() -> None:
    """The message alone is what `str` gives; the way out stands beside it."""
    error = errors.UsageError("it is wrong", hint="do it right")

    assert str(error) == error.message == "it is wrong"
    assert error.hint == "do it right"


def test_an_error_without_a_way_out_has_no_hint() -> None:
    """Not every fault has a way out."""
    assert errors.DataError("it is wrong").hint is None


@pytest.mark.parametrize(
    ("name", "known", "answer"),
    [
        ("num_worker", ["batch_size", "num_workers"], "did you mean 'num_workers'?"),
        ("nothing", ["batch_size", "num_workers"], None),
        ("x", [], None),
    ],
)
def test_only_a_close_name_is_proposed(
    name: str, known: list[str], answer: str | None
) -> None:
    """A far name is worse than none."""
    assert did_you_mean(name, iter(known)) == answer

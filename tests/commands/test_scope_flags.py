"""Flags of the scope that say something of rates: the cache, and units."""

import argparse
from pathlib import Path

import pytest

from autoloader.cli import build_parser
from autoloader.commands.arguments import add_scope, scope_of
from autoloader.commands.study_file import flags_of
from autoloader.errors import UsageError
from autoloader.values.scope import ScopeRequest, UnitSpec


def scope(*flags: str) -> ScopeRequest:
    """Return the scope that flags of a command that tells rates ask for."""
    parser = argparse.ArgumentParser()
    add_scope(parser)
    return scope_of(parser.parse_args(flags))


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    """Return a file of functions; it is not imported."""
    path = tmp_path / "counts.py"
    path.write_text("raise SystemExit\n")
    return path


def test_cache_and_units_are_part_of_the_scope(counts: Path) -> None:
    """In the order in which they were given."""
    found = scope(
        "--cache", "cold", "--unit", f"tokens={counts}:tokens", "--unit",
        f"pixels={counts}:pixels",
    )  # fmt: skip

    assert found.cache == "cold"
    assert found.units == (
        UnitSpec(name="tokens", spec=f"{counts}:tokens"),
        UnitSpec(name="pixels", spec=f"{counts}:pixels"),
    )


def test_without_flags_the_reference_decides_and_nothing_more_is_counted() -> None:
    """Warm, unless the data is larger than the memory; examples and bytes."""
    assert (scope().cache, scope().units) == (None, ())


def test_a_command_that_tells_no_rates_has_no_such_flags() -> None:
    """`check` times nothing."""
    parser = argparse.ArgumentParser()
    add_scope(parser, is_timed=False)

    assert "--cache" not in parser.format_help()
    assert "--unit" not in parser.format_help()
    assert scope_of(parser.parse_args([])) == ScopeRequest()


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["tokens"], "--unit needs name=module:function, got 'tokens'"),
        (["a b={file}:f"], "--unit needs name=module:function, got 'a b={file}:f'"),
        (["bytes={file}:f"], "--unit bytes is counted anyway; another name is needed"),
        (["tokens=gone.py:f"], "there is no file gone.py"),
        (
            ["tokens=nosuchmodule:f"],
            "there is no module 'nosuchmodule' for --unit tokens nosuchmodule",
        ),
        (
            ["tokens=counts"],
            "--unit tokens needs module:attribute or path/file.py:attribute, got "
            "'counts'",
        ),
        (
            ["tokens={file}:f", "tokens={file}:g"],
            "--unit tokens is given twice; a unit has one function",
        ),
    ],
)
def test_a_unit_that_is_none_is_refused_before_anything_starts(
    texts: list[str], message: str, counts: Path
) -> None:
    """The flag is named, and the rule."""
    flags = [f"--unit={text.format(file=counts)}" for text in texts]

    with pytest.raises(UsageError) as caught:
        scope(*flags)

    assert caught.value.message == message.format(file=counts)


@pytest.mark.parametrize(
    "text",
    [
        "unit: tokens=counts.py:tokens\n",
        "unit: [tokens=counts.py:tokens]\n",
        "unit: {tokens: counts.py:tokens}\n",
    ],
)
def test_a_study_file_names_units_beside_itself(text: str, tmp_path: Path) -> None:
    """As text, as a list, or as a mapping of names."""
    file = tmp_path / "study.yaml"
    file.write_text(f"dataset: data:train\ncache: cold\n{text}")
    parser = build_parser().parse_args(["tune", "--dataset", "x:y"]).parser

    assert flags_of(file, parser) == [
        "--dataset=data:train",
        "--cache=cold",
        f"--unit=tokens={tmp_path / 'counts.py'}:tokens",
    ]


def test_a_module_in_a_study_file_stays_a_module(tmp_path: Path) -> None:
    """Nor is a text without a name turned into another one."""
    file = tmp_path / "study.yaml"
    file.write_text("unit: [tokens=data:count, odd]\n")
    parser = build_parser().parse_args(["tune", "--dataset", "x:y"]).parser

    assert flags_of(file, parser) == ["--unit=tokens=data:count", "--unit=odd"]


def test_a_step_in_a_study_file_lies_beside_it(tmp_path: Path) -> None:
    """As the dataset does."""
    file = tmp_path / "study.yaml"
    file.write_text("dataset: data:train\nstep: train.py:step\ntarget: step\n")
    parser = build_parser().parse_args(["tune", "--dataset", "x:y"]).parser

    assert flags_of(file, parser) == [
        "--dataset=data:train",
        f"--step={tmp_path / 'train.py'}:step",
        "--target=step",
    ]

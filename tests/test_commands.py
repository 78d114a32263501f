"""What commands say before anything is started."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

from autoloader.cli import build_parser
from autoloader.commands import tune
from autoloader.commands.study_file import flags_of
from autoloader.errors import UsageError
from autoloader.values.machine import Accelerator
from tests.fakes import a_machine

GPU = Accelerator(name="Test GPU", kind="cuda", memory_bytes=2**34, driver="1.2")


def test_several_accelerators_without_ranks_are_a_caution_with_the_command() -> None:
    """One process for each is the usual way, and shares the CPUs."""
    machine = replace(a_machine(16), accelerators=(GPU,) * 4, accelerator_note=None)

    found = tune._cautions(machine, Namespace(ranks="1"))

    assert found == [
        (
            "4 accelerators are here and --ranks is not given: one training process is "
            "assumed to have all CPUs",
            "for one process an accelerator add --ranks 4",
        )
    ]


def test_ranks_that_are_named_are_no_caution() -> None:
    """Nor is a single accelerator."""
    machine = replace(a_machine(16), accelerators=(GPU,) * 4, accelerator_note=None)
    single = replace(a_machine(16), accelerators=(GPU,), accelerator_note=None)

    assert tune._cautions(machine, Namespace(ranks="4")) == []
    assert tune._cautions(single, Namespace(ranks="1")) == []


def parser_of_tune() -> object:
    """Return the parser of `tune`, which knows the flags of a study file."""
    parsed = build_parser().parse_args(["tune", "--dataset", "x:y"])
    return parsed.parser


def test_a_study_file_stands_for_flags(tmp_path: Path) -> None:
    """Lists, switches and arguments; paths are relative to the file."""
    file = tmp_path / "study.yaml"
    file.write_text(
        "dataset: data.py:photos\nbatch-size: [32, 64]\nbest-effort: true\n"
        "fresh: false\narg: {root: /data, size: 8}\ntarget: 95%\n"
    )

    flags = flags_of(file, parser_of_tune())  # type: ignore[arg-type]  # a parser

    assert flags == [
        f"--dataset={tmp_path / 'data.py'}:photos",
        "--batch-size=32,64",
        "--best-effort",
        "--arg=root=/data",
        "--arg=size=8",
        "--target=95%",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "must be a mapping of flags, got list"),
        ("best-effort: maybe\n", "must be true or false, got 'maybe'"),
        ("a: [\n", "is no YAML: while parsing a flow node"),
    ],
)
def test_a_study_file_that_is_none_is_refused(
    text: str, message: str, tmp_path: Path
) -> None:
    """The file is named, and what it must be."""
    file = tmp_path / "study.yaml"
    file.write_text(text)

    with pytest.raises(UsageError, match=message):
        flags_of(file, parser_of_tune())  # type: ignore[arg-type]  # a parser

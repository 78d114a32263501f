"""What commands say before anything is started."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

from autoloader.cli import build_parser, main
from autoloader.commands import machine as machine_command
from autoloader.commands import measure, tune
from autoloader.commands.arguments import source_of
from autoloader.commands.study_file import flags_of
from autoloader.errors import UsageError
from autoloader.measuring import MeasureRequest
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
        ("a: [\n", "is no YAML in line 2: expected the node content, but found"),
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


def request_of(*flags: str) -> MeasureRequest:
    """Return what `measure` is asked for by these flags."""
    args = build_parser().parse_args(
        ["measure", "--dataset", "tests.datasets:Honest", *flags]
    )
    return measure.request_of(args, source_of(args))


def test_measure_has_the_time_that_its_rounds_take() -> None:
    """Three minutes, unless a number of rounds or a budget is given."""
    assert request_of().budget_s == 180.0
    assert request_of("--rounds", "8").budget_s is None
    assert request_of("--rounds", "8", "--budget", "90s").budget_s == 90.0


def test_configs_of_measure_are_kept_in_order_and_not_merged() -> None:
    """The same one twice shows the noise."""
    request = request_of("--config", "num_workers=2", "--config", "num_workers=2")

    assert request.configs == ("num_workers=2", "num_workers=2")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--rounds", "2"), "--rounds must be a whole number of at least 3, got '2'"),
        (
            ("--batch-size", "0"),
            "--batch-size must be a whole number of at least 1, got '0'",
        ),
        (
            ("--config", "workers=2"),
            "a config is name=value with names num_workers, prefetch_factor, "
            "pin_memory, persistent_workers, batch_size, got 'workers=2'",
        ),
        (
            ("--config", "num_workers=1") * 27,
            "at most 26 configs can be compared, got 27",
        ),
        (
            ("--budget", "soon"),
            "a duration such as 90s, 3m or 1h30m is needed, got 'soon'",
        ),
    ],
)
def test_wrong_flags_of_measure_are_told_before_anything_starts(
    flags: tuple[str, ...], message: str
) -> None:
    """The flag, the value, the rule."""
    with pytest.raises(UsageError) as caught:
        request_of(*flags)

    assert caught.value.message == message


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        ([], "autoloader: interrupted; the same command goes on where it stood\n"),
        (
            ["3 readings so far: .autoloader/measure-1/outcomes.jsonl"],
            "autoloader: interrupted; 3 readings so far: "
            ".autoloader/measure-1/outcomes.jsonl\n",
        ),
    ],
)
def test_an_interrupt_says_what_is_kept(
    notes: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A tune goes on; a measuring begins anew, and its readings stay."""

    def interrupted(args: Namespace) -> int:
        exc = KeyboardInterrupt()
        for note in notes:
            exc.add_note(note)
        raise exc

    monkeypatch.setattr(machine_command, "run", interrupted)
    code = main(["machine"])

    assert code == 130
    assert capsys.readouterr().err == said

"""`autoloader export`: a file in, text that a framework takes out."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoloader.cli import main
from tests.export.exported import a_recommendation, without


def written(folder: Path, **options: Any) -> str:
    """Write a recommendation, and return its path."""
    path = folder / "autoloader.yaml"
    a_recommendation(**options).write(path)
    return str(path)


def test_the_text_alone_is_on_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`autoloader export FILE --to nemo > loader.yaml` is a file that works."""
    code = main(["export", written(tmp_path), "--to", "nemo"])

    streams = capsys.readouterr()
    assert code == 0
    assert streams.err == ""
    assert yaml.safe_load(streams.out) == {
        "model": {"train_ds": {"num_workers": 6, "pin_memory": True}}
    }


def test_one_object_has_text_settings_and_warnings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For scripts; the file is named."""
    file = written(tmp_path, met=False)

    code = main(["export", file, "--to", "torch", "--json"])

    found = json.loads(capsys.readouterr().out)
    assert code == 0
    assert found["file"] == file
    assert (found["to"], found["language"]) == ("torch", "python")
    assert found["settings"]["num_workers"] == 6
    assert found["text"].endswith("    persistent_workers=True,\n)\n")
    assert [item[:35] for item in found["warnings"]] == [
        "the target (2,000 examples/s) was n"
    ]


def test_a_file_is_written_and_warnings_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody would read them there at once."""
    file = written(tmp_path, settings=without(batch_size=12, prefetch_factor=2))
    out = tmp_path / "flags.txt"

    code = main(["export", file, "--to", "fairseq", "--out", str(out)])

    streams = capsys.readouterr()
    assert code == 0
    assert streams.out == ""
    assert streams.err == (
        "warning: batches of 12 are cut to a multiple of 8 unless "
        "--required-batch-size-multiple 1 is given\n"
    )
    assert out.read_text().endswith("\n--num-workers 6\n")


def test_names_of_the_users_class_are_flags(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--rename` as often as there are names."""
    flags = ["--class", "data.Photos", "--rename", "num_workers=workers"]

    main(["export", written(tmp_path), "--to", "lightning", *flags])

    data = yaml.safe_load(capsys.readouterr().out)["data"]
    assert data["class_path"] == "data.Photos"
    assert data["init_args"]["workers"] == 6


@pytest.mark.parametrize(
    ("flags", "message", "hint"),
    [
        (
            ["--to", "tim"],
            "there is no framework 'tim' to export to",
            "did you mean 'timm'?",
        ),
        (
            [],
            "the following arguments are required: --to",
            "`autoloader export --help` shows the flags",
        ),
        (
            ["--to", "hydra", "--rename", "num_workers"],
            "--rename is SETTING=NAME, got 'num_workers'",
            "--rename num_workers=workers",
        ),
        (
            ["--to", "torch", "--out", "{folder}"],
            "--out {folder} is a folder, and a file is needed",
            "--out {folder}/autoloader.yaml",
        ),
    ],
)
def test_wrong_use_says_the_way_out(
    flags: list[str],
    message: str,
    hint: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 2."""
    named = [flag.format(folder=tmp_path) for flag in flags]

    code = main(["export", written(tmp_path), *named, "--json"])

    error = json.loads(capsys.readouterr().out)["error"]
    assert code == 2
    assert error["message"] == message.format(folder=tmp_path)
    assert error["hint"] == hint.format(folder=tmp_path)


def test_a_file_that_is_none_is_exit_5(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As for every command that reads one."""
    path = tmp_path / "autoloader.yaml"
    path.write_text("- a\n")

    code = main(["export", str(path), "--to", "torch", "--json"])

    error = json.loads(capsys.readouterr().out)["error"]
    assert code == 5
    assert error["message"].endswith(
        "is no recommendation: a mapping is needed, not list"
    )

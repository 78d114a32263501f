"""A study file is flags under their names; what cannot be one is told with its key."""

import argparse
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoloader.cli import build_parser
from autoloader.commands.arguments import source_of
from autoloader.commands.study_file import flags_of
from autoloader.errors import UsageError

TUNE: argparse.ArgumentParser = (
    build_parser().parse_args(["tune", "--dataset", "x:y"]).parser
)


def written(folder: Path, text: str) -> Path:
    """Write a study file."""
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("num-workers: 2:16", "--num-workers=2:16"),
        ("num-workers: 4", "--num-workers=4"),
        ("batch-size: [32, 64]", "--batch-size=32,64"),
        ("pin-memory: no", "--pin-memory=no"),
        ("budget: 90", "--budget=90"),
        ("label: 2026-01-02", "--label=2026-01-02"),
    ],
)
def test_a_value_is_written_as_people_write_it(
    tmp_path: Path, text: str, flag: str
) -> None:
    """A range of workers is no time of day."""
    assert flags_of(written(tmp_path, text), TUNE) == [flag]


@pytest.mark.parametrize(
    "value",
    [
        "7", 7, "yes", True, None, "None", "a: b", "[x]", "", "a,b", "größe", 2.5, 1e22,
        "line\nline", "'", '"', "- x", "#", [1, "2"], {"a": ["b", None]}, "2:16",
    ],
    ids=repr,
)  # fmt: skip
def test_an_argument_keeps_its_type(tmp_path: Path, value: Any) -> None:
    """What is in quotes stays text, and nothing stays nothing."""
    text = yaml.safe_dump({"dataset": "json:loads", "arg": {"name": value}})

    args = TUNE.parse_args(flags_of(written(tmp_path, text), TUNE))

    assert source_of(args).arguments == (("name", value),)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("target:", "target in {} is empty", "leave target out, and its default holds"),
        ("batch-size: []", "batch-size in {} must be one value, got []", None),
        ("batch-size: [[1]]", "batch-size in {} must be one value, got [1]", None),
        ("budget: [1, 2]", "budget in {} must be one value, got [1, 2]", None),
        ("budget: {a: 1}", "budget in {} must be one value, got {{'a': 1}}", None),
        ("target: .inf", "target in {} must be one value, got inf", None),
        ('out: "a\\0b"', "out in {} must be one value, got 'a\\x00b'", None),
        ("allow: [[a]]", "allow in {} must be one value, got ['a']", None),
        ("quiet: 1", "quiet in {} must be true or false, got 1", None),
        (
            "arg: {1: x}",
            "arg in {} must have names as keys, got 1",
            "for example  arg: {{root: /data}}",
        ),
        (
            "unit: {a-b: x}",
            "unit in {} must have names as keys, got 'a-b'",
            "for example  unit: {{tokens: data.py:count}}",
        ),
        ("unit: {t: [1]}", "unit.t in {} must be one value, got [1]", None),
        (
            "seed: 1\ntarget: 2\nseed: 3\n",
            "the study file {} is no YAML in line 3: the key 'seed' stands twice, "
            "first in line 1",
            None,
        ),
        ("7: 1", "the study file {} has an unknown key 7", None),
        (
            "order: random",
            "the study file {}: argument --order: invalid choice: 'random' (choose ",
            "`autoloader tune --help` shows the flags",
        ),
        (
            "seed: soon",
            "the study file {}: argument --seed: invalid int value: 'soon'",
            "`autoloader tune --help` shows the flags",
        ),
        (
            "fresh: true\nresume: true",
            "the study file {}: argument --resume: not allowed with argument --fresh",
            "`autoloader tune --help` shows the flags",
        ),
    ],
)
def test_what_is_wrong_is_told_with_file_and_key(
    tmp_path: Path, text: str, message: str, hint: str | None
) -> None:
    """And the value, and the rule."""
    path = written(tmp_path, text)

    with pytest.raises(UsageError) as caught:
        flags_of(path, TUNE)

    assert caught.value.message.startswith(message.format(path))
    assert caught.value.hint == (hint and hint.format())


def test_a_file_that_is_none_is_told() -> None:
    """With the system's reason."""
    with pytest.raises(UsageError) as caught:
        flags_of(Path("none.yaml"), TUNE)

    assert caught.value.message == (
        "the study file none.yaml cannot be read: No such file or directory"
    )


def test_what_the_flags_mean_can_be_checked_where_the_file_is_known(
    tmp_path: Path,
) -> None:
    """A file that names no dataset is a part, and judged with the rest of the flags."""
    path = written(tmp_path, "dataset: x:y\ntarget: fast")
    part = tmp_path / "part.yaml"
    part.write_text("target: fast")

    def refuse(args: argparse.Namespace) -> None:
        raise UsageError(f"--target is {args.target}", hint="none")

    with pytest.raises(UsageError) as caught:
        flags_of(path, TUNE, refuse)

    assert caught.value.message == f"the study file {path}: --target is fast"
    assert caught.value.hint == "none"
    assert flags_of(part, TUNE, refuse) == ["--target=fast"]

"""The flags of a tune, kept in its file, ask for the same study again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from autoloader.cli import build_parser
from autoloader.commands import tune
from autoloader.commands.arguments import source_of
from autoloader.commands.repeating import flags_again, request_section
from autoloader.errors import StoredFileError

if TYPE_CHECKING:
    import argparse

FILE = Path("autoloader.yaml")


def parsed(*flags: str) -> argparse.Namespace:
    """Return the arguments of a tune."""
    return build_parser().parse_args(["tune", *flags])


def section(args: argparse.Namespace, out: Path = FILE) -> dict[str, Any]:
    """Return the section as a file has it: written as YAML and read back."""
    asked = tune.request_of(args, source_of(args))
    found = request_section(args, asked["source"], out)
    again: dict[str, Any] = yaml.safe_load(yaml.safe_dump(found, sort_keys=False))
    return again


def again(kept: dict[str, Any], *given: str) -> argparse.Namespace:
    """Return the arguments that kept flags stand for."""
    parser = parsed("--dataset", "x:y").parser
    found: argparse.Namespace = parser.parse_args(
        flags_again(kept, parser, path=FILE, given=given)
    )
    return found


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["--target", "2000", "--memory", "8GiB", "--batch-size", "32,64"],
        ["--num-workers", "0:16", "--prefetch-factor", "2,4", "--pin-memory", "yes"],
        ["--persistent-workers", "no", "--ranks", "2", "--budget", "5m"],
        ["--arg", "root=/data", "--arg", "size=8", "--arg", "names=[a, '1']"],
        ["--arg", "number='8'", "--arg", "map={a: {b: 1}}", "--arg", "empty=''"],
        ["--examples", "all", "--seed", "3", "--order", "as-is", "--cache", "cold"],
        ["--transforms", "fixed", "--start-method", "spawn", "--label", "1"],
        ["--id", "id", "--epoch-examples", "99", "--unit", "tokens=json:loads"],
        [
            "--unit",
            "a=json:loads",
            "--unit",
            "b=json:dumps",
            "--on-epoch",
            "json:dumps",
        ],
        ["--trials", "5", "--verify", "all", "--isolation", "fresh", "--strict"],
        ["--exhaustive", "--allow", "missing_ids", "--allow", "repeated_ids"],
        ["--hang-after", "30s", "--best-effort", "--step", "json:loads"],
    ],
    ids=lambda flags: " ".join(flags) or "none",
)
def test_the_request_is_the_same_again(flags: list[str]) -> None:
    """Whatever was asked for, as far as it makes the study what it is."""
    args = parsed("--dataset", "json:loads", *flags)

    kept = section(args)["flags"]

    found = again(kept)
    assert tune.request_of(found, source_of(found)) == tune.request_of(
        args, source_of(args)
    )


def test_where_and_how_it_is_shown_is_not_kept() -> None:
    """Target and budget are, whatever they are."""
    flags = ["--json", "--quiet", "--fresh", "--wait", "--out", "new.yaml"]

    kept = section(parsed("--dataset", "json:loads", *flags))["flags"]

    assert kept == {"dataset": "json:loads", "target": "95%", "budget": "3m"}


def test_the_working_folder_is_told_from_the_files_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No path of this machine is in it, and both can be moved together."""
    work, out = tmp_path / "work", tmp_path / "settings"
    work.mkdir()
    out.mkdir()
    monkeypatch.chdir(work)
    args = parsed("--dataset", "json:loads")

    assert section(args, out / "autoloader.yaml")["folder"] == "../work"
    assert section(args)["folder"] == "."


def test_a_password_is_left_out_and_asked_for() -> None:
    """Or given again; the other arguments stay."""
    args = parsed(
        "--dataset", "json:loads", "--arg", "url=db://me:secret@host", "--arg", "n=3"
    )
    kept = section(args)["flags"]

    with pytest.raises(StoredFileError) as caught:
        again(kept)
    found = again(kept, "url=db://me:other@host")

    assert "secret" not in str(kept)
    assert caught.value.message == (
        "autoloader.yaml holds --arg url without its password"
    )
    assert caught.value.hint == (
        "--arg url=VALUE gives it again; better, let the function read it from an "
        "environment variable: os.environ"
    )
    assert dict(tune.request_of(found, source_of(found))["source"].arguments) == {
        "n": 3,
        "url": "db://me:other@host",
    }


@pytest.mark.parametrize("value", [{"password": "***"}, ["a", "db://me:***@host"]])
def test_a_password_within_a_value_is_missed_too(value: Any) -> None:
    """However deep it was."""
    with pytest.raises(StoredFileError, match=r"without its password$"):
        again({"dataset": "json:loads", "arg": {"options": value}})


@pytest.mark.parametrize(
    ("kept", "message"),
    [
        ({"budgett": "3m"}, "it has an unknown key 'budgett'"),
        ({"target": None}, "target in autoloader.yaml is empty"),
        ({"strict": 3}, "strict in autoloader.yaml must be true or false, got 3"),
    ],
)
def test_a_flag_that_is_none_is_told_with_the_file(
    kept: dict[str, Any], message: str
) -> None:
    """People may edit it."""
    with pytest.raises(StoredFileError) as caught:
        again(kept)

    assert caught.value.message == f"autoloader.yaml: request.flags: {message}"

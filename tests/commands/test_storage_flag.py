"""`--storage` of a tune: taken from where it may come, and kept in no file."""

from pathlib import Path

import pytest

from autoloader.cli import build_parser
from autoloader.commands import tune
from autoloader.commands.arguments import source_of
from autoloader.commands.repeating import request_section
from autoloader.commands.study_file import flags_of
from autoloader.errors import UsageError
from autoloader.values.fleet import Storage

PASSWORD = "swordfish-7391"  # noqa: S105  # of no server


def storage_of(*flags: str) -> Storage | None:
    """Return the storage that a tune is asked for."""
    args = build_parser().parse_args(["tune", "--dataset", "json:loads", *flags])
    found: Storage | None = tune.request_of(args, source_of(args))["storage"]
    return found


def test_without_the_flag_a_machine_works_alone() -> None:
    """Whatever variables there are."""
    assert storage_of() is None


def test_a_variable_has_the_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its password, which no flag may have."""
    monkeypatch.setenv("FLEET", f"postgresql://me:{PASSWORD}@db/fleet")

    found = storage_of("--storage", "env:FLEET")

    assert found is not None
    assert found.shown == "postgresql+psycopg://me:***@db/fleet"


def test_a_study_file_may_name_it(tmp_path: Path) -> None:
    """As each other flag."""
    path = tmp_path / "study.yaml"
    path.write_text("dataset: json:loads\nstorage: postgresql://me@db/fleet\n")
    parser = build_parser().parse_args(["tune", "--dataset", "json:loads"]).parser

    assert flags_of(path, parser) == [
        "--dataset=json:loads",
        "--storage=postgresql://me@db/fleet",
    ]


def test_a_fleet_cannot_begin_anew_on_one_machine() -> None:
    """The others would go on with what they know."""
    with pytest.raises(UsageError) as caught:
        storage_of("--storage", "postgresql://me@db/fleet", "--fresh")

    assert caught.value.message == (
        "--fresh begins a study of this machine, and a fleet shares --storage"
    )
    assert caught.value.hint == (
        "another --seed begins another study for all; `optuna delete-study` removes one"
    )


def test_the_file_does_not_say_where_a_fleet_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A night verifies what one machine found, by itself."""
    monkeypatch.setenv("FLEET", f"postgresql://me:{PASSWORD}@db/fleet")
    args = build_parser().parse_args(
        ["tune", "--dataset", "json:loads", "--storage", "env:FLEET", "--trials", "9"]
    )

    section = request_section(args, source_of(args), Path("autoloader.yaml"))

    assert "storage" not in section["flags"]
    assert section["flags"]["trials"] == "9"

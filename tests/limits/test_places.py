"""Folders and variables that a run may find: odd names, no rights, nothing set."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.limits.running import (
    HERE,
    NOBODY,
    PATIENT,
    Ran,
    after,
    check,
    crowded,
    no_temporary_folder,
    not_root,
    open_files,
    read_only,
    run,
    tune,
)
from tests.limits.small import OWN_WARNING

ODD = 'it\'s "données" $HOME 사진'
"""Blanks, both quotes, what a shell would read, letters beyond ASCII."""

ASCII_ONLY = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
"""A system on which Python knows ASCII alone."""

COMMANDS = [
    ("tune", "--batch-size", "8"),
    ("check",),
    ("measure", "--batch-size", "8"),
]


def assert_passed(ran: Ran) -> None:
    """Check that the data was compared, and found the same."""
    assert ran.code == 0, ran.err
    assert ran.err == ""
    assert ran.result["status"] == "passed"
    assert ran.result["verified"] == {"examples": 24, "of": 24, "epochs": 2}


def local(folder: Path) -> str:
    """Put the dataset's file into a folder, and return its SPEC from there."""
    shutil.copy(HERE / "small.py", folder)
    return "small.py:Small"


def long_folder(parent: Path) -> Path:
    """Return a new folder with a path longer than a socket's may be."""
    folder = parent / ("t" * 80) / ("m" * 80)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def borrowed() -> Iterator[Path]:
    """Give a folder that belongs to nobody, and to which the way is open."""
    if os.getuid() != 0:
        pytest.skip("this user is not root already: every test shows it")
    with tempfile.TemporaryDirectory() as name:
        os.chown(name, NOBODY, NOBODY)
        yield Path(name)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_cannot_be_written_is_named_at_once(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    """With the way out, before anything is started; nothing is half made."""
    ran = run(
        *command, "--dataset", f"{HERE / 'small.py'}:Small",
        folder=tmp_path, prefix=read_only(tmp_path),
    )  # fmt: skip

    assert ran.code == 2
    assert ran.out == ""
    assert ran.err == (
        f"autoloader: {tmp_path} cannot be written: Read-only file system; studies and "
        f"logs are kept in {tmp_path}/.autoloader\n"
        "  hint: cd to another folder; --dataset, --out and study files may lie "
        "elsewhere\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_where_no_temporary_folder_can_be_made_it_is_said_at_once(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    """TMPDIR has too long a path, all else is read-only; nothing heavy was loaded."""
    tmp = long_folder(tmp_path)

    ran = run(
        *command, "--dataset", f"{HERE / 'small.py'}:Small", folder=tmp_path,
        prefix=no_temporary_folder(tmp_path), environment={"TMPDIR": str(tmp)},
        interpreter=("-X", "importtime"),
    )  # fmt: skip

    said = [line for line in ran.err.splitlines() if not line.startswith("import time")]
    assert ran.code == 2
    assert ran.out == ""
    assert re.fullmatch(
        "autoloader: no temporary folder can be made; /tmp: Read-only file system; "
        rf"{tmp}: its path has {len(str(tmp))} bytes, and \d+ at most leave room for a "
        "socket's; /var/tmp: Read-only file system\n"
        "  hint: TMPDIR=FOLDER names one that can be, by a short path",
        "\n".join(said),
    )
    assert not re.search(r"\| +(numpy|optuna|psutil|torch)$", ran.err, re.MULTILINE)
    assert [path.name for path in tmp_path.iterdir()] == [tmp.parent.name]


@pytest.mark.full
def test_a_named_temporary_folder_is_used_where_the_systems_own_is_read_only(
    tmp_path: Path,
) -> None:
    """By a path that is short enough; nothing is left in it."""
    with tempfile.TemporaryDirectory(prefix="a", dir="/dev/shm") as tmp:
        ran = check(
            tmp_path, prefix=no_temporary_folder(tmp_path), environment={"TMPDIR": tmp}
        )

        assert_passed(ran)
        assert list(Path(tmp).iterdir()) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_is_gone_is_said_to_be(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    """A shell stands in it yet."""
    ran = run(
        *command, "--dataset", f"{HERE / 'small.py'}:Small",
        folder=tmp_path, prefix=after('rmdir "$PWD"'),
    )  # fmt: skip

    assert ran.code == 2
    assert ran.err == (
        "autoloader: the working folder is not there any more\n"
        "  hint: cd to another folder; --dataset, --out and study files may lie "
        "elsewhere\n"
    )


def test_studies_kept_in_a_folder_of_a_stranger_are_refused(tmp_path: Path) -> None:
    """In a folder for all, anybody may put one there, with links in it."""
    planted = tmp_path / ".autoloader"
    planted.mkdir()
    try:
        os.chown(planted, 12345, 12345)
    except PermissionError:
        pytest.skip("only root can make a folder of another user's")

    ran = check(tmp_path)

    assert ran.code == 2
    assert ran.result["error"]["message"] == (
        f"{planted} belongs to user 12345, who could have files of yours written over "
        "by links in it"
    )
    assert list(planted.iterdir()) == []


def test_a_machine_tells_its_limit_of_open_files(tmp_path: Path) -> None:
    """The one that workers will have."""
    ran = run("machine", "--json", folder=tmp_path, prefix=open_files(128))

    assert ran.result["open_files_limit"] == 128


@pytest.mark.full
def test_studies_may_be_kept_elsewhere_by_a_link(tmp_path: Path) -> None:
    """Of the user's own: a larger disk, say."""
    elsewhere, work = tmp_path / "elsewhere", tmp_path / "work"
    elsewhere.mkdir()
    work.mkdir()
    (work / ".autoloader").symlink_to(elsewhere)

    ran = check(work)

    assert_passed(ran)
    assert (elsewhere / "check").is_dir()


@pytest.mark.slow
def test_all_that_is_usually_set_may_be_missing_at_once(tmp_path: Path) -> None:
    """No HOME, a TMPDIR too long for a socket, ASCII alone, an odd folder, few files.

    Each of them alone is shown by the tests below, in the full run.
    """
    folder, tmp = tmp_path / ODD, long_folder(tmp_path)
    folder.mkdir()

    ran = check(
        folder,
        local(folder),
        prefix=open_files(128),
        without=("HOME", "USER", "LOGNAME", "TERM"),
        environment={**ASCII_ONLY, "TMPDIR": str(tmp)},
    )

    assert_passed(ran)
    assert list(tmp.iterdir()) == []


@pytest.mark.full
@pytest.mark.parametrize("name", [ODD, "line\nend", os.fsdecode(b"\xe9t\xe9")])
def test_a_folder_may_have_any_name(name: str, tmp_path: Path) -> None:
    """Also one that is no text: Python keeps its bytes."""
    folder = tmp_path / name
    folder.mkdir()

    ran = check(folder, local(folder))

    assert_passed(ran)


@pytest.mark.full
def test_a_home_is_not_needed(tmp_path: Path) -> None:
    """Nothing of ours is kept in it."""
    assert_passed(check(tmp_path, without=("HOME",)))


@pytest.mark.full
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_a_temporary_folder_may_have_a_long_path(method: str, tmp_path: Path) -> None:
    """A socket's path has 107 bytes: workers get a short folder, and it is removed."""
    tmp, work = long_folder(tmp_path), tmp_path / "work"
    work.mkdir()

    ran = run(
        "check", "--dataset", f"{HERE / 'small.py'}:Small", "--batch-size", "8",
        "--config", "num_workers=2", "--start-method", method, *PATIENT,
        "--json", "--quiet", folder=work, environment={"TMPDIR": str(tmp)},
    )  # fmt: skip

    assert_passed(ran)
    assert list(tmp.iterdir()) == []


@pytest.mark.full
def test_paths_beyond_ascii_are_found_where_python_knows_ascii_alone(
    tmp_path: Path,
) -> None:
    """The whole path of the dataset's file has such letters, too."""
    folder = tmp_path / ODD
    folder.mkdir()
    spec = f"{folder / local(folder)}"

    ran = check(folder, spec, environment=ASCII_ONLY)

    assert_passed(ran)


@pytest.mark.full
def test_an_isolated_python_runs_the_tool(tmp_path: Path) -> None:
    """`python -I` knows neither the working folder nor any variable."""
    assert_passed(check(tmp_path, interpreter=("-I",)))


@pytest.mark.full
def test_asserts_of_a_dataset_hold_as_they_do_under_the_same_flags(
    tmp_path: Path,
) -> None:
    """`python -O` does without them, in all processes."""
    spec = f"{HERE / 'small.py'}:Asserts"

    without = check(tmp_path, spec, interpreter=("-O",))
    held = check(tmp_path, spec)

    assert_passed(without)
    assert held.code == 3
    assert held.result["error"]["message"].endswith(
        "AssertionError: the index is taken"
    )


@pytest.mark.full
def test_a_warning_that_is_an_error_is_the_datasets_and_named(tmp_path: Path) -> None:
    """`python -W error` makes one of it in the processes of the dataset, too."""
    ran = check(tmp_path, f"{HERE / 'small.py'}:Warns", interpreter=("-W", "error"))

    assert ran.code == 3
    assert ran.result["error"]["message"].endswith(f"UserWarning: {OWN_WARNING}")


@pytest.mark.slow
def test_thousands_of_open_files_are_no_matter(tmp_path: Path) -> None:
    """In the command, in the dataset, and in its workers."""
    spec = f"{HERE / 'small.py'}:Crowded"

    ran = check(tmp_path, spec, prefix=crowded())

    assert_passed(ran)


@pytest.mark.full
def test_processes_that_nobody_may_look_into_are_not_weighed_as_nothing(
    borrowed: Path,
) -> None:
    """A tune cannot hold its memory then, and says so; a check needs none."""
    spec = f"{HERE / 'small.py'}:Secretive"
    home = {"HOME": "/nonexistent"}

    checked = check(borrowed, spec, prefix=not_root(), environment=home)
    tuned = tune(borrowed, "Secretive", prefix=not_root(), environment=home)

    assert_passed(checked)
    assert tuned.code == 2
    assert re.fullmatch(
        r"the memory of process (\d+) cannot be read, /proc/\1/smaps: "
        "Permission denied",
        tuned.result["error"]["message"],
    )
    assert not (borrowed / "autoloader.yaml").exists()


@pytest.mark.full
def test_a_module_of_the_working_folder_is_found_on_a_safe_path(tmp_path: Path) -> None:
    """PYTHONSAFEPATH leaves the folder out, and the SPEC names it."""
    local(tmp_path)

    ran = check(tmp_path, "small:Small", environment={"PYTHONSAFEPATH": "1"})

    assert_passed(ran)


@pytest.mark.full
def test_a_tune_gets_along_with_few_open_files(tmp_path: Path) -> None:
    """As few as 128 are enough for two workers: nothing fails, nothing is refused."""
    ran = tune(tmp_path, "Small", "--fresh", prefix=open_files(128))

    assert ran.code in {0, 4, 6}, ran.err
    assert ran.result["failed"] == []


@pytest.mark.slow
def test_nobody_may_use_the_tool(borrowed: Path) -> None:
    """Root is not needed: the study, its logs and workers are this user's own."""
    ran = check(borrowed, prefix=not_root(), environment={"HOME": "/nonexistent"})

    assert_passed(ran)
    owners = {path.stat().st_uid for path in borrowed.rglob("*")}
    assert owners == {NOBODY}

"""Run the tool in places that lack something, and read what it said.

A prefix is what stands before a command: it takes something away, and runs the rest.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pytest

from autoloader.measure.cgroup import find_levels
from tests.waiting import wait_for

ROOT = Path(__file__).parents[2]

HERE = Path(__file__).parent

LONGEST_S = 240.0
"""A run that takes longer has hung itself: each stage of it has a limit of its own."""

NOBODY = 65534
"""User and group without any right, by convention."""

Prefix = tuple[str, ...]

_AS_THE_TOOL_DOES = """\
import subprocess, sys
subprocess.run([sys.executable, "-c", "import autoloader.cli"], check=True)
"""

SHORT_TUNE = (
    "--batch-size", "8", "--num-workers", "0:2", "--prefetch-factor", "2",
    "--persistent-workers", "no", "--trials", "2", "--budget", "4s",
)  # fmt: skip
"""The least that a tune can do."""

PATIENT = ("--hang-after", "120s")
"""On a machine that is busy with other tests, imports of workers take long."""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def result(self) -> dict[str, Any]:
        """The object on stdout."""
        found: dict[str, Any] = json.loads(self.out)
        return found


def run(
    *arguments: str,
    folder: Path,
    prefix: Prefix = (),
    environment: Mapping[str, str] | None = None,
    without: tuple[str, ...] = (),
    interpreter: tuple[str, ...] = (),
) -> Ran:
    """Run the tool to its end.

    Args:
        arguments: command and flags.
        folder: the working folder.
        prefix: what stands before the command.
        environment: further variables.
        without: variables that are taken away.
        interpreter: flags of Python itself.
    """
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})}
    for name in without:
        variables.pop(name, None)
    done = subprocess.run(
        [*prefix, sys.executable, *interpreter, "-m", "autoloader", *arguments],
        cwd=folder,
        env=variables,
        capture_output=True,
        timeout=LONGEST_S,
        check=False,
    )
    return Ran(
        code=done.returncode,
        out=done.stdout.decode(errors="replace"),
        err=done.stderr.decode(errors="replace"),
    )


def check(folder: Path, spec: str = f"{HERE / 'small.py'}:Small", **limits: Any) -> Ran:
    """Check a dataset with two workers; see `run` for the limits."""
    return run(
        "check", "--dataset", spec, "--batch-size", "8", "--config", "num_workers=2",
        *PATIENT, "--json", "--quiet", folder=folder, **limits,
    )  # fmt: skip


def tune(folder: Path, name: str = "Small", *flags: str, **limits: Any) -> Ran:
    """Tune as shortly as can be; see `run` for the limits."""
    return run(
        "tune", "--dataset", f"{HERE / 'small.py'}:{name}", *SHORT_TUNE, *flags,
        *PATIENT, "--json", "--quiet", folder=folder, **limits,
    )  # fmt: skip


def outcomes(folder: Path) -> list[dict[str, Any]]:
    """Return the trials of the one study in a working folder, in order."""
    (path,) = folder.glob(".autoloader/*/outcomes.jsonl")
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [item["outcome"] for item in records if item["record"] == "trial"]


def after(script: str) -> Prefix:
    """Return a prefix that runs some lines of shell first."""
    return ("sh", "-ec", f'{script}\nexec "$@"', "sh")


def open_files(most: int) -> Prefix:
    """Return a prefix that limits the files which each process may hold open."""
    return after(f"ulimit -n {most}")


def mounted(script: str) -> Prefix:
    """Return a prefix that changes what is mounted, for the command alone.

    The test is skipped where this user may not.
    """
    if not _may_mount():
        pytest.skip("a mount namespace needs rights that this user has not")
    return ("unshare", "--mount", *after(script))


def shared_memory(size: str) -> Prefix:
    """Return a prefix that gives a `/dev/shm` of so much, such as `64m`."""
    return mounted(f"mount -t tmpfs -o size={size} tmpfs /dev/shm")


def no_shared_memory(devices: Path) -> Prefix:
    """Return a prefix that takes `/dev/shm` away.

    Args:
        devices: an empty folder, which becomes `/dev`.
    """
    kept = " ".join(f"/dev/{name}" for name in ("null", "zero", "random", "urandom"))
    place = shlex.quote(str(devices))
    return mounted(
        f"for device in {kept}; do\n"
        f"  touch {place}/${{device#/dev/}}\n"
        f"  mount --bind $device {place}/${{device#/dev/}}\n"
        "done\n"
        f"mount --rbind {place} /dev"
    )


def read_only(folder: Path) -> Prefix:
    """Return a prefix that lets nobody write below a folder, and works there."""
    place = shlex.quote(str(folder))
    return mounted(
        f"mount --bind {place} {place}\nmount -o remount,bind,ro {place}\ncd {place}"
    )


def no_temporary_folder(folder: Path) -> Prefix:
    """Return a prefix that lets nobody write into temporary folders of the system.

    Args:
        folder: which may be written all the same, and becomes the working folder.
    """
    place = shlex.quote(str(folder))
    return mounted(
        f"mount --bind {place} /mnt\n"
        "for place in /tmp /var/tmp; do\n"
        "  mount --bind $place $place\n"
        "  mount -o remount,bind,ro $place\n"
        "done\n"
        f"mount --bind /mnt {place}\ncd {place}"
    )


def crowded() -> Prefix:
    """Return a prefix that holds 1,100 files open, which the command gets as well."""
    return (*open_files(4096), sys.executable, "-c", _HOLDS_MANY)


_HOLDS_MANY = """\
import os, sys
first = os.open(os.devnull, os.O_RDONLY)
for _ in range(1100):
    os.set_inheritable(os.dup(first), True)
os.execv(sys.argv[1], sys.argv[1:])
"""


@cache
def _may_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    command = ["unshare", "--mount", *after("mount -t tmpfs tmpfs /dev/shm"), "true"]
    return _works(command)


@cache
def not_root() -> Prefix:
    """Return a prefix that runs as nobody.

    Where the interpreter lies in a folder that only root enters, nobody may look into
    folders, and no more than that. The test is skipped where it cannot be.
    """
    if os.getuid() != 0:
        pytest.skip("this user is not root already: every test shows it")
    nobody = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    looking = (
        "--bounding-set=-all,+dac_read_search",
        "--inh-caps=-all,+dac_read_search",
        "--ambient-caps=-all,+dac_read_search",
    )
    for prefix in (nobody, (*nobody, *looking)):
        if _works([*prefix, sys.executable, "-c", _AS_THE_TOOL_DOES]):
            return prefix
    pytest.skip("nobody cannot run this interpreter, or setpriv is missing")


def _works(command: list[str]) -> bool:
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, timeout=LONGEST_S, check=False
        )
    except OSError:
        return False
    return done.returncode == 0


@contextmanager
def control_group(
    controller: Literal["cpu", "memory"], limits: Mapping[str, str]
) -> Iterator[Prefix]:
    """Give a prefix that runs in a control group of its own, below this process's.

    The test is skipped where this user may not make one.

    Args:
        controller: which hierarchy, where each has its own.
        limits: text by file, for both interfaces: files that are not there are left.
    """
    levels = find_levels(controller)
    if levels is None:
        pytest.skip("no control groups are mounted")
    folder = levels.folders[0] / f"autoloader-test-{controller}-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("a control group needs rights that this user has not")
    try:
        known = [name for name in limits if (folder / name).exists()]
        if not known:
            pytest.skip(f"{controller} is not handed down to this process's groups")
        for name in known:
            (folder / name).write_text(limits[name], encoding="ascii")
        yield after(f"echo $$ > {shlex.quote(str(folder / 'cgroup.procs'))}")
    finally:
        wait_for(lambda: _is_removed(folder), f"the end of all in {folder}")


def _is_removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:
        return False
    return True

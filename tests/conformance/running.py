"""Run a case through the command line, and read what it said."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.canary import files_under, traces
from tests.conformance.hazard import Case
from tests.conformance.own_time import OwnTime

DATASETS = Path(__file__).parent / "datasets"
ROOT = Path(__file__).parents[2]
LONGEST_S = 240.0
"""A run that takes longer has hung itself: each stage of it has a limit of its own."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a check said."""

    code: int
    out: bytes
    err: bytes
    result: dict[str, Any] | None
    """The object on stdout; None where the command ended with an error."""
    folder: Path
    """Where it ran, with all that it left."""
    seconds: float
    """Wall time of the command."""
    idle_s: float
    """Part of it in which none of its processes worked, or could have."""

    @property
    def summary(self) -> tuple[str, ...]:
        """In the words of `Case.says`."""
        if self.result is None or "runs" not in self.result:
            return ({3: "dataset", 2: "usage"}.get(self.code, f"exit {self.code}"),)
        return tuple(_summary(run) for run in self.result["runs"])

    @property
    def cautions(self) -> set[str]:
        """Codes of all cautions."""
        runs = (self.result or {}).get("runs", [])
        return {item["code"] for run in runs for item in run["cautions"]}

    def ids(self, code: str) -> set[Any]:
        """Ids that findings of a code name, over all configs."""
        runs = (self.result or {}).get("runs", [])
        found = [item for run in runs for item in run["findings"]]
        return {name for item in found if item["code"] == code for name in item["ids"]}

    @property
    def words(self) -> str:
        """All that is said: messages and hints of findings and failures, and stderr."""
        result = {} if self.result is None else self.result
        lines = [self.err.decode(errors="replace")]
        for run in result.get("runs", []):
            failure = [run["failure"]] if run["failure"] else []
            for item in (*run["findings"], *run["cautions"], *failure):
                lines += [item["message"], item.get("hint") or ""]
        return "\n".join(lines)

    def traces(self) -> list[str]:
        """Where a mark of the data came out again."""
        texts = {"stdout": self.out, "stderr": self.err}
        return traces({**texts, **dict(files_under(self.folder / ".autoloader"))})


def _summary(run: dict[str, Any]) -> str:
    if run["failure"]:
        return str(run["failure"]["kind"])
    return "+".join(sorted({item["code"] for item in run["findings"]})) or "passed"


@cache
def has_own_shared_memory() -> bool:
    """Whether this user may give a command a `/dev/shm` of its own."""
    if shutil.which("unshare") is None:
        return False
    return (
        subprocess.run(
            [*_limited(Case(dataset="", says=(), shared_memory="1m")), "true"],
            capture_output=True,
            timeout=LONGEST_S,
            check=False,
        ).returncode
        == 0
    )


def _limited(case: Case) -> list[str]:
    """Return what stands before a command, so that it has the limits of a case."""
    command: list[str] = []
    if case.shared_memory is not None:
        mount = f"mount -t tmpfs -o size={case.shared_memory} tmpfs /dev/shm"
        command += ["unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh"]
    if case.open_files is not None:
        command += ["sh", "-c", f'ulimit -n {case.open_files} && exec "$@"', "sh"]
    return command


def run(case: Case, folder: Path) -> Said:
    """Check the dataset of a case in an empty folder.

    The test is skipped where the system does not allow what the case needs.
    """
    if case.shared_memory is not None and not has_own_shared_memory():
        pytest.skip("a /dev/shm of its own needs a mount namespace, which needs rights")
    command = [
        *_limited(case),
        sys.executable, "-m", "autoloader", "check", "--json", "--quiet",
        "--dataset", f"{DATASETS / case.dataset}",
    ]  # fmt: skip
    if case.batch_size is not None:
        command += ["--batch-size", str(case.batch_size)]
    if case.start_method is not None:
        command += ["--start-method", case.start_method]
    for config in case.configs:
        command += ["--config", config]
    for argument in case.arguments:
        command += ["--arg", argument.format(folder=folder)]
    command += [flag.format(folder=folder) for flag in case.flags]
    begun = time.monotonic()
    with (
        subprocess.Popen(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT), **dict(case.environment)},
        ) as process,
        OwnTime(process) as own,
    ):
        try:
            out, err = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    result = json.loads(out) if out.strip() else None
    return Said(
        code=process.returncode,
        out=out,
        err=err,
        result=result,
        folder=folder,
        seconds=time.monotonic() - begun,
        idle_s=own.idle_s,
    )


_NO_PROGRESS = r"no progress for (\d+) s"


def differences(case: Case, said: Said, *, within_s: float | None = None) -> list[str]:
    """Return what was said otherwise than the case has it; nothing where all agrees.

    Args:
        case: what was run.
        said: what came of it.
        within_s: longest time that it may have waited, and let a pass be without
            progress; None: any.
    """
    found = []
    if not _agrees(case.says, said.summary):
        found.append(f"says {said.summary}, not {case.says}")
    if case.cautions is not None and said.cautions != case.cautions:
        found.append(f"cautions {said.cautions}, not {set(case.cautions)}")
    for code, ids in (case.ids or {}).items():
        if said.ids(code) != set(ids):
            found.append(f"{code} names {said.ids(code)}, not {set(ids)}")
    found += [
        f"does not say {pattern!r}"
        for pattern in case.words
        if not re.search(pattern, said.words)
    ]
    if within_s is not None:
        waits = [float(item) for item in re.findall(_NO_PROGRESS, said.words)]
        longest_s = max([said.idle_s, *waits])
        if longest_s > within_s:
            found.append(f"waited for {longest_s:.0f} s, more than {within_s:.0f} s")
    if said.traces():
        found.append(f"content of the data came out in {said.traces()}")
    if found:
        found.append(said.words)
    return found


def _agrees(wanted: tuple[str, ...], got: tuple[str, ...]) -> bool:
    if len(wanted) != len(got):
        return False
    pairs = zip(wanted, got, strict=True)
    return all(one in choices.split(" or ") for choices, one in pairs)

"""Run a tune in a folder of its own, see where it stands, and look for what it left."""

import contextlib
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from autoloader.measure.proc import numbers_in, process_stat
from tests.waiting import wait_for

Found = TypeVar("Found")

DATASET = Path(__file__).with_name("planned.py")
ROOT = Path(__file__).parents[2]
SHM = Path("/dev/shm")

LONGEST_S = 240.0
"""No run is as long, whatever happened in it."""


@dataclass
class Bench:
    """A folder with a study that is run, broken, and run again."""

    folder: Path
    """Where the command is run; as it is named there."""
    plan: Path
    """Folder of the dataset's plan."""
    flags: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()
    """What stands before the command."""
    view: Path | None = None
    """Where the folder is seen from here; None: where it is."""
    shm_before: set[str] = field(default_factory=lambda: _shared_memory())

    @property
    def seen(self) -> Path:
        """The folder, as it is seen from here."""
        return self.folder if self.view is None else self.view

    def start(self) -> "Run":
        """Start the command; the same one each time."""
        return Run(self)

    def tell(self, plan: dict[str, object]) -> None:
        """Give the dataset its plan."""
        (self.plan / "plan.new").write_text(json.dumps(plan))
        (self.plan / "plan.new").rename(self.plan / "plan")

    def let_go(self) -> None:
        """Let the process that is held go on."""
        (self.plan / "go").touch()

    def lines(self) -> bytes:
        """Return the whole lines of the study's record."""
        for path in self.seen.glob(".autoloader/*/outcomes.jsonl"):
            data = path.read_bytes()
            return data[: data.rfind(b"\n") + 1]
        return b""

    def put_aside(self) -> bytes:
        """Return the record of a study that was finished, and begun anew."""
        found = list(self.seen.glob(".autoloader/*/outcomes.1.jsonl"))
        return found[0].read_bytes() if found else b""

    def outcomes(self) -> dict[int, dict[str, Any]]:
        """Return the last known outcome of each trial, by its number."""
        records = [json.loads(line) for line in self.lines().splitlines()]
        told = [item["outcome"] for item in records if item["record"] == "trial"]
        return {outcome["number"]: outcome for outcome in told}

    def failed(self) -> list[dict[str, Any]]:
        """Return the outcomes that have no speed."""
        found = self.outcomes().values()
        return [item for item in found if item["status"] != "measured"]

    def living(self) -> list[int]:
        """Return the processes of this study: no other works in its folder."""
        pids = numbers_in(Path("/proc")) or []
        return [pid for pid in pids if _folder_of(pid) == str(self.folder)]

    def left(self) -> list[str]:
        """Return what a run left that it should not have."""
        inside = [path for path in self.seen.rglob("*") if _is_litter(path.name)]
        # other programs, and other tests, leave files of their own there
        makers = {int(path.name.split("-")[1]) for path in self.plan.glob("read-*")}
        shared = [
            name
            for name in _shared_memory() - self.shm_before
            if (pid := int(name.split("_")[1])) in makers and process_stat(pid) is None
        ]
        return [*map(str, inside), *shared]

    def is_free(self) -> bool:
        """Whether nobody holds the study's lock."""
        for path in self.seen.glob(".autoloader/*/lock"):
            with path.open("rb") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return False
        return True


class Run:
    """One run of the command."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [
                *bench.prefix, sys.executable, "-m", "autoloader", "tune",
                "--dataset", f"{DATASET}:loader", "--arg", f"folder={bench.plan}",
                "--num-workers", "0:1", "--prefetch-factor", "2",
                "--persistent-workers", "no", "--budget", "4s", "--trials", "2",
                "--target", "1", "--memory", "1900MiB", "--best-effort",
                *bench.flags,
            ],
            cwd=bench.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    def __enter__(self) -> Self:
        """Return the run."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End what a failed test leaves; what a passed one leaves is looked for."""
        if exc is not None:
            self.kill()
        self._reader.join(timeout=5.0)
        if self.process.stderr is not None:
            self.process.stderr.close()

    @property
    def pid(self) -> int:
        """Process id of the command."""
        return self.process.pid

    @property
    def said(self) -> str:
        """All that it wrote on stderr so far."""
        return "\n".join(self.lines)

    def wait_for(self, look: Callable[[], Found], what: str) -> Found:
        """Return what `look` finds, as soon as it is true; fail where the run ends."""

        def look_or_end() -> Found | bool:
            has_ended = self.process.poll() is not None
            found = look()
            if has_ended and not found:
                self._reader.join()
                msg = f"{what} did not happen: exit {self.process.returncode}\n"
                raise AssertionError(msg + self.said)
            return found

        return wait_for(look_or_end, what)  # type: ignore[return-value]

    def wait_for_line(self, beginning: str) -> None:
        """Wait until it says something that begins so."""
        self.wait_for(
            lambda: [line for line in self.lines if line.startswith(beginning)],
            f"the line {beginning!r}",
        )

    def wait_for_reached(self) -> tuple[int, int]:
        """Return process and session that the plan has reached."""

        def look() -> dict[str, int] | None:
            path = self.bench.plan / "reached"
            return json.loads(path.read_text()) if path.exists() else None

        found = self.wait_for(look, "the plan")
        assert found is not None
        return found["pid"], found["session"]

    def wait_for_writing(self) -> None:
        """Wait until the recommendation is being written, or is there."""
        self.wait_for_line("round 1:")
        end = time.monotonic() + LONGEST_S
        while self.process.poll() is None and time.monotonic() < end:
            if any("autoloader.yaml" in name for name in os.listdir(self.bench.seen)):  # noqa: PTH208  # in a hurry
                return

    def host_of(self, session: int) -> int:
        """Return the host of a trial: itself, where it was not forked."""
        found = process_stat(session)
        parent = self.pid if found is None else found.parent_pid
        return session if parent == self.pid else parent

    def finish(self) -> int:
        """Wait for the end; return the exit code, negative for a signal."""
        try:
            code = self.process.wait(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            self.kill()
            msg = f"the run did not end within {LONGEST_S:.0f} s\n{self.said}"
            raise AssertionError(msg) from None
        self._reader.join(timeout=5.0)
        return code

    def kill(self) -> None:
        """End the command, and all that it started."""
        if self.process.poll() is None:
            self.process.kill()
        for pid in self.bench.living():
            end(pid)
        self.process.wait()

    def check_end(self, code: int) -> None:
        """Check what holds after any end: named, quiet, nothing left, no lock held."""
        bench = self.bench
        assert code != 70, self.said
        assert "Traceback" not in self.said, self.said
        wait_for(lambda: not bench.living(), "the end of every process")
        assert bench.is_free()
        if code != -signal.SIGKILL:
            wait_for(lambda: not bench.left(), f"an end without litter: {bench.left()}")
            assert not self.temporary()

    def temporary(self) -> list[Path]:
        """Return the temporary folders of this run."""
        return list(Path("/tmp").glob(f"autoloader-{self.pid}-*"))


def end(pid: int) -> None:
    """End a process at once, if it is there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _folder_of(pid: int) -> str | None:
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return None


def _is_litter(name: str) -> bool:
    return name.endswith((".autoloader-tmp", ".rename")) or ".log.lock" in name


def _shared_memory() -> set[str]:
    """Return what PyTorch has in shared memory, by names that tell its maker."""
    names = {path.name for path in SHM.iterdir()}
    return {name for name in names if re.match(r"torch_[0-9]+_", name)}

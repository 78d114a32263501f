"""Keep the host: the process that holds the dataset and forks trials.

Decides between forking and fresh processes; runs nothing itself.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from autoloader.child.last_words import read_end, standing_places
from autoloader.child.stages import StageBoard
from autoloader.trial.aftercare import ask_for_stacks
from autoloader.trial.child import Child, ChildDied
from autoloader.trial.explaining import MOST_PLACES
from autoloader.trial.logs import death, stopped, tidy, who_is
from autoloader.trial.reference import error_of
from autoloader.trial.watchdog import ChildHung, ChildStopped, patience_with_reading
from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from autoloader.trial.aftercare import SessionBook
    from autoloader.trial.child import Tick
    from autoloader.values.job import PassOrder, Reference
    from autoloader.values.ranks import RankPlace
    from autoloader.values.scope import SourceSpec

Isolation = Literal["auto", "fork", "fresh"]

OPEN_STALL_S = 300.0
"""Time a host may take to import and build without progress."""


class HostKeeper:
    """Starts the host when it is needed and ends it.

    Args:
        source: the user's SPEC.
        reference: facts and scope that the host hands to trials.
        isolation: `auto` forks where it is safe.
        cpus: CPUs that trials may use; None: all of them.
        book: where sessions are noted.
        hang_after_s: what the user says of a hang; None: nothing.
        step: SPEC of the training step; None: passes have none.
    """

    def __init__(
        self,
        source: SourceSpec,
        reference: Reference,
        *,
        isolation: Isolation,
        cpus: int | None,
        book: SessionBook,
        hang_after_s: float | None = None,
        step: str | None = None,
    ) -> None:
        self._step = step
        self._source = source
        self._reference = reference
        self._wanted = isolation
        self._cpus = cpus
        self._book = book
        self._patience = patience_with_reading(
            usual_s=OPEN_STALL_S, hang_after_s=hang_after_s
        )
        self.place: RankPlace | None = None
        """Rank that the host stands for; None: there is one training process."""
        self.on_wait: Tick | None = None
        """Told stage and count while a host starts; None: nobody is."""
        self._host: Child | None = None
        self._board: StageBoard | None = None
        self.why_fresh = "--isolation fresh" if isolation == "fresh" else None
        """Why passes get fresh processes; None where they are forked."""

    @property
    def isolation(self) -> str:
        """How the next pass's process is made: `fork` or `fresh`."""
        return "fork" if self.why_fresh is None else "fresh"

    def open(self, order: PassOrder, folder: Path, tmp: Path) -> Child | Failure:
        """Return the running host, started where there is none.

        Args:
            order: the pass that needs it, named in a failure.
            folder: where it gets a log folder.
            tmp: where it gets its TMPDIR.

        Raises:
            AutoloaderError: the dataset cannot be built, in the host's words.
        """
        if self._host is not None and self._host.is_alive:
            return self._host
        self.drop()
        logs = folder / f"{Path(order.logs).name.partition('-')[0]}-host"
        try:
            host, board = self._start(logs, tmp / "h")
        except OSError as exc:
            self.drop()
            return Failure(
                kind="start_failed",
                phase=order.kind,
                message=f"the host's process cannot be started: {exc.strerror}",
                hint="the machine has no room for another process, or for its log",
            )
        host.order(
            {
                "source": self._source.to_dict(),
                "facts": self._reference.facts.to_dict(),
                "scope": self._reference.scope.to_dict(),
                "board": str(logs / "stage"),
                "cpus": self._cpus,
                "step": self._step,
            }
        )
        return self._await_ready(host, board, order, logs)

    def _start(self, logs: Path, tmp: Path) -> tuple[Child, StageBoard]:
        for path in (logs, tmp):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._board = StageBoard.create(logs / "stage")
        more = None if self.place is None else self.place.environment()
        self._host = Child("host", logs=logs, tmp=tmp, more=more)
        self._book.note(self._host.pid)
        return self._host, self._board

    def note_unsafe(self, why: str | None) -> None:
        """Take fresh processes from now on, if the host says that forking is unsafe."""
        if why is not None and self._wanted == "auto" and self.why_fresh is None:
            self.why_fresh = why

    def drop(self, *, keeps_log: bool = False) -> None:
        """End the host and all of its session; a log that says nothing goes with it.

        Args:
            keeps_log: whether it is kept all the same, since a failure names it.
        """
        if self._host is not None:
            self._host.kill()
            if not keeps_log:
                with contextlib.suppress(FileNotFoundError):  # somebody tidied up
                    tidy(self._host.logs)
            self._host = None
        if self._board is not None:
            self._board.close()
            self._board = None

    def _await_ready(
        self, host: Child, board: StageBoard, order: PassOrder, logs: Path
    ) -> Child | Failure:
        try:
            message = host.answer(board, patience=self._patience, on_tick=self.on_wait)
        except ChildDied as exc:
            failure = death(
                exc.code, order, logs, board, who="host", kind="start_failed"
            )
            self.drop(keeps_log=True)
            return failure
        except ChildHung as exc:
            if not isinstance(exc, ChildStopped):
                ask_for_stacks(host.pid, logs / "stderr.txt")
            pid = host.pid
            self.drop(keeps_log=True)
            return _not_ready(exc, order, logs, host_pid=pid)
        if message["event"] == "error":
            self.drop()
            raise error_of(message)
        self.note_unsafe(message["unsafe"])
        return host


def _not_ready(
    exc: ChildHung, order: PassOrder, logs: Path, *, host_pid: int
) -> Failure:
    """Return the failure of a host that does not come to wait for orders."""
    if isinstance(exc, ChildStopped):
        who = who_is(exc.process, trial_pid=None, host_pid=host_pid)
        return stopped(exc, order, logs, kind="start_failed", who=who)
    places = standing_places(read_end(logs / "stderr.txt"))[:MOST_PLACES]
    stands = f"; it stands in {', '.join(places)}" if places else ""
    return Failure(
        kind="start_failed",
        phase=order.kind,
        message=f"building the dataset hangs ({exc.seconds:.0f} s){stands}",
        log=str(logs),
    )

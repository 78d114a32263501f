"""Run passes of trials in real processes: the `TrialRunner` that users get.

Holds the host, forks a pass from it (or starts a fresh one where forking is unsafe),
and turns whatever happens into values. Whatever the ending, no process of the pass, no
shared memory and no temporary folder is left.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from autoloader.audit.findings import SUSPECTED, with_suspects
from autoloader.audit.ledger import ReferenceLedger
from autoloader.audit.policy import apply_policy
from autoloader.child.stages import StageBoard
from autoloader.errors import ProtocolError, UsageError
from autoloader.files import refusals_named
from autoloader.trial.aftercare import (
    SessionBook,
    SharedMemoryWatch,
    ask_for_stacks,
    end_session,
    remove_folder,
)
from autoloader.trial.child import ChildDied, ChildTooLarge, Tick
from autoloader.trial.explaining import explained, hung, read_suspects
from autoloader.trial.guard import MemoryGuard, kernel_kills, named_by_kernel
from autoloader.trial.hosting import HostKeeper, Isolation
from autoloader.trial.judging import Gated, Shares, needs_shares
from autoloader.trial.logs import death, last_number, stopped, tidy, who_is
from autoloader.trial.readings import ceiling_of, memory_of, reading_of
from autoloader.trial.reference import error_of
from autoloader.trial.unfinished import note_unfinished
from autoloader.trial.watchdog import (
    STALL_S,
    STEP_STALL_S,
    ChildHung,
    ChildStopped,
    patience_with,
)
from autoloader.values.gate import GatePolicy
from autoloader.values.job import PassOrder, PassPlan, Reference
from autoloader.values.outcome import Failure, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autoloader.values.ceiling import CeilingReading
    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import MemoryReading, Reading
    from autoloader.values.scope import SourceSpec


class ProcessRunner:
    """Runs gate, timed and memory passes of one dataset.

    Args:
        source: the user's SPEC.
        reference: what is right.
        folder: where each pass gets a folder for logs and ledgers.
        tmp: short path under which each pass gets its TMPDIR.
        isolation: `auto` forks where it is safe.
        cpus: CPUs that trials may use; None: all of them.
        policy: what refuses a config, and when it counts as hung.
        memory_bytes: what host, trial, workers and queue may take; None: no limit.
        on_tick: told stage and count of the running pass.
        on_pass: told each pass as it begins.
        step: SPEC of the training step, for passes with it; None: there is none.
    """

    def __init__(
        self,
        source: SourceSpec,
        reference: Reference,
        *,
        folder: Path,
        tmp: Path,
        isolation: Isolation = "auto",
        cpus: int | None = None,
        policy: GatePolicy | None = None,
        memory_bytes: int | None = None,
        on_tick: Tick | None = None,
        on_pass: Callable[[PassOrder], None] | None = None,
        step: str | None = None,
    ) -> None:
        self._policy = policy or GatePolicy()
        self._stall_s = STALL_S if step is None else STEP_STALL_S
        self._reference, self._memory_bytes = reference, memory_bytes
        self._folder, self._tmp = folder, tmp
        self._on_tick, self._on_pass = on_tick, on_pass or (lambda _: None)
        self._number = last_number(folder)
        self._trial_pid: int | None = None
        self._watch = SharedMemoryWatch()
        self._book = SessionBook(folder / "sessions.jsonl")
        self._keeper = HostKeeper(
            source,
            reference,
            isolation=isolation,
            cpus=cpus,
            book=self._book,
            hang_after_s=self._policy.hang_after_s,
            step=step,
        )
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._book.sweep()

    def __enter__(self) -> Self:
        """Return the runner; nothing is started before the first pass."""
        return self

    def __exit__(self, *_exc: object) -> None:
        """End host and trial, whatever happened."""
        self.close()

    def close(self) -> None:
        """End host and trial; safe to call at any moment and twice."""
        self._end_trial(patience_s=0.0)
        self._keeper.drop()
        self._watch.sweep()  # of a pass that was interrupted while it was ending
        remove_folder(self._tmp)
        with contextlib.suppress(OSError):
            (self._folder / "sessions.jsonl").unlink()

    @property
    def isolation(self) -> str:
        """How the next pass's process is made: `fork` or `fresh`."""
        return self._keeper.isolation

    @property
    def start_method(self) -> str:
        """How workers are started: fork, forkserver or spawn."""
        return self._reference.facts.start_method

    @property
    def why_fresh(self) -> str | None:
        """Why passes get fresh processes; None where they are forked."""
        return self._keeper.why_fresh

    def gate(self, config: LoaderConfig, *, examples: int) -> Verdict | Failure:
        """Compare what `config` delivers over two epochs with the reference."""
        found = self.read_gate(config, examples=examples)
        if isinstance(found, Failure):
            return found
        return self._settled(found.verdict(self._reference), found.logs)

    def read_gate(self, config: LoaderConfig, *, examples: int) -> Gated | Failure:
        """Read what `config` delivers over two epochs; judge nothing."""
        order, logs = self._order("gate", config, examples=examples)
        answer = self._run(order, logs)
        if isinstance(answer, Failure):
            return answer
        shares: list[Shares] | None = None
        if needs_shares(self._reference.scope, config, answer):
            shares = []
            for epoch in range(1 + self._reference.scope.epochs_differ):
                found = self._shares(config, order.examples, epoch)
                if isinstance(found, Failure):
                    return found
                shares.append(found)
        return Gated(order=order, logs=logs, answer=answer, shares=shares)

    def _shares(
        self, config: LoaderConfig, examples: int, epoch: int
    ) -> Shares | Failure:
        """Return what each worker's share of a stream begins with."""
        shares: Shares = {}
        for worker in range(config.num_workers):
            share = self._share(config, worker, examples, epoch)
            if isinstance(share, Failure):
                return share
            shares[worker] = share
        return shares

    def _share(
        self, config: LoaderConfig, worker: int, examples: int, epoch: int
    ) -> ReferenceLedger | Failure:
        order, logs = self._order(
            "share", config, examples=examples, share=worker, share_epoch=epoch
        )
        answer = self._run(order, logs)
        if isinstance(answer, Failure):
            return answer
        ledger = ReferenceLedger.read(logs)
        remove_folder(logs)
        return ledger

    def _settled(self, verdict: Verdict, logs: Path) -> Verdict:
        """Return the verdict as the user's policy has it; its ledger is done with."""
        suspects = read_suspects(logs)
        for ledger in logs.glob("arrived*"):
            ledger.unlink()
        tidy(logs)
        findings = tuple(
            with_suspects(item, suspects) if item.code in SUSPECTED else item
            for item in verdict.findings
        )
        return apply_policy(replace(verdict, findings=findings), self._policy)

    def time(
        self, config: LoaderConfig, *, verdict: Verdict, purpose: str, plan: PassPlan
    ) -> Reading | Failure:
        """Take one reading of a config whose data is right."""
        order, logs = self._order(
            "timed", config, count_path=verdict.count_path, purpose=purpose, plan=plan
        )
        answer = self._run(order, logs)
        if isinstance(answer, Failure):
            return answer
        return reading_of(answer, order, plan, self._reference.scope)

    def weigh(self, config: LoaderConfig, *, examples: int) -> MemoryReading | Failure:
        """Measure memory; to the end of two epochs where `examples` is above 0."""
        order, logs = self._order("memory", config, examples=examples)
        answer = self._run(order, logs)
        return answer if isinstance(answer, Failure) else memory_of(answer)

    def probe(
        self, config: LoaderConfig, *, places: Sequence[int] | None
    ) -> Failure | None:
        """Return why two epochs do not come to their end; None where they do.

        Args:
            config: settings of the loader.
            places: of the scope's list, in their order, that an epoch reads; None: all.
        """
        order, logs = self._order(
            "probe",
            config,
            examples=self._reference.scope.examples,
            places=None if places is None else tuple(places),
        )
        answer = self._run(order, logs)
        return answer if isinstance(answer, Failure) else None

    def ceiling(
        self, config: LoaderConfig, *, plan: PassPlan
    ) -> CeilingReading | Failure:
        """Take a reading of the config's loader over examples that are free."""
        order, logs = self._order("ceiling", config, plan=plan)
        answer = self._run(order, logs)
        return answer if isinstance(answer, Failure) else ceiling_of(answer)

    def _order(
        self, kind: str, config: LoaderConfig, *, examples: int = 0, **others: Any
    ) -> tuple[PassOrder, Path]:
        self._number += 1
        name = f"{self._number:04d}-{kind}"
        logs, tmp = self._folder / name, self._tmp / f"{self._number}"
        with refusals_named(self._folder.parent):
            self._folder.mkdir(mode=0o700, exist_ok=True)  # somebody may tidy up
            logs.mkdir(mode=0o700)
            tmp.mkdir(parents=True, mode=0o700)
        order = PassOrder(
            kind=kind,
            config=config,
            logs=str(logs),
            tmp=str(tmp),
            reference=self._reference.folder,
            examples=examples,
            in_process=self.isolation == "fresh",
            **others,
        )
        return order, logs

    def _run(self, order: PassOrder, logs: Path) -> dict[str, Any] | Failure:
        """Run one pass and clean up after it."""
        self._on_pass(order)
        self._watch = SharedMemoryWatch()
        with refusals_named(self._folder.parent):
            board = StageBoard.create(logs / "stage")
        killed, failed = kernel_kills(), True
        try:
            answer = self._ask(order, logs, board)
            failed = isinstance(answer, Failure)
            if isinstance(answer, Failure):
                named = named_by_kernel(answer, before=killed, now=kernel_kills())
                return explained(named, logs)
            return answer
        finally:
            board.close()
            self._end_trial(patience_s=0.5, is_over=not failed)
            if order.in_process:
                self._keeper.drop()
            remove_folder(Path(order.tmp))
            self._watch.sweep()
            if not failed:
                with contextlib.suppress(FileNotFoundError):
                    tidy(logs)

    def _ask(
        self, order: PassOrder, logs: Path, board: StageBoard
    ) -> dict[str, Any] | Failure:
        host = self._keeper.open(order, self._folder, self._tmp)
        if isinstance(host, Failure):
            return host
        if self.isolation == "fresh" and not order.in_process:
            self._keeper.drop()
            return self._retry_fresh(order, logs, board)
        patience = patience_with(
            order.config,
            self._reference.facts,
            hang_after_s=self._policy.hang_after_s,
            least_s=self._stall_s,
        )
        guard = MemoryGuard(self._memory_bytes, host_pid=host.pid)
        host.order({"order": order.to_dict(), "board": str(logs / "stage")})
        result: dict[str, Any] | Failure | None = None
        try:
            while True:
                try:
                    message = host.answer(
                        board,
                        patience=patience,
                        on_tick=self._on_tick,
                        too_large=guard.over,
                    )
                except UsageError as exc:
                    self._end_at_once()
                    return guard.unread(exc, phase=order.kind, logs=logs)
                match message["event"]:
                    case "started":
                        self._trial_pid = guard.trial_pid = message["pid"]
                        self._book.note(message["pid"])
                    case "result":
                        result = message
                    case "failed":
                        result = Failure.from_dict(message["failure"])
                    case "error":
                        self._keeper.drop()
                        raise error_of(message)
                    case "exited":
                        self._keeper.note_unsafe(message["unsafe"])
                        if message["unsafe"] is not None:
                            self._keeper.drop()  # it is not untouched any more
                        return result or death(message["code"], order, logs, board)
                    case other:
                        msg = f"a host answered {other!r} to a pass"
                        raise ProtocolError(msg)
                if order.in_process and result is not None:
                    return result
        except ChildDied as exc:
            self._keeper.drop()
            return result or death(exc.code, order, logs, board, who="host")
        except ChildHung as exc:
            return self._hung(exc, order, logs, host_pid=host.pid)
        except ChildTooLarge as exc:
            self._end_at_once()
            return guard.failure(exc.taken_bytes, phase=order.kind, logs=logs)

    def _retry_fresh(
        self, order: PassOrder, logs: Path, board: StageBoard
    ) -> dict[str, Any] | Failure:
        """Run the pass in a fresh process: the host says that it cannot fork."""
        fresh = PassOrder.from_dict({**order.to_dict(), "in_process": True})
        try:
            return self._ask(fresh, logs, board)
        finally:
            self._keeper.drop()

    def _hung(
        self, exc: ChildHung, order: PassOrder, logs: Path, *, host_pid: int
    ) -> Failure:
        if isinstance(exc, ChildStopped):
            who = who_is(exc.process, trial_pid=self._trial_pid, host_pid=host_pid)
            self._end_at_once()
            return stopped(exc, order, logs, who=who)
        if self._trial_pid is not None:
            ask_for_stacks(self._trial_pid, logs / "stderr.txt")
            self._end_trial(patience_s=0.5)
        self._keeper.drop()
        return hung(exc, order, logs)

    def _end_at_once(self) -> None:
        """End trial and host without asking them: they take what others need."""
        self._end_trial(patience_s=0.0)
        self._keeper.drop()

    def _end_trial(self, *, patience_s: float, is_over: bool = False) -> None:
        """End what is left of a trial; what is being written then is remembered.

        Args:
            patience_s: time to end by itself, once it is asked.
            is_over: whether it came to its end: nothing is half written then.
        """
        if self._trial_pid is None:
            return
        if not is_over:
            own = (str(self._tmp), str(self._folder.parent))
            note_unfinished(self._trial_pid, self._folder, own=own)
        end_session(self._trial_pid, patience_s=patience_s)
        self._trial_pid = None

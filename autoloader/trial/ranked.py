"""Run passes of several ranks side by side: the `TrialRunner` of `--ranks N`.

Each rank has a host, trials and workers of its own, and a thread here that looks after
them for as long as the runner lives: the kernel ends a child with the thread that began
it. All ranks begin a pass together; where one of them fails, the others are ended.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Self, TypeVar

from autoloader.audit.ledger import ScopeList
from autoloader.audit.ranks import Dealt, Union, merged_verdict, union_of
from autoloader.errors import AutoloaderError
from autoloader.trial.aftercare import remove_folder
from autoloader.trial.child import TICK_S
from autoloader.trial.merging import (
    is_aftermath,
    merged_failure,
    merged_memory,
    merged_reading,
)
from autoloader.trial.rank_process import RankProcess
from autoloader.trial.rank_streams import verdict_on_ranks
from autoloader.values.gate import GatePolicy
from autoloader.values.outcome import Failure
from autoloader.values.ranks import LOOPBACK, RankPlace, share_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from autoloader.child.stages import Stage
    from autoloader.trial.child import Tick
    from autoloader.values.ceiling import CeilingReading
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import PassPlan, Reference
    from autoloader.values.outcome import MemoryReading, Reading, Verdict
    from autoloader.values.scope import SourceSpec

CAUSE_S = 10.0
"""Time that the rank which is at fault has to fail as well, where another one only
misses it."""

T = TypeVar("T")


class _EndedError(Exception):
    """The pass of a rank is not wanted any more: another one failed."""


class RankedRunner:
    """Runs gate, timed and memory passes of several ranks of one dataset.

    Args:
        source: the user's SPEC.
        reference: what is right for all ranks together, and for each.
        folder: where each rank has a folder for logs and ledgers.
        tmp: short path under which each rank has its temporary folders.
        policy: what refuses a config, and when it counts as hung.
        memory_bytes: what all ranks together may take; None: no limit.
        on_tick: told stage and count of the rank that is behind.
        others: as `ProcessRunner` takes them.
    """

    def __init__(
        self,
        source: SourceSpec,
        reference: Reference,
        *,
        folder: Path,
        tmp: Path,
        policy: GatePolicy | None = None,
        memory_bytes: int | None = None,
        on_tick: Tick | None = None,
        **others: Any,
    ) -> None:
        self._reference = reference
        self._policy = policy or GatePolicy()
        self._tmp = tmp
        self._on_tick = on_tick
        self._passes = 0
        self._ended = threading.Event()
        count = len(reference.of_ranks)
        self._stands: list[tuple[Stage, int] | None] = [None] * count
        port = free_port()
        self._ranks = [
            RankProcess(
                source,
                own,
                place=RankPlace(rank=rank, ranks=count, port=port),
                folder=folder / f"rank-{rank}",
                tmp=tmp / f"r{rank}",
                policy=self._policy,
                memory_bytes=None if memory_bytes is None else memory_bytes // count,
                on_tick=self._tick_of(rank),
                **others,
            )
            for rank, own in enumerate(reference.of_ranks)
        ]
        self._threads = [
            ThreadPoolExecutor(1, thread_name_prefix=f"rank-{rank}")
            for rank in range(count)
        ]

    def __enter__(self) -> Self:
        """Return the runner; nothing is started before the first pass."""
        return self

    def __exit__(self, *_exc: object) -> None:
        """End all ranks, whatever happened."""
        self.close()

    def close(self) -> None:
        """End all ranks; safe to call at any moment and twice."""
        self._ended.set()
        for thread in self._threads:
            thread.shutdown(wait=True)
        for rank in self._ranks:
            rank.close()
        remove_folder(self._tmp)

    @property
    def isolation(self) -> str:
        """How the next pass's processes are made: `fork` or `fresh`."""
        return "fork" if self.why_fresh is None else "fresh"

    @property
    def start_method(self) -> str:
        """How workers are started: fork, forkserver or spawn."""
        return self._reference.facts.start_method

    @property
    def why_fresh(self) -> str | None:
        """Why passes of a rank get fresh processes; None where all are forked."""
        found = (rank.why_fresh for rank in self._ranks)
        return next((why for why in found if why is not None), None)

    def gate(self, config: LoaderConfig, *, examples: int) -> Verdict | Failure:
        """Compare what all ranks deliver over two epochs with the reference."""
        whole = self._reference.scope
        is_whole = examples >= whole.examples
        each = examples if is_whole else share_of(examples, len(self._ranks))
        if whole.stream is not None:
            return self._gate_stream(config, each)
        found = self._all(lambda rank: rank.gate(config, examples=each))
        if isinstance(found, Failure):
            return found
        union = None
        if all(verdict.passed for verdict in found):
            union = self._union(config)
        return merged_verdict(
            found,
            of=whole.of,
            union=union,
            policy=self._policy,
        )

    def _gate_stream(self, config: LoaderConfig, each: int) -> Verdict | Failure:
        """Compare what ranks deliver together: what each has is the stream's affair."""
        found = self._all(lambda rank: rank.read_gate(config, examples=each))
        if isinstance(found, Failure):
            return found
        verdict = verdict_on_ranks(found, self._reference)
        settled = [rank.settled(verdict) for rank in self._ranks]
        return settled[0]

    def time(
        self, config: LoaderConfig, *, verdict: Verdict, purpose: str, plan: PassPlan
    ) -> Reading | Failure:
        """Take one reading of a config whose data is right, of each rank at once."""
        found = self._all(
            lambda rank: rank.time(config, verdict=verdict, purpose=purpose, plan=plan)
        )
        return found if isinstance(found, Failure) else merged_reading(found)

    def weigh(self, config: LoaderConfig, *, examples: int) -> MemoryReading | Failure:
        """Measure memory of all ranks at once."""
        each = share_of(examples, len(self._ranks))
        found = self._all(lambda rank: rank.weigh(config, examples=each))
        return found if isinstance(found, Failure) else merged_memory(found)

    def ceiling(
        self, config: LoaderConfig, *, plan: PassPlan
    ) -> CeilingReading | Failure:
        """Take a reading over free examples: that of rank 0, with the others beside."""
        found = self._all(lambda rank: rank.ceiling(config, plan=plan))
        return found if isinstance(found, Failure) else found[0]

    def _union(self, config: LoaderConfig) -> Union | None:
        """Return what the ranks delivered together; None of a stream."""
        asked = [item for rank in self._ranks if (item := rank.asked()) is not None]
        if not asked:
            return None
        listed, scope = self._listed(), self._reference.scope
        shares = [item.scope.examples for item in self._reference.of_ranks]
        # of part of an epoch, some of a share may be left for the last batch to fit
        is_whole = [len(item.places) for item in asked] == shares
        is_cut = listed.cuts is None
        return union_of(
            Dealt(
                ids=listed.ids,
                wanted=listed.places,
                given=[item.listed()[0].tolist() for item in asked],
                is_whole=is_whole,
                batch_size=config.batch_size or 1,
                drops_rest=scope.drop_last and is_cut,
                cuts=listed.cuts,
                drops=sum(shares) < scope.examples,
            )
        )

    def _listed(self) -> ScopeList:
        from pathlib import Path

        return ScopeList.read(Path(self._reference.folder))

    def _all(self, run: Callable[[RankProcess], T | Failure]) -> list[T] | Failure:
        """Run a pass of each rank; return what came of each, or what ended one.

        Raises:
            AutoloaderError: a rank's dataset cannot be built, say; it names the rank.
        """
        self._passes += 1
        meeting = self._tmp / f"m{self._passes}"
        meeting.mkdir(parents=True, mode=0o700)
        self._ended.clear()
        futures: dict[Future[T | Failure], int] = {}
        for number, (rank, thread) in enumerate(
            zip(self._ranks, self._threads, strict=True)
        ):
            rank.meeting = str(meeting)
            futures[thread.submit(run, rank)] = number
        try:
            return self._await(futures)
        finally:
            self._end(futures)
            remove_folder(meeting)

    def _await(self, futures: Mapping[Future[T | Failure], int]) -> list[T] | Failure:
        """Wait for all ranks, or for the one that fails."""
        left, found = set(futures), dict[int, T]()
        failures: dict[int, Failure] = {}
        looks = 0
        while left and looks * TICK_S < CAUSE_S:
            done, left = wait(left, timeout=TICK_S, return_when=FIRST_COMPLETED)
            for future in done:
                answer = _answer(future, futures[future])
                if isinstance(answer, Failure):
                    failures[futures[future]] = answer
                else:
                    found[futures[future]] = answer
            if any(not is_aftermath(item) for item in failures.values()):
                break
            looks += bool(failures)
            self._tell()
        if failures:
            return merged_failure(failures)
        return [found[rank] for rank in range(len(self._ranks))]

    def _end(self, futures: Mapping[Future[Any], int]) -> None:
        """End what still runs of a pass, and the hosts that had begun it."""
        self._ended.set()
        for future, number in futures.items():
            with contextlib.suppress(AutoloaderError):  # the first one is told
                try:
                    future.result()
                except _EndedError:
                    rank, thread = self._ranks[number], self._threads[number]
                    thread.submit(rank.abandon).result()

    def _tick_of(self, rank: int) -> Tick:
        """Return what is told of a rank; it ends the pass where another one failed."""

        def tick(stage: Stage, done: int) -> None:
            self._stands[rank] = stage, done
            if self._ended.is_set():
                raise _EndedError

        return tick

    def _tell(self) -> None:
        """Tell where the rank stands that is behind."""
        known = [item for item in self._stands if item is not None]
        if known and self._on_tick is not None:
            self._on_tick(*min(known, key=lambda item: item[1]))


def _answer(future: Future[T | Failure], rank: int) -> T | Failure:
    """Return what a rank brought; an error of it says which rank it is."""
    try:
        return future.result()
    except AutoloaderError as exc:
        exc.put_before(f"rank {rank}")
        raise


def free_port() -> int:
    """Return a port of the loopback that is free now, for groups of the user's own."""
    with socket.socket() as found:
        found.bind((LOOPBACK, 0))
        port: int = found.getsockname()[1]
    return port

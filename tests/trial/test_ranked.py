"""Ranks run side by side: one verdict, one reading, and one failure that ends all."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autoloader.audit.expectation import Expectation
from autoloader.audit.ledger import ScopeList
from autoloader.child.stages import Stage
from autoloader.errors import DatasetError
from autoloader.trial import ranked
from autoloader.trial.ranked import RankedRunner, free_port
from autoloader.values.config import LoaderConfig
from autoloader.values.job import PassPlan, Reference
from autoloader.values.outcome import Failure, MemoryReading, Reading, Verdict
from autoloader.values.ranks import scope_of_rank
from autoloader.values.scope import SourceSpec
from tests.fakes import a_scope, some_facts

CONFIG = LoaderConfig.canonical(num_workers=0, batch_size=2)

PLAN = PassPlan(warm_batches=0, steady_batches=1, tail_batches=0)

RIGHT = Verdict(passed=True, examples=5, of=5, epochs=2, compared="rows")

READING = Reading(
    purpose="race",
    num_workers=0,
    kept=False,
    arrivals_s=(1.0,),
    counts=(2,),
    warm_batches=0,
    steady_batches=1,
    total_s=1.0,
    epoch_examples=None,
)

MEMORY = MemoryReading(
    full_queue_bytes=100, epoch_end_bytes=(), queued_bytes=0, queue_was_full=True
)

CRASHED = Failure(kind="crashed", phase="timed", message="it was killed by SIGKILL")

MISSED = replace(CRASHED, kind="worker_exception", exception="RankLost")


class FakeRank:
    """A rank whose passes are functions of the test's."""

    def __init__(
        self, source: Any, reference: Any, *, place: Any, on_tick: Any, **others: Any
    ) -> None:
        self.rank = place.rank
        self.tick = on_tick
        self.memory_bytes = others["memory_bytes"]
        self.meeting: str | None = None
        self.why_fresh: str | None = None
        self.met: list[str | None] = []
        self.is_abandoned = self.is_closed = False
        self.act: Callable[[FakeRank], Any] = lambda _: READING
        self.wanted: list[int] = []
        self.most = 5

    def gate(self, config: LoaderConfig, *, examples: int) -> Any:
        """Note how much is asked for."""
        self.wanted.append(examples)
        return self.act(self)

    def time(self, config: LoaderConfig, **_others: Any) -> Any:
        """Note where the ranks meet."""
        self.met.append(self.meeting)
        return self.act(self)

    def weigh(self, config: LoaderConfig, *, examples: int) -> Any:
        """Note how much is asked for."""
        self.wanted.append(examples)
        return self.act(self)

    def asked(self) -> Expectation:
        """Return every second place, from its own number on."""
        return Expectation(
            ids=range(10),
            places=range(self.rank, 10, 2)[: self.most],
            epochs=2,
            batch_size=2,
            drop_last=False,
            of=5,
            num_workers=0,
        )

    def wait_for_end(self) -> None:
        """Go on until the pass is ended."""
        while True:
            self.tick(Stage.LOADING, 1)
            threading.Event().wait(0.01)

    def abandon(self) -> None:
        """Note it."""
        self.is_abandoned = True

    def close(self) -> None:
        """Note it."""
        self.is_closed = True


@contextmanager
def runner(
    folder: Path, monkeypatch: pytest.MonkeyPatch, **others: Any
) -> Iterator[tuple[RankedRunner, list[FakeRank]]]:
    """Give a runner of two ranks over ten examples, and the ranks."""
    made: list[FakeRank] = []

    def make(*args: Any, **kwargs: Any) -> FakeRank:
        made.append(FakeRank(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(ranked, "RankProcess", make)
    ScopeList.of(range(10)).write(folder)
    scope = replace(a_scope(10), distinct=10, of=10)
    whole = Reference(facts=some_facts(), scope=scope, folder=str(folder), seconds=1.0)
    share = scope_of_rank(scope, 2, examples=5, distinct=5)
    reference = replace(whole, of_ranks=(replace(whole, scope=share),) * 2)
    found = RankedRunner(
        SourceSpec(spec="data.py:train"),
        reference,
        folder=folder / "trials",
        tmp=folder / "tmp",
        **others,
    )
    with found:
        yield found, made


def timed(found: RankedRunner) -> Reading | Failure:
    """Take a reading of all ranks."""
    return found.time(CONFIG, verdict=RIGHT, purpose="race", plan=PLAN)


def test_readings_of_all_ranks_are_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They meet in the same folder, another one each time, which is gone then."""
    with runner(tmp_path, monkeypatch) as (found, ranks):
        reading = timed(found)
        timed(found)

    assert reading == replace(READING, others=(READING,))
    assert ranks[0].met == ranks[1].met
    assert len(set(ranks[0].met)) == 2
    assert not any(Path(str(place)).exists() for place in ranks[0].met)
    assert all(rank.is_closed for rank in ranks)


def test_each_rank_is_gated_on_its_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it where all is asked for; memory is shared, and adds up."""
    with runner(tmp_path, monkeypatch, memory_bytes=1000) as (found, ranks):
        for rank in ranks:
            rank.act = lambda _: RIGHT
        verdict = found.gate(CONFIG, examples=10)
        found.gate(CONFIG, examples=5)
        for rank in ranks:
            rank.act = lambda _: MEMORY
        memory = found.weigh(CONFIG, examples=0)

    assert isinstance(verdict, Verdict)
    assert (verdict.passed, verdict.examples, verdict.of) == (True, 10, 10)
    assert ranks[0].wanted == [10, 3, 0]
    assert ranks[0].memory_bytes == 500
    assert isinstance(memory, MemoryReading)
    assert memory.peak_bytes == 200


def test_what_ranks_were_not_asked_for_is_not_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a part of an epoch a share is read but for what spoils its last batch."""
    with runner(tmp_path, monkeypatch) as (found, ranks):
        for rank in ranks:
            rank.act, rank.most = lambda _: RIGHT, 4
        verdict = found.gate(CONFIG, examples=10)

    assert isinstance(verdict, Verdict)
    assert (verdict.passed, verdict.examples, verdict.of) == (True, 8, 10)
    assert verdict.cautions == ()


def test_a_rank_that_fails_ends_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, and it is named; the next pass begins with new hosts."""
    with runner(tmp_path, monkeypatch) as (found, ranks):
        ranks[0].act = FakeRank.wait_for_end
        ranks[1].act = lambda _: CRASHED
        failure = timed(found)
        ranks[0].act = ranks[1].act = lambda _: READING
        again = timed(found)

    assert failure == replace(
        CRASHED, rank=1, message="rank 1: it was killed by SIGKILL"
    )
    assert (ranks[0].is_abandoned, ranks[1].is_abandoned) == (True, False)
    assert isinstance(again, Reading)


def test_a_rank_that_only_misses_another_one_waits_for_its_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is told first, the cause is."""
    told = threading.Event()

    def miss(_: FakeRank) -> Failure:
        told.set()
        return MISSED

    def crash(_: FakeRank) -> Failure:
        told.wait(30)
        return CRASHED

    with runner(tmp_path, monkeypatch) as (found, ranks):
        ranks[0].act, ranks[1].act = miss, crash
        failure = timed(found)

    assert isinstance(failure, Failure)
    assert (failure.kind, failure.rank) == ("crashed", 1)


def test_an_error_of_one_rank_says_which_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its dataset cannot be built, say; the other one is ended."""

    def fail(_: FakeRank) -> None:
        msg = "the dataset fails in one process: no file"
        raise DatasetError(msg, hint="look")

    with runner(tmp_path, monkeypatch) as (found, ranks):
        ranks[0].act = FakeRank.wait_for_end
        ranks[1].act = fail
        with pytest.raises(DatasetError) as caught:
            timed(found)

    assert caught.value.message == "rank 1: the dataset fails in one process: no file"
    assert str(caught.value) == caught.value.message
    assert caught.value.hint == "look"
    assert ranks[0].is_abandoned


def test_progress_is_that_of_the_rank_which_is_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told from the thread that asked."""
    seen: list[tuple[Stage, int, int]] = []
    done = threading.Event()

    def note(stage: Stage, count: int) -> None:
        seen.append((stage, count, threading.get_ident()))
        done.set()

    def read(rank: FakeRank) -> Reading:
        rank.tick(Stage.LOADING, 7 - rank.rank)
        done.wait(30)
        return READING

    with runner(tmp_path, monkeypatch, on_tick=note) as (found, ranks):
        ranks[0].act = ranks[1].act = read
        timed(found)

    assert {item[2] for item in seen} == {threading.get_ident()}
    assert seen[-1][:2] == (Stage.LOADING, 6)


def test_one_rank_that_cannot_be_forked_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then passes of all are called fresh."""
    with runner(tmp_path, monkeypatch) as (found, ranks):
        before = (found.isolation, found.why_fresh)
        ranks[1].why_fresh = "the dataset started threads"
        after = (found.isolation, found.why_fresh)

    assert before == ("fork", None)
    assert after == ("fresh", "the dataset started threads")
    assert found.start_method == some_facts().start_method


def test_a_free_port_is_one_of_the_loopback() -> None:
    """For a group of the user's own."""
    assert 0 < free_port() < 65_536

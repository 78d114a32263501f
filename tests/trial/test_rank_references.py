"""What each rank has to read: dealt out of a list, or read alone of a stream."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autoloader.audit.ledger import ReferenceLedger, ScopeList
from autoloader.audit.reference_files import rank_folder, read_references
from autoloader.child.sharing import write_shares
from autoloader.errors import DatasetError
from autoloader.trial import rank_references
from autoloader.trial.rank_references import read_reference, runner_of
from autoloader.trial.ranked import RankedRunner
from autoloader.trial.runner import ProcessRunner
from autoloader.values.job import Reference, ReferenceOrder, scope_of_one
from autoloader.values.ranks import RankPlace
from autoloader.values.scope import ScopeRequest, SourceSpec, StreamFacts
from tests.fakes import a_scope, some_facts

SOURCE = SourceSpec(spec="data.py:train")

Reading = Callable[[ReferenceOrder, RankPlace | None], range]
"""Tells which numbers a process reads."""


def order(folder: Path, ranks: int = 2, **request: Any) -> ReferenceOrder:
    """Return what is asked for."""
    folder.mkdir(exist_ok=True)
    return ReferenceOrder(
        source=SOURCE,
        request=ScopeRequest(**request),
        folder=str(folder),
        ranks=ranks,
        profiled=True,
    )


def written(asked: ReferenceOrder, numbers: range, stream: bool) -> Reference:
    """Return the reference of these numbers, its list and ledgers written."""
    folder, count = Path(asked.folder), len(numbers)
    listed = ScopeList.of(list(numbers))
    listed.write(folder)
    if asked.ranks > 1 and not stream:
        write_shares(folder, listed, asked.ranks, drops=False)
    digests = np.array(numbers, np.uint64)
    kinds = np.zeros(count, np.int64)
    ReferenceLedger(digests, digests, kinds, ["[]"]).write(folder)
    facts = StreamFacts(
        is_complete=asked.request.examples in {None, "all"},
        keeps_order=True,
        needs_worker=False,
        declared=None,
    )
    scope = replace(
        a_scope(count), distinct=count, of=count, stream=facts if stream else None
    )
    return Reference(facts=some_facts(), scope=scope, folder=asked.folder, seconds=1.0)


def reading(
    monkeypatch: pytest.MonkeyPatch, reads: Reading, *, stream: bool
) -> list[tuple[ReferenceOrder, RankPlace | None]]:
    """Have processes read what `reads` says; return what each was asked."""
    asked: list[tuple[ReferenceOrder, RankPlace | None]] = []

    def read(
        order: ReferenceOrder, *, place: RankPlace | None = None, **_others: Any
    ) -> Reference:
        asked.append((order, place))
        return written(order, reads(order, place), stream)

    monkeypatch.setattr(rank_references, "read_alone", read)
    return asked


def by_rank(_order: ReferenceOrder, place: RankPlace | None) -> range:
    """Return the numbers below eleven that a rank has."""
    assert place is not None
    return range(place.rank, 11, place.ranks)


def test_one_training_process_has_no_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read as it always was, in the environment that it always had."""
    asked = reading(monkeypatch, lambda *_: range(11), stream=False)

    found = read_reference(order(tmp_path / "r", ranks=1), logs=tmp_path, tmp=tmp_path)

    assert found.of_ranks == ()
    assert scope_of_one(found) == found.scope
    assert [place for _, place in asked] == [None]


def test_a_list_is_dealt_out_and_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ledgers are those of all; the process that reads is told that it is alone."""
    asked = reading(monkeypatch, by_rank, stream=False)

    found = read_reference(order(tmp_path / "r"), logs=tmp_path, tmp=tmp_path)

    (place,) = [place for _, place in asked]
    assert place is not None
    assert (place.rank, place.ranks) == (0, 1)
    lists = [ScopeList.read(Path(own.folder)) for own in found.of_ranks]
    ids = [item.indices(range(len(item.places))) for item in lists]
    assert ids == [[0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9, 0]]
    assert [own.scope.examples for own in found.of_ranks] == [6, 6]
    assert [own.scope.distinct for own in found.of_ranks] == [6, 6]
    assert scope_of_one(found) == found.of_ranks[0].scope
    ledger = read_references(Path(found.of_ranks[1].folder), epochs_differ=False)[0]
    assert ledger.fixed.tolist() == list(range(11))


def test_a_stream_is_read_alone_by_each_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To its end, where the whole has one, and once more when it is asked again."""
    asked = reading(monkeypatch, by_rank, stream=True)
    wanted = order(tmp_path / "r", epoch_examples=11)

    read_reference(wanted, logs=tmp_path, tmp=tmp_path)
    found = read_reference(wanted, logs=tmp_path, tmp=tmp_path)

    places = [place for _, place in asked[:3] if place is not None]
    assert [(item.rank, item.ranks) for item in places] == [(0, 1), (0, 2), (1, 2)]
    share = asked[1][0]
    assert share.folder == str(rank_folder(tmp_path / "r", 0))
    assert (share.ranks, share.profiled) == (1, False)
    assert (share.request.examples, share.request.epoch_examples) == ("all", 6)
    assert [own.scope.examples for own in found.of_ranks] == [6, 5]


def test_of_a_stream_that_is_cut_each_rank_reads_its_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many examples as come to it."""
    asked = reading(monkeypatch, by_rank, stream=True)

    read_reference(order(tmp_path / "r", examples=11), logs=tmp_path, tmp=tmp_path)

    assert [item.request.examples for item, _ in asked] == [11, 6, 6]


def test_a_stream_that_ranks_read_alike_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to do."""
    reading(monkeypatch, lambda *_: range(11), stream=True)

    with pytest.raises(DatasetError) as caught:
        read_reference(order(tmp_path / "r"), logs=tmp_path, tmp=tmp_path)

    assert caught.value.message == (
        "repeated_ids: the stream is not shared among ranks: each of 2 reads the same "
        "11 examples"
    )
    assert "autoloader help ranks" in (caught.value.hint or "")


def test_a_share_that_cannot_be_read_says_whose_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole could be."""

    def fail(asked: ReferenceOrder, place: RankPlace | None) -> range:
        if place is not None and place.rank == 1:
            msg = "the dataset fails in one process: no file"
            raise DatasetError(msg)
        return by_rank(asked, place)

    reading(monkeypatch, fail, stream=True)

    with pytest.raises(DatasetError) as caught:
        read_reference(order(tmp_path / "r"), logs=tmp_path, tmp=tmp_path)

    assert caught.value.message == "rank 1: the dataset fails in one process: no file"


def test_the_reference_says_what_runs_its_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process, or all ranks at once."""
    reading(monkeypatch, by_rank, stream=False)
    whole = read_reference(order(tmp_path / "r"), logs=tmp_path, tmp=tmp_path)
    alone = replace(whole, of_ranks=())
    places = {"folder": tmp_path / "trials", "tmp": tmp_path / "t"}

    with runner_of(SOURCE, whole, **places) as ranked:
        pass
    with runner_of(SOURCE, alone, **places) as single:
        pass

    assert isinstance(ranked, RankedRunner)
    assert isinstance(single, ProcessRunner)

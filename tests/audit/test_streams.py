"""What the gate says of honest and of lying streams, by their ledgers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from autoloader.audit.ledger import ReferenceLedger
from autoloader.audit.streams import StreamExpectation, judge_stream
from autoloader.values.outcome import Finding, Verdict
from tests.audit.ledgers import SIGNATURE, Batch, Row, codes, ledger_of

AS_DOUBLE = SIGNATURE.replace("float32", "float64")
AS_ROW = SIGNATURE.replace("[3]", "[1, 3]")
WITH_MORE = SIGNATURE[:-1] + ', ["2", "int", null, []]]'

Shares = Sequence[Sequence[int]]


def ledger(numbers: Sequence[int]) -> ReferenceLedger:
    """Return the ledger of one process's reading."""
    count = len(numbers)
    fixed = np.array(numbers, np.uint64)
    return ReferenceLedger(
        fixed, fixed, np.zeros(count, np.int64), [SIGNATURE] if count else []
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A stream of numbers, and how a pass reads it."""

    read: Sequence[int] = range(40)
    """What one process read."""
    is_complete: bool = True
    keeps_order: bool = True
    num_workers: int = 2
    batch_size: int = 4
    drop_last: bool = False
    ranks: int = 1
    was_cut: bool = False
    in_order: bool = False
    epochs: int = 2
    declared: int | None = None
    shares: Shares | None = None
    """What one process reads as each worker."""
    ids: Sequence[Any] | None = None
    moved_offsets: tuple[str, ...] = ()
    has_ids: bool = False
    """Whether the user named an id: the number's last three digits."""

    def split(self, numbers: Sequence[int] | None = None) -> list[Sequence[int]]:
        """Return the numbers dealt in turns to the workers."""
        dealt = self.read if numbers is None else numbers
        workers = max(1, self.num_workers)
        return [dealt[worker::workers] for worker in range(workers)]

    def deliver(self, shares: Shares, *, epoch: int = 0) -> list[Batch]:
        """Return the batches of an epoch in which each worker reads its numbers."""
        size = self.batch_size
        made: list[list[Batch]] = []
        for worker, numbers in enumerate(shares):
            rows = [row(number, at % size) for at, number in enumerate(numbers)]
            lists = [rows[at : at + size] for at in range(0, len(rows), size)]
            if self.drop_last and lists and len(lists[-1]) < size:
                lists.pop()
            made.append(
                [
                    Batch(
                        epoch=epoch,
                        batch=turn * len(shares) + worker,
                        rows=tuple(part),
                        worker=worker if self.num_workers else -1,
                    )
                    for turn, part in enumerate(lists)
                ]
            )
        turns = zip_longest(*made)
        return [batch for turn in turns for batch in turn if batch is not None]

    def passes(self, shares: Shares) -> list[Batch]:
        """Return all epochs, each the same."""
        return [
            batch
            for epoch in range(self.epochs)
            for batch in self.deliver(shares, epoch=epoch)
        ]

    def judge(self, batches: Sequence[Batch]) -> Verdict:
        """Return the verdict on what arrived."""
        shares = None
        if self.shares is not None:
            shares = {number: ledger(share) for number, share in enumerate(self.shares)}
        ids = [f"e{place}" for place in range(len(self.read))]
        expected = StreamExpectation(
            ids=ids if self.ids is None else self.ids,
            is_complete=self.is_complete,
            keeps_order=self.keeps_order,
            epochs=self.epochs,
            batch_size=self.batch_size,
            drop_last=self.drop_last,
            ranks=self.ranks,
            num_workers=self.num_workers,
            was_cut=self.was_cut,
            declared=self.declared,
            shares=shares,
            moved_offsets=self.moved_offsets,
            in_order=self.in_order,
        )
        reference, arrived = ledger(self.read), ledger_of(batches)
        if self.has_ids:
            reference = replace(reference, id=ids_of(reference.fixed))
            arrived = replace(arrived, id=ids_of(arrived.fixed))
        return judge_stream(
            reference,
            arrived,
            expected,
            count_path=(0,),
            batch_bytes=48,
        )

    def judge_passes(self, shares: Shares) -> Verdict:
        """Return the verdict where each worker reads its numbers in each epoch."""
        return self.judge(self.passes(shares))


def row(number: int, slot: int, signature: str = SIGNATURE) -> Row:
    """Return the row of a number; 1005 has the label of 5, 2005 has its own."""
    label = number - 1000 if 1000 <= number < 2000 else number
    return Row(slot=slot, fixed=number, label=label, signature=signature)


def ids_of(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return digests of the numbers' ids: 5, 1005 and 2005 have the same."""
    return numbers % np.uint64(1000) + np.uint64(1)


def cut(**values: Any) -> Stream:
    """Return an endless stream of which 40 were read, and as many by each worker."""
    shares = values.pop("shares", [range(0, 80, 2), range(1, 80, 2)])
    return replace(
        Stream(is_complete=False, was_cut=True, shares=shares, ids=range(40)), **values
    )


def codes_of(cautions: Sequence[Finding]) -> list[str]:
    """Return the codes of some cautions."""
    return [caution.code for caution in cautions]


PLAIN = Stream()
CUT = cut()


# Complete streams


@pytest.mark.parametrize(
    "stream",
    [
        PLAIN,
        Stream(num_workers=0),
        Stream(num_workers=1),
        Stream(num_workers=3, epochs=1),
        Stream(read=range(41), batch_size=8),
        Stream(read=range(1), num_workers=1),
        Stream(keeps_order=False),
    ],
)
def test_an_honest_stream_passes(stream: Stream) -> None:
    """Nothing is found, and nothing is worth a caution."""
    verdict = stream.judge_passes(stream.split())

    assert verdict.passed
    assert (verdict.findings, verdict.cautions) == ((), ())
    assert (verdict.examples, verdict.of) == (len(stream.read), len(stream.read))
    assert (verdict.epochs, verdict.compared) == (stream.epochs, "rows")
    assert (verdict.count_path, verdict.batch_bytes) == ((0,), 48)


@settings(max_examples=60)
@given(
    workers=st.integers(1, 5),
    size=st.integers(1, 9),
    count=st.integers(5, 60),
    seed=st.integers(0, 2**16),
)
def test_neither_order_nor_split_is_ever_accused(
    workers: int, size: int, count: int, seed: int
) -> None:
    """Any example may come from any worker, in any batch and any row of it."""
    rng = Random(seed)  # noqa: S311  # an order, no secret
    stream = Stream(read=range(count), num_workers=workers, batch_size=size)
    batches = []
    for epoch in range(stream.epochs):
        numbers = list(stream.read)
        rng.shuffle(numbers)
        shares: list[list[int]] = [[] for _ in range(workers)]
        for number in numbers:
            rng.choice(shares).append(number)
        made = stream.deliver(shares, epoch=epoch)
        rng.shuffle(made)
        batches += made

    verdict = stream.judge(batches)

    assert verdict.passed, verdict.findings


@settings(max_examples=60)
@given(
    fault=st.sampled_from(["missing_ids", "repeated_ids", "foreign_ids"]),
    at=st.integers(0, 39),
    epoch=st.integers(0, 1),
    workers=st.integers(0, 3),
    keeps_order=st.booleans(),
)
def test_one_fault_is_refused_with_its_id(
    fault: str, at: int, epoch: int, workers: int, keeps_order: bool
) -> None:
    """One deletion, duplication or alteration, wherever it is."""
    stream = Stream(num_workers=workers, keeps_order=keeps_order)
    numbers = list(stream.read)
    match fault:
        case "missing_ids":
            del numbers[at]
        case "repeated_ids":
            numbers.append(at)
        case _:
            numbers[at] = 999
    batches = [
        batch
        for number in range(stream.epochs)
        for batch in stream.deliver(
            stream.split(numbers if number == epoch else None), epoch=number
        )
    ]

    verdict = stream.judge(batches)

    assert not verdict.passed
    assert {finding.epoch for finding in verdict.findings} == {epoch}
    found = codes(verdict)
    if fault == "foreign_ids":
        assert found.keys() == {"missing_ids", "foreign_ids"}
        assert found["missing_ids"] == (f"e{at}",)
    else:
        assert found == {fault: (f"e{at}",)}


def test_a_row_of_foreign_content_is_named_by_its_place() -> None:
    """It has no id: its batch and row are told."""
    numbers = [*range(38), 77, 78]

    verdict = PLAIN.judge_passes(PLAIN.split(numbers))

    assert codes(verdict)["foreign_ids"] == ("batch 8, row 3", "batch 9, row 3")


# Complete streams of which the user named an id

NAMED = Stream(has_ids=True)


@settings(max_examples=60)
@given(
    code=st.sampled_from(["content_mismatch", "label_mismatch"]),
    at=st.integers(0, 39),
    epoch=st.integers(0, 1),
    workers=st.integers(0, 3),
    keeps_order=st.booleans(),
)
def test_other_content_under_its_id_is_named_as_that(
    code: str, at: int, epoch: int, workers: int, keeps_order: bool
) -> None:
    """It is neither missing nor foreign, wherever it is."""
    stream = replace(NAMED, num_workers=workers, keeps_order=keeps_order)
    numbers = list(stream.read)
    numbers[at] += 1000 if code == "content_mismatch" else 2000
    batches = [
        batch
        for number in range(stream.epochs)
        for batch in stream.deliver(
            stream.split(numbers if number == epoch else None), epoch=number
        )
    ]

    verdict = stream.judge(batches)

    (finding,) = verdict.findings
    assert (finding.code, finding.ids, finding.epoch) == (code, (f"e{at}",), epoch)


@pytest.mark.parametrize(
    ("signature", "code"),
    [
        (AS_DOUBLE, "dtype_mismatch"),
        (AS_ROW, "shape_mismatch"),
        (WITH_MORE, "field_missing"),
    ],
)
@pytest.mark.parametrize("number", [5, 1005])
@pytest.mark.parametrize("label", [0, 5])
def test_another_form_under_its_id_is_named_as_that(
    signature: str, code: str, number: int, label: int
) -> None:
    """Whether its values are right or not, and where the label is what lacks."""
    wrong = replace(row(number, 2, signature), label=label)
    spoilt = [
        batch.with_rows(*(wrong if one.fixed == 5 else one for one in batch.rows))
        for batch in NAMED.passes(NAMED.split())
    ]

    verdict = NAMED.judge(spoilt)

    assert codes(verdict) == {code: ("e5",)}


def test_what_stands_for_no_missing_example_is_foreign_and_has_its_id() -> None:
    """Example 5 came right and wrong; 77 is the id of none."""
    stream = replace(NAMED, num_workers=1)

    verdict = stream.judge_passes([[*range(40), 1005, 77]])

    assert codes(verdict) == {"foreign_ids": ("e5", "batch 10, row 1")}


def test_only_one_row_stands_for_a_missing_example() -> None:
    """The other one is too much."""
    stream = replace(NAMED, num_workers=1)

    verdict = stream.judge_passes([[1005, 1005, *(n for n in range(40) if n != 5)]])

    assert codes(verdict) == {"content_mismatch": ("e5",), "foreign_ids": ("e5",)}


def test_known_content_stands_for_itself_alone() -> None:
    """Two examples may have one id; the first came twice."""
    stream = replace(NAMED, read=[*range(39), 1005])

    verdict = stream.judge_passes(stream.split([*range(39), 5]))

    assert codes(verdict) == {"missing_ids": ("e39",), "repeated_ids": ("e5",)}


def test_a_pass_that_was_cut_names_other_content_as_well() -> None:
    """Its shares are compared, and lack nothing."""
    stream = replace(NAMED, was_cut=True, shares=NAMED.split())

    verdict = stream.judge_passes([[0, 2, 1004, 6, 8, 10, 12, 14], range(1, 17, 2)])

    assert codes(verdict) == {"content_mismatch": ("e4",)}


def test_an_example_without_an_id_stands_for_none() -> None:
    """The field lacks in the reference and in what arrived; 0 is no id."""
    reference = ledger(range(4))
    arrived = ledger_of([Batch(epoch=0, batch=0, rows=(row(1000, 0),))])
    expected = StreamExpectation(
        ids=range(4),
        is_complete=True,
        keeps_order=True,
        epochs=1,
        batch_size=4,
        drop_last=False,
        num_workers=0,
        was_cut=False,
        declared=None,
    )

    verdict = judge_stream(
        replace(reference, id=np.zeros(4, np.uint64)),
        replace(arrived, id=np.zeros(1, np.uint64)),
        expected,
    )

    found = {"missing_ids": (0, 1, 2, 3), "foreign_ids": ("batch 0, row 0",)}
    assert codes(verdict) == found


@settings(max_examples=80)
@given(
    numbers=st.lists(
        st.builds(int.__add__, st.integers(0, 15), st.sampled_from([0, 1000, 2000])),
        max_size=24,
    ),
    workers=st.integers(0, 3),
    drop_last=st.booleans(),
    was_cut=st.booleans(),
)
def test_an_id_changes_what_a_fault_is_called_and_never_whether_there_is_one(
    numbers: list[int], workers: int, drop_last: bool, was_cut: bool
) -> None:
    """Whatever came for 16 examples."""
    stream = Stream(
        read=range(16), num_workers=workers, drop_last=drop_last, was_cut=was_cut
    )
    batches = stream.passes(stream.split(numbers))

    plain = stream.judge(batches)
    named = replace(stream, has_ids=True).judge(batches)

    assert named.passed == plain.passed
    assert (named.examples, named.cautions) == (plain.examples, plain.cautions)
    right = [code for code in codes(plain) if code == "repeated_ids"]
    assert [code for code in codes(named) if code == "repeated_ids"] == right


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_a_stream_that_is_not_split_repeats_every_example(workers: int) -> None:
    """Each worker reads its own full copy."""
    stream = Stream(num_workers=workers)

    verdict = stream.judge_passes([stream.read] * workers)

    (finding,) = verdict.findings
    assert (finding.code, finding.count) == ("repeated_ids", 40)
    assert finding.ids == tuple(f"e{place}" for place in range(10))
    assert finding.message.startswith("40 examples arrived more often than asked for")
    assert finding.hint == (
        "usual cause: each worker reads the whole stream; split it in __iter__ by "
        "torch.utils.data.get_worker_info()"
    )
    assert verdict.examples == 40


def test_a_remainder_that_no_worker_takes_is_missing() -> None:
    """41 by 4 is 10, four times."""
    stream = Stream(read=range(41), num_workers=4)

    verdict = stream.judge_passes([range(n * 10, n * 10 + 10) for n in range(4)])

    assert codes(verdict) == {"missing_ids": ("e40",)}
    assert verdict.findings[0].hint == (
        "usual cause: workers share the stream by whole division, skip part of it, or "
        "each drop a last batch"
    )


def test_nothing_at_all_is_everything_missing() -> None:
    """No batch arrived."""
    verdict = PLAIN.judge([])

    (finding,) = verdict.findings
    assert (finding.code, finding.count) == ("missing_ids", 40)
    assert verdict.examples == 0


def test_a_second_epoch_that_is_empty_is_refused() -> None:
    """Kept workers went on where they were."""
    verdict = PLAIN.judge(PLAIN.deliver(PLAIN.split()))

    (finding,) = verdict.findings
    assert (finding.code, finding.count, finding.epoch) == ("missing_ids", 40, 1)


def test_drop_last_leaves_out_exactly_the_rest() -> None:
    """Two of 42 in batches of four, whichever they are."""
    stream = Stream(read=range(42), drop_last=True, num_workers=1)

    assert stream.judge_passes([range(42)]).passed
    assert stream.judge_passes([range(41, -1, -1)]).passed


def test_drop_last_excuses_not_one_example_more() -> None:
    """A batch that is not there is no rest."""
    stream = Stream(read=range(42), drop_last=True, num_workers=1)

    verdict = stream.judge_passes([range(38)])

    (finding,) = verdict.findings
    assert (finding.code, finding.count) == ("missing_ids", 6)


def test_each_rank_may_leave_out_a_last_batch() -> None:
    """Two ranks with 21 each leave out one, or 18 and 23: two and three."""
    stream = Stream(read=range(42), drop_last=True, ranks=2)

    fair = stream.judge_passes([range(21), range(21, 42)])
    uneven = stream.judge_passes([range(18), range(18, 41)])
    lost = stream.judge_passes([range(16), range(16, 35)])

    assert fair.passed
    assert uneven.passed
    assert [(item.code, item.count) for item in lost.findings] == [("missing_ids", 10)]


def test_drop_last_excuses_no_row_that_collate_left_out() -> None:
    """Three are missing, two were to be dropped."""
    stream = Stream(read=range(42), drop_last=True, num_workers=1)
    first, *others = stream.passes([range(42)])

    verdict = stream.judge([first.with_rows(*first.rows[1:]), *others])

    assert codes(verdict) == {"missing_ids": ("e0", "e40", "e41")}


def test_each_worker_dropping_a_batch_is_refused() -> None:
    """25 each are less than 64, all together are not."""
    stream = Stream(read=range(100), batch_size=64, drop_last=True, num_workers=4)

    verdict = stream.judge_passes(stream.split())

    (finding,) = verdict.findings
    assert (finding.code, finding.count) == ("missing_ids", 100)


def test_a_stream_of_less_than_one_batch_leaves_nothing() -> None:
    """One process drops it all as well; nothing was compared then."""
    stream = Stream(read=range(3), drop_last=True)

    verdict = stream.judge_passes(stream.split())

    assert codes(verdict) == {"missing_ids": ("e0", "e1", "e2")}
    assert verdict.findings[0].message == (
        "drop_last leaves nothing: 3 examples make no whole batch of 4"
    )


def test_equal_examples_are_counted_and_none_of_them_is_blamed() -> None:
    """Which of the three is gone cannot be told."""
    stream = Stream(read=[*range(37), 5, 5, 5])

    verdict = stream.judge_passes(stream.split([*range(37), 5, 5]))

    assert codes(verdict) == {"missing_ids": ("1 of 4 like e5",)}


def test_a_lost_example_is_counted_where_all_are_equal() -> None:
    """All fields are random: there is a count, and a caution."""
    stream = Stream(read=[7] * 40)

    honest = stream.judge_passes(stream.split())
    verdict = stream.judge_passes(stream.split([7] * 39))

    assert honest.passed
    (caution,) = honest.cautions
    assert (caution.code, caution.count) == ("weak_identity", 39)
    assert caution.message == "only 1 of 40 examples can be told apart"
    assert codes(verdict) == {"missing_ids": ("1 of 40 like e0",)}


# The same values in another form


@pytest.mark.parametrize(
    ("signature", "code"),
    [
        (AS_DOUBLE, "dtype_mismatch"),
        (AS_ROW, "shape_mismatch"),
        (WITH_MORE, "field_missing"),
    ],
)
def test_the_same_values_in_another_form_are_refused_by_id(
    signature: str, code: str
) -> None:
    """Values are digested without their dtype; the form is judged as well."""

    def reform(batch: Batch) -> Batch:
        rows = [replace(it, signature=signature) for it in batch.rows if it.fixed == 5]
        others = [it for it in batch.rows if it.fixed != 5]
        return replace(batch, rows=(*others, *rows))

    verdict = PLAIN.judge([reform(batch) for batch in PLAIN.passes(PLAIN.split())])

    assert codes(verdict) == {code: ("e5",)}


@pytest.mark.parametrize("stream", [PLAIN, CUT, cut(keeps_order=False, shares=None)])
def test_another_dtype_with_other_bytes_is_refused_in_every_stream(
    stream: Stream,
) -> None:
    """Cut and shuffled ones too: the reference has no such dtype anywhere."""
    batches = [
        replace(
            batch,
            rows=tuple(row(it.fixed + 900, it.slot, AS_DOUBLE) for it in batch.rows),
        )
        for batch in stream.passes(stream.split())
    ]

    verdict = stream.judge(batches)

    assert "dtype_mismatch" in codes(verdict)


def test_another_shape_beyond_the_cut_is_not_accused() -> None:
    """Texts and images vary in size; so may those that nobody has read."""
    stream = cut(keeps_order=False, shares=None)
    batches = [
        replace(
            batch,
            rows=tuple(row(it.fixed + 900, it.slot, AS_ROW) for it in batch.rows),
        )
        for batch in stream.passes(stream.split())
    ]

    assert stream.judge(batches).passed


# What collate_fn and the way back did


def test_a_row_that_is_not_its_example_is_refused_by_id() -> None:
    """A collate_fn that changes one row."""
    batches = PLAIN.passes(PLAIN.split())
    first = batches[0]
    rows = (replace(first.rows[0], altered=1), *first.rows[1:])

    verdict = PLAIN.judge([replace(first, rows=rows), *batches[1:]])

    assert codes(verdict) == {"collate_mismatch": ("e0",)}
    assert verdict.compared == "examples"


def test_a_batch_that_was_changed_on_its_way_is_refused() -> None:
    """A buffer that is used again before its batch was sent."""
    batches = PLAIN.passes(PLAIN.split())

    verdict = PLAIN.judge([replace(batches[0], intact=False), *batches[1:]])

    assert codes(verdict) == {"collate_mismatch": ("e0", "e2", "e4", "e6")}


def test_a_shared_offset_refuses_from_two_workers_on() -> None:
    """With one worker it is a caution, in one process it is nothing."""
    found = {}
    for workers in (0, 1, 2):
        stream = Stream(num_workers=workers, moved_offsets=("shard.tar",))
        verdict = stream.judge_passes(stream.split())
        found[workers] = (list(codes(verdict)), codes_of(verdict.cautions))

    assert found == {
        0: ([], []),
        1: ([], ["shared_file_offset"]),
        2: (["shared_file_offset"], []),
    }


# Cautions


@pytest.mark.parametrize(
    ("declared", "is_complete", "message"),
    [
        (40, True, None),
        (50, True, "len() says 50, one pass has 40 examples"),
        (15, True, "len() says 15, one pass has 40 examples"),
        (15, False, "len() says 15, one pass has at least 40 examples"),
        (50, False, None),
    ],
)
def test_a_wrong_length_is_a_caution(
    declared: int, is_complete: bool, message: str | None
) -> None:
    """Unless more may come after the cut."""
    stream = replace(PLAIN if is_complete else CUT, declared=declared)

    verdict = stream.judge_passes(stream.split())

    assert verdict.passed
    assert [caution.message for caution in verdict.cautions] == (
        [message] if message else []
    )


def test_idle_workers_are_a_caution() -> None:
    """There are fewer shards than workers."""
    stream = Stream(num_workers=4)

    verdict = stream.judge_passes([range(20), range(20, 40), (), ()])

    assert verdict.passed
    (caution,) = verdict.cautions
    assert (caution.code, caution.count) == ("idle_workers", 2)


def test_one_worker_that_serves_all_is_a_caution() -> None:
    """There is one shard."""
    verdict = PLAIN.judge_passes([range(40), ()])

    assert verdict.passed
    (caution,) = verdict.cautions
    assert (caution.code, caution.count) == ("one_worker_serves_all", 1)
    assert caution.message == "all examples came from one of 2 workers"


def test_a_cut_before_all_had_their_turn_says_nothing_of_idle_workers() -> None:
    """Two batches cannot come from four workers."""
    stream = cut(num_workers=4, shares=[range(n, 160, 4) for n in range(4)])

    verdict = stream.judge_passes([range(0, 16, 4), range(1, 17, 4), (), ()])

    assert verdict.passed
    assert verdict.cautions == ()


# Cut streams


@pytest.mark.parametrize(
    "stream",
    [
        CUT,
        replace(CUT, in_order=True),
        cut(shares=[range(40), range(1000, 1040)]),
        cut(num_workers=1, shares=[range(40)]),
        cut(num_workers=0, shares=None),
        cut(num_workers=3, shares=[range(n, 120, 3) for n in range(3)]),
        replace(CUT, drop_last=True),
        replace(CUT, is_complete=True, read=range(200), ids=range(200)),
    ],
)
@pytest.mark.parametrize("batches", [1, 3, 5])
def test_honest_shares_of_a_cut_stream_pass(stream: Stream, batches: int) -> None:
    """Whatever lies beyond the cut is not accused."""
    shares = stream.shares or [stream.read]

    verdict = stream.judge_passes([share[: batches * 4] for share in shares])

    assert verdict.passed, verdict.findings
    assert verdict.examples == batches * 4 * len(shares)
    assert codes_of(verdict.cautions) in ([], ["one_worker_serves_all"])


@settings(max_examples=60)
@given(st.integers(1, 4), st.integers(1, 9), st.integers(0, 12), st.data())
def test_no_cut_accuses_an_honest_stream(
    workers: int, size: int, batches: int, data: st.DataObject
) -> None:
    """Workers of any pace; rows in any order within a batch."""
    read = range(60)
    stream = Stream(
        read=read,
        is_complete=False,
        was_cut=True,
        num_workers=workers,
        batch_size=size,
        epochs=1,
        shares=[range(n, 60 * workers, workers) for n in range(workers)],
    )
    paces = data.draw(
        st.lists(st.integers(0, batches), min_size=workers, max_size=workers)
    )
    delivered = stream.deliver(
        [
            range(n, n + size * pace * workers, workers)[: 60 // size * size]
            for n, pace in enumerate(paces)
        ]
    )
    mixed = [
        replace(batch, rows=tuple(data.draw(st.permutations(batch.rows))))
        for batch in delivered
    ]

    verdict = stream.judge(mixed)

    assert verdict.passed, verdict.findings


def test_a_worker_that_serves_all_may_go_beyond_its_reading() -> None:
    """The last batch of 8 ends at 40; the share was read to 38."""
    stream = cut(batch_size=8, shares=[range(38), ()], read=range(38), ids=range(38))

    assert stream.judge_passes([range(40), ()]).passed


def test_an_endless_stream_that_is_not_split_is_refused() -> None:
    """Both workers begin at its start; so do their shares."""
    stream = cut(shares=[range(40)] * 2)

    verdict = stream.judge_passes([range(20)] * 2)

    (finding,) = verdict.findings
    assert (finding.code, finding.count) == ("repeated_ids", 20)


def test_an_endless_shuffled_stream_that_is_not_split_is_refused() -> None:
    """No order is needed to see the same examples twice."""
    stream = cut(keeps_order=False, shares=None)
    rng = Random(0)  # noqa: S311  # an order, no secret
    orders = [rng.sample(range(40), 20) for _ in range(2)]

    verdict = stream.judge_passes([orders[0], list(reversed(orders[0]))])

    assert verdict.findings[0].code == "repeated_ids"


def test_a_shuffled_stream_that_draws_parts_of_itself_again_is_not_accused() -> None:
    """Whole shards are drawn with replacement: repeats come in rows."""
    rng = Random(1)  # noqa: S311  # draws, no secret

    def drawn(shards: int) -> list[int]:
        return [rng.randrange(25) * 4 + at for _ in range(shards) for at in range(4)]

    stream = cut(read=drawn(37), ids=range(148), keeps_order=False, shares=None)

    verdict = stream.judge_passes([drawn(19), drawn(19)])

    assert verdict.passed
    assert codes_of(verdict.cautions) == ["weak_identity"]


def test_an_endless_cycle_that_is_not_split_is_refused() -> None:
    """Its reference repeats itself as well."""
    cycle = [number % 33 for number in range(120)]
    stream = cut(read=cycle, ids=range(120), shares=[cycle] * 2)

    verdict = stream.judge_passes([cycle[:60]] * 2)

    assert verdict.findings[0].code == "repeated_ids"


def test_an_endless_cycle_that_is_split_passes_with_a_caution() -> None:
    """It is not told apart beyond its first round."""
    cycle = [number % 33 for number in range(120)]
    shares = [[number % 33 for number in range(n, 240, 2)] for n in range(2)]
    stream = cut(read=cycle, ids=range(120), shares=shares)

    verdict = stream.judge_passes([share[:60] for share in shares])

    assert verdict.passed
    assert codes_of(verdict.cautions) == ["weak_identity"]


def test_shares_that_overlap_are_refused() -> None:
    """The second worker begins before the first one's part ends."""
    shares = [range(40), range(10, 50)]
    stream = cut(shares=shares)

    verdict = stream.judge_passes([share[:20] for share in shares])

    assert codes(verdict) == {"repeated_ids": tuple(range(10, 20))}


def test_few_repeats_before_a_cut_are_a_caution() -> None:
    """They may be equal examples that lie apart in the stream."""
    shares = [list(range(0, 80, 2)), [1, 3, 4, *range(7, 80, 2)]]
    stream = cut(shares=shares)

    verdict = stream.judge_passes([share[:20] for share in shares])

    assert "repeated_ids" not in codes(verdict)
    (caution,) = verdict.cautions
    assert (caution.code, caution.count) == ("weak_identity", 1)
    assert caution.message == "1 example came more than once before the stream was cut"


@settings(max_examples=40)
@given(
    st.integers(0, 30),
    st.integers(0, 1),
    st.integers(0, 1),
    st.sampled_from([0, 1, 2]),
    st.booleans(),
)
def test_a_worker_that_skips_one_of_its_share_is_refused_with_the_id(
    lost: int, worker: int, epoch: int, workers: int, is_complete: bool
) -> None:
    """And nothing else is."""
    stream = replace(cut(num_workers=workers), is_complete=is_complete)
    if is_complete:
        stream = replace(stream, read=range(80), ids=range(80))
    if workers < 2:
        worker = 0
        stream = replace(stream, shares=[range(80)] if workers else None)
        stream = replace(stream, read=range(80), ids=range(80))
    shares = list(stream.shares or [stream.read])
    spoilt = [list(share) for share in shares]
    gone = spoilt[worker].pop(lost)
    batches = [
        batch
        for number in range(2)
        for batch in stream.deliver(
            [list(part)[:36] for part in (spoilt if number == epoch else shares)],
            epoch=number,
        )
    ]

    verdict = stream.judge(batches)

    name = gone if gone < len(stream.read) else f"worker {worker}, example {lost}"
    assert codes(verdict) == {"missing_ids": (name,)}
    assert verdict.findings[0].epoch == epoch


def test_a_worker_that_repeats_one_of_its_share_is_refused_with_the_id() -> None:
    """One repeat is enough where the share tells what is right."""
    verdict = CUT.judge_passes([[0, 2, 2, 4, 6, 8, 10, 12], range(1, 17, 2)])

    assert codes(verdict) == {"repeated_ids": (2,)}


def test_a_worker_that_alters_one_of_its_share_is_refused_with_the_id() -> None:
    """What it was is named, and where what it became is."""
    verdict = CUT.judge_passes([[0, 2, 999, 6, 8, 10, 12, 14], range(1, 17, 2)])

    assert codes(verdict) == {"missing_ids": (4,), "foreign_ids": ("batch 0, row 2",)}


def test_shares_that_lose_what_lies_between_them_are_refused() -> None:
    """The stream was split twice: each worker reads half of its half."""
    shares = [range(0, 160, 4), range(3, 163, 4)]
    stream = cut(shares=shares)

    verdict = stream.judge_passes([share[:20] for share in shares])

    assert codes(verdict)["missing_ids"][:4] == (5, 6, 9, 10)


def test_examples_that_cannot_be_told_apart_lie_between_nothing() -> None:
    """101 to 105 are rare labels; the third one has yet to come."""
    labels = [number % 8 for number in range(36)]
    read = [*labels[:20], 101, 102, 103, 104, 105, *labels[20:]]
    shares = [[*labels, 101, 104, *labels], [*labels, 102, 105, *labels]]
    stream = cut(read=read, ids=range(41), shares=shares)

    verdict = stream.judge_passes([share[:36] for share in shares])

    assert verdict.passed, verdict.findings
    assert codes_of(verdict.cautions) == ["weak_identity"]


def test_more_than_a_share_has_is_refused() -> None:
    """The second one was read to its end."""
    stream = cut(shares=[range(0, 80, 2), range(1, 17, 2)])

    verdict = stream.judge_passes([range(0, 40, 2), [*range(1, 17, 2), 77]])

    assert codes(verdict) == {"foreign_ids": ("batch 5, row 0",)}


def test_shares_are_not_asked_where_no_order_is_kept() -> None:
    """They were read in another one."""
    shares = [list(reversed(range(80)))] * 2

    stream = cut(keeps_order=False, shares=shares)

    assert stream.judge_passes([range(0, 40, 2), range(1, 40, 2)]).passed


def test_workers_in_turns_may_be_one_batch_apart() -> None:
    """It was cut between them."""
    stream = replace(CUT, in_order=True)

    assert stream.judge_passes([range(0, 24, 2), range(1, 17, 2)]).passed


def test_workers_that_end_before_what_one_process_read_are_refused() -> None:
    """Nobody cut them."""
    stream = replace(CUT, was_cut=False)

    verdict = stream.judge_passes([range(0, 20, 2), range(1, 20, 2)])

    (finding,) = verdict.findings
    assert finding.code == "missing_ids"
    assert set(finding.ids) <= set(range(20, 40))


def test_workers_that_deliver_nothing_of_a_long_stream_are_refused() -> None:
    """Although nothing that arrived was wrong."""
    verdict = replace(CUT, was_cut=False).judge([])

    assert codes(verdict)["missing_ids"] == tuple(range(10))


def test_a_shuffled_stream_that_ends_before_what_was_read_is_refused() -> None:
    """All of that had to come before its end."""
    stream = cut(keeps_order=False, shares=None, was_cut=False)

    verdict = stream.judge_passes([range(0, 30, 2), range(1, 30, 2)])

    assert codes(verdict) == {"missing_ids": tuple(range(30, 40))}


def test_drop_last_excuses_the_rest_of_a_stream_whose_end_was_not_read() -> None:
    """Less than a batch, as one process drops."""
    stream = replace(CUT, was_cut=False, drop_last=True)
    few = [range(0, 41, 2), range(1, 41, 2)]
    many = [range(0, 45, 2), range(1, 45, 2)]

    assert replace(stream, shares=few).judge_passes(few).passed
    verdict = replace(stream, shares=many).judge_passes(many)

    (finding,) = verdict.findings
    assert (finding.code, finding.count) == ("missing_ids", 5)


def test_a_worker_that_shows_its_end_too_early_is_refused() -> None:
    """A short batch is a worker's last."""
    verdict = CUT.judge_passes([range(0, 80, 2), range(1, 13, 2)])

    assert "missing_ids" in codes(verdict)


def test_a_worker_that_stays_behind_in_turns_is_refused() -> None:
    """Batches come in turns from all that have any."""
    shares = [range(0, 80, 2), range(1, 9, 2)]

    assert CUT.judge_passes(shares).passed
    verdict = replace(CUT, in_order=True).judge_passes(shares)

    assert codes(verdict)["missing_ids"][:2] == (9, 11)


def test_a_second_epoch_shorter_than_the_cut_is_refused() -> None:
    """Kept workers had less left than they had before; nobody cut them."""
    batches = [
        *CUT.deliver([range(0, 40, 2), range(1, 40, 2)]),
        *CUT.deliver([range(0, 8, 2), range(1, 8, 2)], epoch=1),
    ]

    verdict = CUT.judge(batches)

    assert {finding.epoch for finding in verdict.findings} == {1}
    assert codes(verdict)["missing_ids"]


def test_a_shuffled_second_epoch_shorter_than_the_cut_is_refused() -> None:
    """What one process read is not all there."""
    stream = cut(keeps_order=False, shares=None)
    batches = [
        *stream.deliver([range(0, 40, 2), range(1, 40, 2)]),
        *stream.deliver([range(0, 30, 2), range(1, 30, 2)], epoch=1),
    ]

    verdict = stream.judge(batches)

    assert codes(verdict) == {"missing_ids": tuple(range(30, 40))}
    assert verdict.findings[0].epoch == 1


def test_kept_workers_that_go_on_in_the_second_epoch_are_refused() -> None:
    """Their share begins anew, so must they."""
    batches = [
        *CUT.deliver([range(0, 40, 2), range(1, 40, 2)]),
        *CUT.deliver([range(40, 80, 2), range(41, 80, 2)], epoch=1),
    ]

    verdict = CUT.judge(batches)

    assert [finding.code for finding in verdict.findings] == ["missing_ids"]
    assert verdict.findings[0].epoch == 1


def test_examples_that_collate_left_out_are_missing_before_a_cut_too() -> None:
    """What it was given had to arrive."""
    batches = CUT.passes([range(0, 16, 2), range(1, 16, 2)])
    last = batches[-1]

    verdict = CUT.judge([*batches[:-1], last.with_rows(*last.rows[:-1])])

    assert codes(verdict) == {"missing_ids": (15,)}


def test_an_endless_pass_over_a_stream_that_was_read_whole_is_refused() -> None:
    """It went on after all had come."""
    stream = replace(PLAIN, was_cut=True)

    verdict = stream.judge_passes([[*range(0, 40, 2)] * 6, [*range(1, 40, 2)] * 6])

    (finding,) = verdict.findings
    assert (finding.code, finding.count) == ("repeated_ids", 40)


def test_more_than_the_whole_stream_has_is_refused_however_weak_its_examples() -> None:
    """All are equal; there are 40, not 60."""
    stream = Stream(read=[7] * 40, was_cut=True)

    verdict = stream.judge_passes([[7] * 32] * 2)

    assert list(codes(verdict)) == ["repeated_ids"]


@settings(max_examples=40)
@given(st.integers(0, 2**16), st.integers(0, 4))
def test_a_shuffled_cut_stream_is_never_accused_for_its_order(
    seed: int, workers: int
) -> None:
    """Nor for examples that the reference did not come to."""
    rng = Random(seed)  # noqa: S311  # an order, no secret
    stream = cut(
        read=rng.sample(range(1000), 40),
        num_workers=workers,
        keeps_order=False,
        shares=None,
    )
    batches = [
        batch
        for epoch in range(2)
        for batch in stream.deliver(
            [rng.sample(part, 12) for part in stream.split(range(1000))],
            epoch=epoch,
        )
    ]

    verdict = stream.judge(batches)

    assert verdict.passed, verdict.findings

"""One verdict on several ranks: what is explained, and what is a fault."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autoloader.audit.ranks import (
    Dealt,
    by_rank,
    judge_stream_shares,
    lost_in_batches,
    merged_verdict,
    union_of,
    with_rank_hints,
)
from autoloader.values.gate import GatePolicy
from autoloader.values.outcome import Finding, Verdict
from tests.fakes import a_scope

RIGHT = Verdict(
    passed=True,
    examples=5,
    of=5,
    epochs=2,
    compared="rows",
    count_path=(0,),
    batch_bytes=100,
)

LOST = Finding(code="missing_ids", count=2, ids=(3, 4), message="2 never arrived: 3, 4")


def dealt(*given: Sequence[int], count: int = 10, **changes: Any) -> Dealt:
    """Return what ranks were given of ten examples with the ids 100 to 109."""
    found: dict[str, Any] = {
        "ids": range(100, 100 + count),
        "wanted": range(count),
        "given": given,
        "is_whole": True,
    }
    return Dealt(**{**found, **changes})


def test_shares_that_make_up_the_scope_are_right() -> None:
    """Ten examples, two ranks, five each."""
    found = union_of(dealt(range(0, 10, 2), range(1, 10, 2)))

    assert (found.examples, found.findings, found.cautions) == (10, (), ())


def test_padding_is_explained_and_counted() -> None:
    """Three ranks have four each of ten: two come twice."""
    found = union_of(dealt([0, 3, 6, 9], [1, 4, 7, 0], [2, 5, 8, 1]))

    assert found.examples == 10
    assert found.findings == ()
    assert found.cautions == (
        Finding(
            code="ranks_padded",
            count=2,
            ids=(100, 101),
            message="DistributedSampler gives 2 examples to two ranks, so that each of "
            "3 has equally many: no fault",
            hint="DistributedSampler(drop_last=True) leaves out what does not go round",
        ),
    )


def test_more_than_padding_came_twice() -> None:
    """Both ranks read all: of ten examples two ranks need no padding."""
    found = union_of(dealt(range(10), range(10)))

    (finding,) = found.findings
    assert (finding.code, finding.count) == ("repeated_ids", 10)
    assert finding.ids == tuple(range(100, 110))
    assert finding.message == (
        "10 examples came to more than one of 2 ranks, where padding explains 0: 100, "
        "101, 102, 103, 104, 105, 106, 107, 108, 109"
    )


def test_an_example_that_no_rank_has_is_missing() -> None:
    """And it is named."""
    found = union_of(dealt(range(0, 10, 2), [1, 3, 5, 7]))

    (finding,) = found.findings
    assert (finding.code, finding.ids) == ("missing_ids", (109,))
    assert finding.message == "1 example came to none of 2 ranks: 109"
    assert found.examples == 9


def test_of_part_of_an_epoch_nothing_is_missing() -> None:
    """The search gates on a part; what came twice is told all the same."""
    found = union_of(dealt([0, 2], [1, 2], is_whole=False))

    assert [item.code for item in found.findings] == ["repeated_ids"]


def test_what_does_not_go_round_is_explained() -> None:
    """Under DistributedSampler's own drop_last, 1 of 10 is in no rank of 3."""
    found = union_of(dealt([0, 3, 6], [1, 4, 7], [2, 5, 8], drops=True))

    (caution,) = found.cautions
    assert (caution.code, caution.count, caution.ids) == ("ranks_left_out", 1, (109,))
    assert caution.message == (
        "in no batch: 1 of 10 examples, which do not fill one in each of 3 ranks, so "
        "that drop_last leaves them out"
    )
    assert found.findings == ()


def test_a_last_batch_of_each_rank_is_explained() -> None:
    """Five each, in batches of two: one of each rank is left out, and no more."""
    left_out = dealt([0, 2, 4, 6], [1, 3, 5, 7], batch_size=2, drops_rest=True)
    too_few = replace(left_out, given=([0, 2, 4, 6], [1, 3]))

    assert [item.code for item in union_of(left_out).cautions] == ["ranks_left_out"]
    assert [item.code for item in union_of(too_few).findings] == ["missing_ids"]


def test_batches_are_dealt_out_whole() -> None:
    """Three batches of 4, 4 and 2 for two ranks: the first one comes twice."""
    found = union_of(
        dealt([0, 1, 2, 3, 8, 9], [4, 5, 6, 7, 0, 1, 2, 3], cuts=[4, 4, 2])
    )

    assert [(item.code, item.count) for item in found.cautions] == [("ranks_padded", 4)]


def test_batches_that_do_not_go_round_may_be_left_out() -> None:
    """Under drop_last of the sampler, the third of three batches."""
    found = union_of(dealt([0, 1, 2, 3], [4, 5, 6, 7], cuts=[4, 4, 2], drops=True))

    assert [(item.code, item.count) for item in found.cautions] == [
        ("ranks_left_out", 2)
    ]


def test_an_id_that_the_sampler_repeats_may_come_as_often() -> None:
    """Sampling with replacement draws 0 twice: two ranks have it, and that is right."""
    found = union_of(dealt([0, 1], [0, 2], wanted=[0, 0, 1, 2], count=3))

    assert (found.examples, found.findings, found.cautions) == (4, (), ())


def test_ranks_that_pass_make_one_verdict() -> None:
    """Of what they delivered together."""
    union = union_of(dealt(range(0, 10, 2), range(1, 10, 2)))
    larger = replace(RIGHT, batch_bytes=200)

    found = merged_verdict([RIGHT, larger], of=10, union=union, policy=GatePolicy())

    assert found == replace(RIGHT, examples=10, of=10, batch_bytes=200)


def test_padding_refuses_nothing_even_when_strict() -> None:
    """It is how PyTorch deals out."""
    union = union_of(dealt([0, 1, 2], [3, 4, 0], count=5))
    strict = GatePolicy(is_strict=True)

    found = merged_verdict([RIGHT, RIGHT], of=5, union=union, policy=strict)

    assert found.passed
    assert [item.code for item in found.cautions] == ["ranks_padded"]


def test_what_the_user_allows_is_a_caution() -> None:
    """Of the union as of each rank."""
    union = union_of(dealt(range(10), range(10)))
    allowed = GatePolicy(allowed=("repeated_ids",))

    refused = merged_verdict([RIGHT, RIGHT], of=10, union=union, policy=GatePolicy())
    noted = merged_verdict([RIGHT, RIGHT], of=10, union=union, policy=allowed)

    assert [item.code for item in refused.findings] == ["repeated_ids"]
    assert noted.passed
    assert [item.code for item in noted.cautions] == ["repeated_ids"]


def test_a_rank_with_a_finding_refuses_all_and_is_named() -> None:
    """The others are right; the batch's count is read where all have it."""
    wrong = replace(RIGHT, passed=False, findings=(LOST,), count_path=(1,))

    found = merged_verdict(
        [RIGHT, RIGHT, wrong], of=10, union=None, policy=GatePolicy()
    )

    assert not found.passed
    assert found.findings == (replace(LOST, message="rank 2: 2 never arrived: 3, 4"),)
    assert found.count_path is None


def test_a_finding_of_several_ranks_is_told_once() -> None:
    """With the count of all, and the words of the first."""
    other = replace(LOST, count=3, ids=(4, 5, 6), message="3 never arrived: 4, 5, 6")

    (found,) = by_rank([[], [LOST], [], [other]])

    assert (found.count, found.ids) == (5, (3, 4, 5, 6))
    assert found.message == "ranks 1, 3: 2 never arrived: 3, 4 (rank 1)"


def shares(*parts: Sequence[int]) -> list[Any]:
    """Return digests of what each rank reads alone."""
    return [np.array(part, np.uint64) for part in parts]


def test_a_stream_of_which_each_rank_has_its_part_is_right() -> None:
    """In whatever order, and of whatever length."""
    (whole,) = shares(range(10))

    found = judge_stream_shares(
        whole, shares([4, 1, 0], range(5, 10), [2, 3]), is_whole=True
    )

    assert found is None


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_stream_that_all_ranks_read_alike_is_not_shared(is_whole: bool) -> None:
    """With or without its end in sight."""
    (whole,) = shares(range(10))

    found = judge_stream_shares(whole, shares(range(6), range(6)), is_whole=is_whole)

    assert found is not None
    assert found.sentence == (
        "repeated_ids: the stream is not shared among ranks: each of 2 reads the same "
        "6 examples"
    )
    assert found.hint == (
        "each rank has to read what no other one does: of all workers of all ranks, "
        "worker get_rank() x workers + get_worker_info().id (`autoloader help ranks`)"
    )


def test_a_stream_whose_examples_are_all_alike_is_counted() -> None:
    """Nothing else tells them apart."""
    (whole,) = shares([7] * 10)

    right = judge_stream_shares(whole, shares([7] * 5, [7] * 5), is_whole=True)
    wrong = judge_stream_shares(whole, shares([7] * 10, [7] * 10), is_whole=True)
    unknown = judge_stream_shares(whole, shares([7] * 5, [7] * 5), is_whole=False)

    assert right is None
    assert unknown is None
    assert wrong is not None
    assert wrong.code == "repeated_ids"


def test_shares_that_overlap_are_refused() -> None:
    """What lies beyond a cut may come once, and no more."""
    (whole,) = shares(range(10))
    overlapping = shares(range(6), range(5, 10))
    beyond = shares([0, 2, 11], [1, 3, 11])

    whole_one = judge_stream_shares(whole, overlapping, is_whole=True)
    cut_one = judge_stream_shares(whole, beyond, is_whole=False)

    said = "1 example came to more than one of 2 ranks"
    assert whole_one is not None
    assert cut_one is not None
    assert (whole_one.code, whole_one.message) == ("repeated_ids", said)
    assert (cut_one.code, cut_one.message) == ("repeated_ids", said)


def test_what_no_rank_reads_is_refused_where_the_end_was_read() -> None:
    """Of a stream that was cut nobody knows."""
    (whole,) = shares(range(10))
    parts = shares([0, 2, 4], [1, 3, 5])

    found = judge_stream_shares(whole, parts, is_whole=True)

    assert found is not None
    assert found.sentence == "missing_ids: 4 examples came to none of 2 ranks"
    assert judge_stream_shares(whole, parts, is_whole=False) is None


def test_what_a_streams_ranks_leave_out_is_told() -> None:
    """Under drop_last, where nothing is wrong and the length is known."""
    scope = replace(a_scope(), drop_last=True, examples=103)
    lacking = replace(RIGHT, examples=96, of=103)
    wrong = replace(lacking, passed=False, findings=(LOST,))

    found = lost_in_batches(lacking, scope, 2)

    assert found is not None
    assert (found.code, found.count) == ("ranks_left_out", 7)
    assert found.message == (
        "in no batch: 7 of 103 examples, which do not fill one in each of 2 ranks, so "
        "that drop_last leaves them out"
    )
    assert lost_in_batches(wrong, scope, 2) is None
    assert lost_in_batches(lacking, replace(scope, drop_last=False), 2) is None
    assert lost_in_batches(replace(lacking, of=None), scope, 2) is None


def test_a_finding_of_shares_says_how_ranks_share() -> None:
    """Others keep their own way out."""
    other = replace(LOST, code="label_mismatch", hint="of its own")
    verdict = replace(RIGHT, passed=False, findings=(LOST, other))

    found = with_rank_hints(verdict)

    assert "get_rank()" in (found.findings[0].hint or "")
    assert found.findings[1] == other

"""Comparing all batches at once finds what comparing each by itself finds."""

import re
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoloader.audit import comparison
from autoloader.audit.alignment import NO_SLOT
from autoloader.audit.comparison import Comparison
from autoloader.audit.ledger import ReferenceLedger
from autoloader.audit.verdict import Expectation, judge
from tests.audit.ledgers import SIGNATURE, Batch, Row, Setting, codes, ledger_of
from tests.audit.moved import honest_batches, moved_expectation
from tests.audit.oracle import plain_findings

SIGNATURES = [
    SIGNATURE,
    SIGNATURE.replace("float32", "float64"),
    '[["1", "int", null, []], ["0", "tensor", "float32", [3]]]',
    "[]",
]

FEW = st.integers(0, 3)


@st.composite
def all_settings(draw: st.DrawFn) -> Setting:
    """Draw examples of few contents, and a list that may repeat them."""
    count = draw(st.integers(1, 9))
    places = st.lists(st.integers(0, count - 1), min_size=1, max_size=14)
    contents = st.lists(FEW, min_size=count, max_size=count)
    return Setting(
        count=count,
        batch_size=draw(st.integers(1, 5)),
        epochs=draw(st.integers(1, 3)),
        num_workers=draw(st.integers(0, 2)),
        drop_last=draw(st.booleans()),
        places=draw(st.none() | places),
        contents=draw(st.none() | contents),
        labels=draw(st.none() | contents),
    )


@st.composite
def spoilt_batches(draw: st.DrawFn, batch: Batch, lists: list[int]) -> Batch:
    """Draw what may have become of a batch: anything that a ledger can hold."""
    epoch, number = batch.epoch, batch.batch
    if draw(st.booleans()):
        epoch = draw(st.integers(-1, 3))
        number = draw(st.integers(-1, len(lists)))
    asked = lists[number] if 0 <= number < len(lists) else 3
    given_ = draw(st.just(asked) | st.integers(0, asked + 2))
    limit = min(asked, given_)
    slots = st.integers(NO_SLOT, limit - 1)
    drawn = st.builds(
        Row,
        slot=slots,
        fixed=st.integers(0, 4) | st.integers(1000, 1005),
        label=st.integers(0, 4) | st.integers(2000, 2005),
        signature=st.sampled_from(SIGNATURES),
        altered=FEW,
    )
    rows = [
        draw(drawn) if row.slot >= limit or draw(st.integers(0, 4)) == 0 else row
        for row in batch.rows
    ]
    rows += draw(st.lists(drawn, max_size=2))
    return replace(
        batch,
        epoch=epoch,
        batch=number,
        rows=tuple(draw(st.permutations(rows))),
        examples=given_,
        converted=draw(st.sampled_from([(), (0,), (0, 1), None])),
        intact=draw(st.integers(0, 3)) > 0,
    )


@st.composite
def passes(draw: st.DrawFn) -> tuple[Setting, Expectation, list[Batch]]:
    """Draw a pass: some of its batches honest, some spoilt, in any order."""
    setting = draw(all_settings())
    expected = setting.expectation()
    if draw(st.booleans()):
        expected = moved_expectation(setting, whole_lists=draw(st.booleans()))
    lengths = [len(part) for part in expected.lists()]
    batches: list[Batch] = [
        batch if draw(st.integers(0, 2)) else draw(spoilt_batches(batch, lengths))
        for batch in honest_batches(setting, expected)
        if draw(st.integers(0, 9))
    ]
    is_again = draw(st.booleans())
    if batches and is_again:
        batches.append(draw(st.sampled_from(batches)))
    order: list[Batch] = draw(st.permutations(batches))
    return setting, expected, order


def other(reference: ReferenceLedger, place: int, by: int) -> ReferenceLedger:
    """Return a reference in which one example has another content."""
    fixed = reference.fixed.copy()
    fixed[place % len(fixed)] += np.uint64(by)
    return replace(reference, fixed=fixed)


@settings(deadline=None, max_examples=400)
@given(
    made=passes(),
    chunk=st.sampled_from([1, 3, 1 << 20]),
    changes=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 1)), max_size=2),
    collated=st.lists(FEW, max_size=1),
)
def test_all_at_once_finds_what_one_by_one_finds(
    made: tuple[Setting, Expectation, list[Batch]],
    chunk: int,
    changes: list[tuple[int, int]],
    collated: list[int],
) -> None:
    """Codes, counts, ids, their order, and epochs."""
    setting, expected, batches = made
    expected = replace(expected, collated_otherwise=tuple(collated))
    references = [setting.reference()]
    references += [other(references[0], place, by) for place, by in changes]
    arrived = ledger_of(batches)

    with mock.patch.object(comparison, "CHUNK_ROWS", chunk):
        verdict = judge(references, arrived, expected)

    own = [
        item for item in verdict.findings if not item.message.startswith("drop_last")
    ]
    assert own == plain_findings(references, arrived, expected)


@given(setting=all_settings(), whole_lists=st.booleans())
def test_an_honest_pass_is_compared_all_at_once(
    setting: Setting, whole_lists: bool
) -> None:
    """In whatever order its epochs read the list: no batch needs a look of its own."""
    expected = moved_expectation(setting, whole_lists=whole_lists)
    arrived = ledger_of(honest_batches(setting, expected))

    with mock.patch.object(Comparison, "_take", side_effect=AssertionError):
        found = Comparison(setting.reference(), arrived, expected).run()

    assert found.findings() == []


def read_anew() -> tuple[Setting, list[ReferenceLedger], list[Batch]]:
    """Return a pass over a dataset of which each epoch reads example 6 otherwise."""
    setting = Setting(epochs=3)
    references = [other(setting.reference(), 6, epoch) for epoch in range(3)]
    batches = []
    for batch in setting.honest():
        rows = tuple(
            replace(row, fixed=row.fixed + batch.epoch) if row.fixed == 1006 else row
            for row in batch.rows
        )
        batches.append(replace(batch, rows=rows))
    return setting, references, batches


def test_each_epoch_is_held_against_a_reference_of_its_own() -> None:
    """A dataset with set_epoch reads other content in each, and passes."""
    setting, references, batches = read_anew()

    verdict = judge(references, ledger_of(batches), setting.expectation())

    assert verdict.passed
    assert verdict.compared == "rows"


def test_the_last_reference_holds_for_all_epochs_after_it() -> None:
    """Of three epochs, two were read: the third must be like the second."""
    setting, references, batches = read_anew()

    verdict = judge(references[:2], ledger_of(batches), setting.expectation())

    (finding,) = verdict.findings
    assert (finding.code, finding.ids, finding.epoch) == (
        "content_mismatch",
        ("e6",),
        2,
    )


def test_content_of_another_epoch_is_refused() -> None:
    """Kept workers that were not told of the new epoch read the old one again."""
    setting, references, _ = read_anew()

    verdict = judge(references, ledger_of(setting.honest()), setting.expectation())

    (finding,) = verdict.findings
    assert (finding.code, finding.ids, finding.epoch) == (
        "content_mismatch",
        ("e6",),
        1,
    )


def test_rows_are_found_by_the_content_of_their_own_epoch() -> None:
    """A collate_fn that lets rows go: the rest is known by what it is then."""
    setting, references, batches = read_anew()
    at = next(
        place
        for place, batch in enumerate(batches)
        if (batch.epoch, batch.batch) == (1, 1)
    )
    left = [replace(row, slot=slot) for slot, row in enumerate(batches[at].rows[1:])]
    batches[at] = batches[at].with_rows(*left, examples=len(left))

    verdict = judge(references, ledger_of(batches), setting.expectation())

    assert codes(verdict) == {"missing_ids": ("e4",)}
    assert verdict.findings[0].epoch == 1


def test_a_reference_in_a_list_is_as_good_as_itself() -> None:
    """One for all epochs."""
    setting = Setting()
    arrived = ledger_of(setting.honest()[1:])
    expected = setting.expectation()

    one = judge(setting.reference(), arrived, expected)
    listed = judge([setting.reference()], arrived, expected)

    assert one == listed


def test_no_reference_is_refused() -> None:
    """Nothing would be right."""
    setting = Setting()

    sentence = "rows are looked up in a reference, and there is none"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        judge([], ledger_of(setting.honest()), setting.expectation())

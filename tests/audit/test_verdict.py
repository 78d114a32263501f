"""What the gate says of honest and of spoilt ledgers."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoloader.audit.alignment import NO_SLOT
from autoloader.audit.verdict import Expectation, judge
from autoloader.values.outcome import Verdict
from tests.audit.ledgers import SIGNATURE, Batch, Row, Setting, codes, ledger_of
from tests.audit.moved import honest_batches, moved_expectation

PLAIN = Setting()


def spoilt(
    change: Callable[[Batch], Batch], *, epoch: int = 0, batch: int = 0
) -> Verdict:
    """Return the verdict on an honest pass with one batch changed."""
    batches = [
        change(item) if (item.epoch, item.batch) == (epoch, batch) else item
        for item in PLAIN.honest()
    ]
    return PLAIN.judge(batches)


def change_row(number: int, **values: Any) -> Callable[[Batch], Batch]:
    """Return what changes one row of a batch."""

    def change(batch: Batch) -> Batch:
        rows = list(batch.rows)
        rows[number] = replace(rows[number], **values)
        return replace(batch, rows=tuple(rows))

    return change


@pytest.mark.parametrize(
    "setting",
    [
        PLAIN,
        Setting(count=1, batch_size=1),
        Setting(count=8, batch_size=4),
        Setting(num_workers=0),
        Setting(epochs=1),
        Setting(ids=list(range(10))),
    ],
)
def test_an_honest_pass_passes(setting: Setting) -> None:
    """Nothing is found, and nothing is worth a caution."""
    verdict = setting.judge(setting.honest())

    assert verdict.passed
    assert (verdict.findings, verdict.cautions) == ((), ())
    assert (verdict.examples, verdict.of) == (setting.count, setting.count)
    assert verdict.epochs == setting.epochs
    assert verdict.compared == "rows"


MOVED = pytest.mark.parametrize("whole_lists", [False, True])


@MOVED
@pytest.mark.parametrize("places", [None, [3, 3, 5, 3, 0, 5, 9, 9, 9, 3]])
def test_epochs_in_orders_of_their_own_pass(
    whole_lists: bool, places: list[int] | None
) -> None:
    """Each batch is held against the list of its epoch."""
    setting = Setting(count=10, batch_size=2, epochs=3, places=places)
    expected = moved_expectation(setting, whole_lists=whole_lists)
    batches = honest_batches(setting, expected)

    verdict = judge(setting.reference(), ledger_of(batches), expected)

    assert (verdict.findings, verdict.cautions) == ((), ())
    assert (verdict.examples, verdict.compared) == (10, "rows")


@MOVED
def test_the_order_of_the_first_epoch_is_wrong_in_the_second(whole_lists: bool) -> None:
    """A kept worker that goes by position delivers what was asked for before."""
    setting = Setting(batch_size=2)
    expected = moved_expectation(setting, whole_lists=whole_lists)

    verdict = judge(setting.reference(), ledger_of(setting.honest()), expected)

    assert not verdict.passed
    assert {finding.epoch for finding in verdict.findings} == {1}


def test_a_fault_of_a_moved_epoch_is_named_by_what_was_asked_for_then() -> None:
    """The id is that of the list of its epoch, whether one by one or all at once."""
    expected = moved_expectation(PLAIN)
    asked = expected.lists(1)[0]
    changed, lost = honest_batches(PLAIN, expected), honest_batches(PLAIN, expected)
    changed[3] = change_row(2, fixed=5)(changed[3])
    del lost[3]

    by_content = judge(PLAIN.reference(), ledger_of(changed), expected)
    by_count = judge(PLAIN.reference(), ledger_of(lost), expected)

    assert asked != expected.lists(0)[0]
    assert codes(by_content) == {"content_mismatch": (f"e{asked[2]}",)}
    assert codes(by_count) == {"missing_ids": tuple(f"e{place}" for place in asked)}


def test_an_order_for_each_epoch_or_none() -> None:
    """What a third epoch reads would not be known."""
    expected = moved_expectation(PLAIN)
    sentence = "an expectation of 3 epochs needs an order for each of them, got 2"

    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        replace(expected, epochs=3)


def test_what_the_timed_pass_needs_is_kept_in_the_verdict() -> None:
    """Count path and batch bytes were seen on the way."""
    verdict = judge(
        PLAIN.reference(),
        ledger_of(PLAIN.honest()),
        PLAIN.expectation(),
        count_path=(0,),
        batch_bytes=48,
    )

    assert (verdict.count_path, verdict.batch_bytes) == ((0,), 48)


def test_drop_last_leaves_out_exactly_the_rest() -> None:
    """Two of ten examples in batches of four are no loss."""
    setting = Setting(drop_last=True)

    verdict = setting.judge(setting.honest())

    assert verdict.passed
    assert (verdict.examples, verdict.of) == (8, 10)


def test_a_batch_that_drop_last_leaves_out_must_not_arrive() -> None:
    """A loader that ignores the setting delivers other data."""
    setting = Setting(drop_last=True)

    verdict = setting.judge(Setting().honest())

    assert codes(verdict) == {"repeated_ids": ("e8", "e9")}


def test_sampling_with_replacement_passes() -> None:
    """Repeats that the sampler asked for are right, in one batch and over several."""
    setting = Setting(places=[3, 3, 5, 3, 0, 5, 9, 9, 9, 3])

    verdict = setting.judge(setting.honest())

    assert verdict.passed


def test_a_repeat_that_was_not_asked_for_is_refused_beside_those_that_were() -> None:
    """Multisets decide: one more of a repeated id is one too many."""
    setting = Setting(places=[3, 3, 5, 6], batch_size=2)
    batches = setting.honest()
    batches[1] = batches[1].with_rows(setting.row(3, 0), setting.row(6, 1))

    verdict = setting.judge(batches)

    assert codes(verdict) == {"label_mismatch": ("e5",)}


def test_batches_in_another_order_pass() -> None:
    """A loader that does not keep order delivers the same data."""
    batches = PLAIN.honest()

    verdict = PLAIN.judge([batches[2], batches[0], batches[1], *batches[:2:-1]])

    assert verdict.passed


def test_rows_in_another_order_pass() -> None:
    """A collate_fn may sort its batch by length."""

    def reverse(batch: Batch) -> Batch:
        return replace(batch, rows=batch.rows[::-1])

    assert spoilt(reverse).passed


def test_examples_read_in_another_order_pass() -> None:
    """A `__getitems__` may read the file front to back."""

    def reread(batch: Batch) -> Batch:
        rows = [
            replace(row, slot=slot) for slot, row in enumerate(reversed(batch.rows))
        ]
        return replace(batch, rows=tuple(rows))

    assert spoilt(reread).passed


def test_a_lost_row_is_refused_with_its_id() -> None:
    """A collate_fn dropped what could not be read."""
    verdict = spoilt(lambda batch: batch.with_rows(*batch.rows[:1], *batch.rows[2:]))

    assert codes(verdict) == {"missing_ids": ("e1",)}
    assert verdict.findings[0].message == "1 example never arrived: id e1"


def test_fewer_examples_than_asked_for_are_aligned_by_content() -> None:
    """A `__getitems__` left one out; the others keep their ids."""

    def forget(batch: Batch) -> Batch:
        left = [row for place, row in enumerate(batch.rows) if place != 1]
        rows = [replace(row, slot=slot) for slot, row in enumerate(left)]
        return batch.with_rows(*rows, examples=3)

    verdict = spoilt(forget)

    assert codes(verdict) == {"missing_ids": ("e1",)}


def test_fewer_examples_with_one_of_them_wrong_name_both() -> None:
    """What was left out is missing, what was changed is no example of the scope."""

    def forget(batch: Batch) -> Batch:
        rows = [replace(batch.rows[0], slot=0), replace(batch.rows[3], slot=1, fixed=7)]
        return batch.with_rows(*rows, examples=2)

    verdict = spoilt(forget)

    assert codes(verdict) == {
        "missing_ids": ("e1", "e2", "e3"),
        "foreign_ids": ("batch 0, row 1",),
    }


def test_more_examples_than_asked_for_are_refused() -> None:
    """A `__getitems__` gave one twice."""

    def repeat(batch: Batch) -> Batch:
        rows = [*batch.rows, replace(batch.rows[2], slot=4)]
        return batch.with_rows(*rows, examples=5)

    verdict = spoilt(repeat)

    assert codes(verdict) == {"repeated_ids": ("e2",)}


def test_a_batch_that_never_arrives_is_missing_whole() -> None:
    """A loader that ends early loses the last batch, in both epochs."""
    batches = [item for item in PLAIN.honest() if item.batch != 2]

    verdict = PLAIN.judge(batches)

    assert codes(verdict) == {"missing_ids": ("e8", "e9")}
    assert verdict.findings[0].count == 2
    assert verdict.findings[0].epoch == 0


def test_a_batch_without_rows_is_missing_whole() -> None:
    """An empty batch is not the one that was asked for."""
    verdict = spoilt(lambda batch: batch.with_rows())

    assert codes(verdict) == {"missing_ids": ("e0", "e1", "e2", "e3")}


def test_nothing_at_all_is_missing_whole() -> None:
    """A loader that yields nothing does not pass for lack of faults."""
    verdict = PLAIN.judge([])

    assert verdict.findings[0].count == 10
    assert verdict.findings[0].ids == tuple(f"e{place}" for place in range(10))


def test_a_batch_that_arrives_twice_is_refused() -> None:
    """The same list was served again."""
    batches = PLAIN.honest()

    verdict = PLAIN.judge([*batches, batches[4]])

    assert codes(verdict) == {"repeated_ids": ("e4", "e5", "e6", "e7")}
    assert verdict.findings[0].epoch == 1


@pytest.mark.parametrize(("epoch", "batch"), [(2, 0), (-1, 0), (0, 3), (0, -1)])
def test_a_batch_that_nobody_asked_for_is_refused(epoch: int, batch: int) -> None:
    """Known content beyond the lists is a repeat."""
    extra = replace(PLAIN.honest()[0], epoch=epoch, batch=batch)

    verdict = PLAIN.judge([*PLAIN.honest(), extra])

    assert codes(verdict) == {"repeated_ids": ("e0", "e1", "e2", "e3")}


def test_a_row_of_no_example_is_foreign() -> None:
    """It has no id, so that its place names it."""

    def add(batch: Batch) -> Batch:
        return batch.with_rows(*batch.rows, Row(slot=NO_SLOT, fixed=7, label=7))

    verdict = spoilt(add, batch=1)

    assert codes(verdict) == {"foreign_ids": ("batch 1, row 4",)}
    assert verdict.findings[0].message == (
        "1 example is no example of the scope: id batch 1, row 4"
    )


def test_a_row_that_collate_repeats_is_repeated() -> None:
    """A row without an example of its own is known by its content."""

    def add(batch: Batch) -> Batch:
        return batch.with_rows(*batch.rows, replace(batch.rows[1], slot=NO_SLOT))

    assert codes(spoilt(add)) == {"repeated_ids": ("e1",)}


def test_a_row_that_stands_for_another_names_both() -> None:
    """One is there twice, the other never arrived, whichever comes first."""

    def overwrite(batch: Batch) -> Batch:
        copy = replace(batch.rows[3], slot=NO_SLOT)
        return batch.with_rows(copy, *batch.rows[2:], examples=4)

    assert codes(spoilt(overwrite)) == {
        "missing_ids": ("e0", "e1"),
        "repeated_ids": ("e3",),
    }


def test_a_row_of_another_batch_is_repeated() -> None:
    """Content is looked for in the whole scope."""

    def swap(batch: Batch) -> Batch:
        foreign = replace(PLAIN.row(9, 0), slot=NO_SLOT)
        return batch.with_rows(*batch.rows[1:], foreign, examples=5)

    assert codes(spoilt(swap)) == {"missing_ids": ("e0",), "repeated_ids": ("e9",)}


def test_a_changed_label_is_refused_with_its_id() -> None:
    """Fixed fields hold the label too; the finding names what matters."""
    verdict = spoilt(change_row(2, label=5, fixed=5))

    assert codes(verdict) == {"label_mismatch": ("e2",)}
    assert verdict.findings[0].message == (
        "1 example has another label than in one process: id e2"
    )


def test_swapped_labels_are_refused_with_both_ids() -> None:
    """All values are there, on the wrong examples."""

    def swap(batch: Batch) -> Batch:
        one, other, *rest = batch.rows
        return batch.with_rows(
            replace(one, label=other.label, fixed=3),
            replace(other, label=one.label, fixed=4),
            *rest,
        )

    assert codes(spoilt(swap)) == {"label_mismatch": ("e0", "e1")}


def test_changed_content_is_refused_with_its_id() -> None:
    """One byte of one example."""
    verdict = spoilt(change_row(3, fixed=5), batch=1)

    assert codes(verdict) == {"content_mismatch": ("e7",)}


@pytest.mark.parametrize(
    ("signature", "found"),
    [
        (SIGNATURE.replace("float32", "float64"), {"dtype_mismatch"}),
        (SIGNATURE.replace('"int"', '"float"'), {"dtype_mismatch"}),
        (SIGNATURE.replace("[3]", "[4]"), {"shape_mismatch"}),
        (
            SIGNATURE.replace("float32", "float64").replace("[3]", "[3, 1]"),
            {"dtype_mismatch", "shape_mismatch"},
        ),
        ('[["0", "tensor", "float32", [3]]]', {"field_missing"}),
        (SIGNATURE.replace('"1"', '"2"'), {"field_missing"}),
        ("[]", {"field_missing"}),
    ],
)
def test_another_make_is_refused_with_its_id(signature: str, found: set[str]) -> None:
    """Dtype, kind, shape and fields are told apart."""
    verdict = spoilt(change_row(1, signature=signature, fixed=5))

    assert codes(verdict) == dict.fromkeys(sorted(found), ("e1",))


def test_fields_in_another_order_are_still_compared() -> None:
    """A signature that says the same otherwise does not hide wrong content."""
    turned = '[["1", "int", null, []], ["0", "tensor", "float32", [3]]]'

    honest = spoilt(change_row(1, signature=turned))
    wrong = spoilt(change_row(1, signature=turned, fixed=5))

    assert honest.passed
    assert codes(wrong) == {"content_mismatch": ("e1",)}


def test_a_fault_of_the_second_epoch_is_dated() -> None:
    """Kept workers go wrong where fresh ones do not."""
    verdict = spoilt(change_row(0, label=5, fixed=5), epoch=1, batch=2)

    assert codes(verdict) == {"label_mismatch": ("e8",)}
    assert verdict.findings[0].epoch == 1


def test_an_example_that_is_wrong_in_both_epochs_counts_once() -> None:
    """The count is of examples, dated by the first epoch."""
    batches = [
        change_row(0, label=5, fixed=5)(item) if item.batch == 1 else item
        for item in PLAIN.honest()
    ]

    (finding,) = PLAIN.judge(batches).findings

    assert (finding.count, finding.ids, finding.epoch) == (1, ("e4",), 0)


def test_at_most_ten_ids_are_named() -> None:
    """The count says how many there are."""
    setting = Setting(count=30, batch_size=30)
    batches = [
        replace(item, rows=tuple(replace(row, label=1, fixed=1) for row in item.rows))
        for item in setting.honest()
    ]

    (finding,) = setting.judge(batches).findings

    assert (finding.count, len(finding.ids)) == (30, 10)
    assert finding.message.endswith(
        "ids e0, e1, e2, e3, e4, e5, e6, e7, e8, e9 and 20 more"
    )


def test_the_gravest_finding_stands_first() -> None:
    """What is lost comes before what is changed."""
    batches = PLAIN.honest()
    batches[0] = change_row(0, fixed=5)(batches[0])
    batches[1] = batches[1].with_rows(*batches[1].rows[1:])

    assert list(codes(PLAIN.judge(batches))) == ["missing_ids", "content_mismatch"]


def test_a_batch_changed_on_its_way_is_refused() -> None:
    """Where no row shows it, all of the batch are under suspicion."""
    verdict = spoilt(lambda batch: replace(batch, intact=False), batch=2)

    assert codes(verdict) == {"collate_mismatch": ("e8", "e9")}


def test_a_batch_changed_on_its_way_names_the_row_that_shows_it() -> None:
    """The others arrived as they were read."""

    def spoil(batch: Batch) -> Batch:
        return replace(change_row(1, altered=1)(batch), intact=False)

    assert codes(spoilt(spoil)) == {"collate_mismatch": ("e1",)}


@pytest.mark.parametrize(("workers", "refused"), [(1, False), (2, True)])
def test_a_shared_file_offset_is_a_fault_with_two_workers_and_a_caution_with_one(
    workers: int, refused: bool
) -> None:
    """One worker has nobody to disturb it."""
    setting = Setting(num_workers=workers, moved_offsets=("a.tar", "b.tar"))

    verdict = setting.judge(setting.honest())

    (finding,) = verdict.findings if refused else verdict.cautions
    assert verdict.passed is not refused
    assert (finding.code, finding.count) == ("shared_file_offset", 2)
    assert finding.message == (
        "workers share the read position of 2 open files: a.tar, b.tar"
    )


def test_an_offset_that_the_training_process_moved_is_no_sign() -> None:
    """Without workers it reads the files itself."""
    setting = Setting(num_workers=0, moved_offsets=("a.tar",))

    verdict = setting.judge(setting.honest())

    assert (verdict.findings, verdict.cautions) == ((), ())


def test_workers_that_make_no_batch_are_a_caution() -> None:
    """There were batches for all."""
    setting = Setting(num_workers=3)
    batches = [replace(item, worker=0) for item in setting.honest()]

    verdict = setting.judge(batches)

    (caution,) = verdict.cautions
    assert verdict.passed
    assert (caution.code, caution.count) == ("idle_workers", 2)
    assert caution.message == "2 of 3 workers made no batch"


def test_fewer_batches_than_workers_leave_nobody_idle_by_fault() -> None:
    """Three batches cannot keep four workers busy."""
    setting = Setting(num_workers=4)

    assert setting.judge(setting.honest()).cautions == ()


def test_a_scope_that_drop_last_leaves_nothing_of_does_not_pass() -> None:
    """No batch is whole, so that nothing was verified."""
    setting = Setting(count=3, batch_size=4, drop_last=True)

    verdict = setting.judge([])

    (finding,) = verdict.findings
    assert verdict.examples == 0
    assert (finding.code, finding.count) == ("missing_ids", 3)
    assert finding.message == (
        "drop_last leaves nothing: 3 examples make no whole batch of 4"
    )
    assert finding.hint == "a smaller batch_size, or a larger scope by --examples"


@pytest.mark.parametrize(
    ("values", "got"),
    [
        ({"places": []}, "0, 2 and 4"),
        ({"epochs": 0}, "10, 0 and 4"),
        ({"batch_size": 0}, "10, 2 and 0"),
    ],
)
def test_nothing_cannot_be_expected(values: dict[str, Any], got: str) -> None:
    """It would always pass."""
    sentence = (
        f"an expectation needs at least one entry, epoch and example a batch, got {got}"
    )

    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        replace(PLAIN.expectation(), **values)


def test_an_epoch_is_cut_as_the_batch_sampler_cuts_it() -> None:
    """The last list is shorter, or left out."""
    expected = PLAIN.expectation()
    dropped: Expectation = replace(expected, drop_last=True)

    assert [list(part) for part in expected.lists()] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9],
    ]
    assert [list(part) for part in dropped.lists()] == [[0, 1, 2, 3], [4, 5, 6, 7]]


SETTINGS = st.builds(
    Setting,
    count=st.integers(2, 14),
    batch_size=st.integers(1, 6),
    epochs=st.integers(1, 3),
    num_workers=st.integers(0, 3),
)


@settings(deadline=None, max_examples=60)
@given(setting=SETTINGS, data=st.data())
def test_no_order_of_batches_and_rows_is_accused(
    setting: Setting, data: st.DataObject
) -> None:
    """Position says nothing."""
    batches = [
        replace(item, rows=tuple(data.draw(st.permutations(item.rows))))
        for item in data.draw(st.permutations(setting.honest()))
    ]

    assert setting.judge(batches).passed


@settings(deadline=None, max_examples=60)
@given(setting=SETTINGS, data=st.data())
def test_examples_of_equal_content_are_never_accused(
    setting: Setting, data: st.DataObject
) -> None:
    """Few distinct contents and labels, and ids that the sampler repeats."""
    few = st.lists(st.integers(0, 2), min_size=setting.count, max_size=setting.count)
    places = st.lists(st.integers(0, setting.count - 1), min_size=1, max_size=20)
    setting = replace(
        setting,
        contents=data.draw(few),
        labels=data.draw(few),
        places=data.draw(places),
    )
    batches = [
        replace(item, rows=tuple(data.draw(st.permutations(item.rows))))
        for item in setting.honest()
    ]

    assert setting.judge(batches).passed


@settings(deadline=None, max_examples=60)
@given(setting=SETTINGS, data=st.data(), is_collate=st.booleans())
def test_any_lost_row_is_refused_with_its_id(
    setting: Setting, data: st.DataObject, is_collate: bool
) -> None:
    """Whether collate_fn dropped it, or it was never given to it."""
    batches = setting.honest()
    at = data.draw(st.integers(0, len(batches) - 1))
    row = data.draw(st.integers(0, len(batches[at].rows) - 1))
    left = [item for place, item in enumerate(batches[at].rows) if place != row]
    if not is_collate:
        left = [replace(item, slot=slot) for slot, item in enumerate(left)]
    lost = setting.expectation().lists()[batches[at].batch][row]
    given_ = len(batches[at].rows) if is_collate else len(left)
    batches[at] = batches[at].with_rows(*left, examples=given_)

    verdict = setting.judge(batches)

    assert codes(verdict) == {"missing_ids": (f"e{lost}",)}
    assert verdict.findings[0].epoch == batches[at].epoch


@settings(deadline=None, max_examples=60)
@given(setting=SETTINGS, data=st.data())
def test_any_doubled_row_is_refused_with_its_id(
    setting: Setting, data: st.DataObject
) -> None:
    """In its own batch, or in another."""
    batches = setting.honest()
    at = data.draw(st.integers(0, len(batches) - 1))
    place = data.draw(st.integers(0, setting.count - 1))
    double = replace(setting.row(place, 0), slot=NO_SLOT)
    batches[at] = batches[at].with_rows(*batches[at].rows, double)

    verdict = setting.judge(batches)

    assert codes(verdict) == {"repeated_ids": (f"e{place}",)}


@settings(deadline=None, max_examples=60)
@given(
    setting=SETTINGS,
    data=st.data(),
    change=st.sampled_from(
        [
            ("content_mismatch", {"fixed": 1}),
            ("label_mismatch", {"label": 1, "fixed": 1}),
            ("dtype_mismatch", {"signature": SIGNATURE.replace("float32", "int8")}),
            ("shape_mismatch", {"signature": SIGNATURE.replace("[3]", "[]")}),
            ("field_missing", {"signature": "[]", "fixed": 1}),
        ]
    ),
)
def test_any_altered_row_is_refused_with_its_id(
    setting: Setting, data: st.DataObject, change: tuple[str, dict[str, Any]]
) -> None:
    """In any batch of any epoch, with its rows in any order."""
    code, values = change
    batches = setting.honest()
    at = data.draw(st.integers(0, len(batches) - 1))
    row = data.draw(st.integers(0, len(batches[at].rows) - 1))
    altered = setting.expectation().lists()[batches[at].batch][row]
    changed = change_row(row, **values)(batches[at])
    shuffled = data.draw(st.permutations(changed.rows))
    batches[at] = replace(changed, rows=tuple(shuffled))

    verdict = setting.judge(batches)

    assert codes(verdict) == {code: (f"e{altered}",)}
    assert verdict.findings[0].epoch == batches[at].epoch

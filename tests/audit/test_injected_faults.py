"""Faults put into honest passes at random are found, by code and id, and no others.

Faults lie in batches of their own, so that each is what it says; what then is wrong is
worked out from the faults alone, beside the code that judges.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from autoloader.audit.alignment import NO_SLOT
from autoloader.audit.ledger import ReferenceLedger
from autoloader.audit.streams import StreamExpectation, judge_stream
from autoloader.values.outcome import Verdict
from tests.audit.ledgers import SIGNATURE, Batch, Row, Setting, ledger_of

FOREIGN = 10**6
"""Digests from here on belong to no example."""

AS_DOUBLE = SIGNATURE.replace("float32", "float64")
AS_ROW = SIGNATURE.replace("[3]", "[1, 3]")


@dataclass(slots=True)
class Wrong:
    """What is wrong with a pass, as far as its faults say."""

    named: dict[tuple[str, int], set[Any]] = field(default_factory=dict)
    """Ids by code and epoch."""
    balance: dict[int, Counter[Any]] = field(default_factory=dict)
    """For each epoch how much more often than asked for an id was delivered."""

    def name(self, code: str, epoch: int, *ids: Any) -> None:
        """Note ids that show a fault."""
        self.named.setdefault((code, epoch), set()).update(ids)

    def count(self, epoch: int, example_id: Any, times: int) -> None:
        """Note that an id was delivered more often, or less."""
        self.balance.setdefault(epoch, Counter())[example_id] += times

    def codes(self) -> dict[str, tuple[int, set[Any]]]:
        """Return first epoch and ids of each code."""
        every = {key: set(ids) for key, ids in self.named.items()}
        for epoch, balance in self.balance.items():
            for example_id, times in balance.items():
                if times:
                    code = "missing_ids" if times < 0 else "repeated_ids"
                    every.setdefault((code, epoch), set()).add(example_id)
        found: dict[str, tuple[int, set[Any]]] = {}
        for (code, epoch), ids in sorted(every.items(), key=lambda item: item[0]):
            first, before = found.get(code, (epoch, set()))
            found[code] = (first, before | ids)
        return found


def said(verdict: Verdict) -> dict[str, tuple[int | None, set[Any]]]:
    """Return epoch and ids of each finding; all ids are listed, being few."""
    assert all(finding.count == len(finding.ids) for finding in verdict.findings)
    return {
        finding.code: (finding.epoch, set(finding.ids)) for finding in verdict.findings
    }


@dataclass(slots=True)
class Delivered:
    """Batches of a pass as they arrive, and what was done to them."""

    setting: Setting
    batches: list[Batch]
    lists: list[list[int]]
    wrong: Wrong = field(default_factory=Wrong)

    def places(self, at: int) -> list[int]:
        """Return the place of each row of an honest batch, in order of its rows."""
        asked = self.lists[self.batches[at].batch]
        return [asked[row.slot] for row in self.batches[at].rows]

    def id_of(self, place: int) -> Any:
        """Return the id of a place."""
        return self.setting.names[place]


Fault = Callable[[Delivered, int, int], None]
"""Spoils a row of a batch, and notes what is wrong then."""


def lose_in_collate(made: Delivered, at: int, row: int) -> None:
    """Drop a row after its example was read."""
    batch = made.batches[at]
    made.wrong.count(batch.epoch, made.id_of(made.places(at)[row]), -1)
    made.batches[at] = batch.with_rows(*batch.rows[:row], *batch.rows[row + 1 :])


def lose_in_reading(made: Delivered, at: int, row: int) -> None:
    """Drop an example before collate_fn is given it."""
    batch = made.batches[at]
    made.wrong.count(batch.epoch, made.id_of(made.places(at)[row]), -1)
    left = [item for place, item in enumerate(batch.rows) if place != row]
    slots = {slot: new for new, slot in enumerate(sorted(item.slot for item in left))}
    rows = [replace(item, slot=slots[item.slot]) for item in left]
    made.batches[at] = batch.with_rows(*rows, examples=len(rows))


def repeat_in_collate(made: Delivered, at: int, row: int) -> None:
    """Add a row once more, of no example of its own."""
    batch = made.batches[at]
    made.wrong.count(batch.epoch, made.id_of(made.places(at)[row]), 1)
    double = replace(batch.rows[row], slot=NO_SLOT)
    made.batches[at] = batch.with_rows(*batch.rows, double)


def repeat_in_reading(made: Delivered, at: int, row: int) -> None:
    """Give collate_fn an example once more."""
    batch = made.batches[at]
    made.wrong.count(batch.epoch, made.id_of(made.places(at)[row]), 1)
    count = len(batch.rows)
    double = replace(batch.rows[row], slot=count)
    made.batches[at] = batch.with_rows(*batch.rows, double, examples=count + 1)


def exchange_in_collate(made: Delivered, at: int, row: int) -> None:
    """Put a row of no example in the place of another."""
    batch = made.batches[at]
    made.wrong.count(batch.epoch, made.id_of(made.places(at)[row]), -1)
    made.wrong.name("foreign_ids", batch.epoch, f"batch {batch.batch}, row {row}")
    rows = list(batch.rows)
    rows[row] = Row(slot=NO_SLOT, fixed=FOREIGN, label=FOREIGN)
    made.batches[at] = batch.with_rows(*rows)


def change(**values: Any) -> Callable[[Delivered, int, int], None]:
    """Return a fault of one example as its worker read it; `code` names it."""
    code = values.pop("code")

    def spoil(made: Delivered, at: int, row: int) -> None:
        batch = made.batches[at]
        made.wrong.name(code, batch.epoch, made.id_of(made.places(at)[row]))
        rows = list(batch.rows)
        rows[row] = replace(rows[row], **values)
        made.batches[at] = replace(batch, rows=tuple(rows))

    return spoil


def lose_batch(made: Delivered, at: int, row: int) -> None:
    """Deliver nothing of a batch."""
    batch = made.batches[at]
    for place in made.places(at):
        made.wrong.count(batch.epoch, made.id_of(place), -1)
    made.batches[at] = batch.with_rows()


def deliver_twice(made: Delivered, at: int, row: int) -> None:
    """Deliver a batch once more."""
    batch = made.batches[at]
    ids = [made.id_of(place) for place in made.places(at)]
    made.wrong.name("repeated_ids", batch.epoch, *ids)
    made.batches.append(batch)


def spoil_on_the_way(made: Delivered, at: int, row: int) -> None:
    """Change a row after its worker read it."""
    batch = made.batches[at]
    example_id = made.id_of(made.places(at)[row])
    made.wrong.name("collate_mismatch", batch.epoch, example_id)
    rows = list(batch.rows)
    rows[row] = replace(rows[row], altered=1)
    made.batches[at] = replace(batch, rows=tuple(rows), intact=False)


def spoil_in_collate(made: Delivered, at: int, row: int) -> None:
    """Let collate_fn change a row."""
    spoil_on_the_way(made, at, row)
    made.batches[at] = replace(made.batches[at], intact=True)


def break_batch(made: Delivered, at: int, row: int) -> None:
    """Change a batch after its collate_fn, in a way that no row shows."""
    batch = made.batches[at]
    ids = [made.id_of(place) for place in made.places(at)]
    made.wrong.name("collate_mismatch", batch.epoch, *ids)
    made.batches[at] = replace(batch, intact=False)


ROW_FAULTS: list[Fault] = [
    lose_in_collate,
    lose_in_reading,
    repeat_in_collate,
    repeat_in_reading,
    exchange_in_collate,
    change(code="label_mismatch", fixed=FOREIGN, label=FOREIGN),
    change(code="content_mismatch", fixed=FOREIGN),
    change(code="dtype_mismatch", signature=AS_DOUBLE, fixed=FOREIGN),
    change(code="shape_mismatch", signature=AS_ROW),
    change(code="field_missing", signature="[]", fixed=FOREIGN, label=0),
    lose_batch,
    deliver_twice,
    spoil_on_the_way,
    spoil_in_collate,
    break_batch,
]


def exchangeable(made: Delivered) -> list[tuple[int, int]]:
    """Return pairs of batches of one epoch whose first examples the other lacks.

    Content that a list asks for as well is a matter of alignment.
    """
    return [
        (at, other)
        for at, one in enumerate(made.batches)
        for other, two in enumerate(made.batches[:at])
        if one.epoch == two.epoch
        and made.places(at)[0] not in made.lists[two.batch]
        and made.places(other)[0] not in made.lists[one.batch]
    ]


def exchange_rows(made: Delivered, at: int, other: int) -> None:
    """Let two batches of an epoch read each other's first example."""
    own, there = made.places(at)[0], made.places(other)[0]
    for here, place, taken in ((at, own, there), (other, there, own)):
        batch = made.batches[here]
        fixed, label = made.setting.content(taken)
        is_labelled = label != made.setting.content(place)[1]
        code = "label_mismatch" if is_labelled else "content_mismatch"
        made.wrong.name(code, batch.epoch, made.id_of(place))
        rows = list(batch.rows)
        rows[0] = replace(rows[0], fixed=fixed, label=label)
        made.batches[here] = replace(batch, rows=tuple(rows))


@st.composite
def passes(draw: st.DrawFn) -> Delivered:
    """Draw examples, a list that may repeat them, and an honest pass in any order."""
    count = draw(st.integers(2, 10))
    places = draw(
        st.permutations(range(count))
        | st.lists(st.integers(0, count - 1), min_size=1, max_size=14)
    )
    rng = Random(draw(st.integers(0, 2**16)))  # noqa: S311  # digests, no secret
    numbers = rng.sample(range(-99, 99), count)
    ids = [number if rng.random() < 0.5 else f"key {number}" for number in numbers]
    setting = Setting(
        count=count,
        batch_size=draw(st.integers(1, 5)),
        epochs=draw(st.integers(1, 3)),
        num_workers=draw(st.integers(0, 3)),
        places=places,
        ids=ids,
        contents=rng.sample(range(FOREIGN), count),
        labels=draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)),
    )
    batches = [
        replace(batch, rows=tuple(draw(st.permutations(batch.rows))))
        for batch in draw(st.permutations(setting.honest()))
    ]
    lists = [list(part) for part in setting.expectation().lists()]
    return Delivered(setting, batches, lists)


@settings(deadline=None, max_examples=100)
@given(made=passes())
def test_an_honest_pass_has_no_finding(made: Delivered) -> None:
    """Whatever order batches and rows have."""
    assert made.setting.judge(made.batches).findings == ()


@settings(deadline=None, max_examples=400)
@given(made=passes(), data=st.data())
def test_each_fault_is_found_with_its_ids_and_no_other(
    made: Delivered, data: st.DataObject
) -> None:
    """One to three faults, each in a batch of its own, in any epoch."""
    count = data.draw(st.integers(1, min(3, len(made.batches))))
    touched = data.draw(st.permutations(range(len(made.batches))))[:count]
    for at in touched:
        fault = data.draw(st.sampled_from(ROW_FAULTS))
        row = data.draw(st.integers(0, len(made.batches[at].rows) - 1))
        event(getattr(fault, "__name__", ""))
        fault(made, at, row)

    verdict = made.setting.judge(made.batches)

    assert verdict.passed is not bool(made.wrong.codes())
    assert said(verdict) == made.wrong.codes()


@settings(deadline=None, max_examples=100)
@given(made=passes(), data=st.data())
def test_examples_that_two_batches_exchange_are_found(
    made: Delivered, data: st.DataObject
) -> None:
    """Each worker read what another was asked for."""
    pairs = exchangeable(made)
    assume(pairs)
    exchange_rows(made, *data.draw(st.sampled_from(pairs)))

    verdict = made.setting.judge(made.batches)

    assert said(verdict) == made.wrong.codes()


@settings(deadline=None, max_examples=100)
@given(made=passes(), data=st.data())
def test_a_fault_of_the_second_epoch_alone_is_dated(
    made: Delivered, data: st.DataObject
) -> None:
    """Kept workers go wrong where fresh ones do not."""
    second = [at for at, batch in enumerate(made.batches) if batch.epoch == 1]
    assume(second)
    at = data.draw(st.sampled_from(second))
    data.draw(st.sampled_from(ROW_FAULTS))(made, at, 0)

    verdict = made.setting.judge(made.batches)

    assert all(finding.epoch == 1 for finding in verdict.findings)
    assert said(verdict) == made.wrong.codes()


# Streams: content tells the examples apart, and order is free


def judged(made: Delivered) -> Verdict:
    """Return the verdict on batches of a whole stream; its ids are those of places."""
    setting = made.setting
    contents = [setting.content(place)[0] for place in range(setting.count)]
    reference = ReferenceLedger(
        np.array(contents, np.uint64),
        np.array([setting.content(place)[1] for place in range(setting.count)], "u8"),
        np.zeros(setting.count, np.int64),
        [SIGNATURE],
    )
    expected = StreamExpectation(
        ids=setting.names,
        is_complete=True,
        keeps_order=True,
        epochs=setting.epochs,
        batch_size=setting.batch_size,
        drop_last=False,
        num_workers=setting.num_workers,
        was_cut=False,
        declared=None,
    )
    return judge_stream(reference, ledger_of(made.batches), expected)


def exchange_in_stream(made: Delivered, at: int, row: int, **values: Any) -> None:
    """Deliver an example of other content in the place of another."""
    batch = made.batches[at]
    made.wrong.count(batch.epoch, made.id_of(made.places(at)[row]), -1)
    made.wrong.name("foreign_ids", batch.epoch, f"batch {batch.batch}, row {row}")
    rows = list(batch.rows)
    rows[row] = replace(rows[row], fixed=FOREIGN + at, **values)
    made.batches[at] = replace(batch, rows=tuple(rows))


def change_label_in_stream(made: Delivered, at: int, row: int) -> None:
    """Deliver an example with another label: for a stream, another example."""
    exchange_in_stream(made, at, row, label=FOREIGN)


def twice_in_stream(made: Delivered, at: int, row: int) -> None:
    """Deliver a batch once more, or the same examples in another one."""
    batch = made.batches[at]
    for place in made.places(at):
        made.wrong.count(batch.epoch, made.id_of(place), 1)
    made.batches.append(replace(batch, batch=batch.batch + 100))


STREAM_FAULTS: list[Fault] = [
    lose_in_collate,
    lose_in_reading,
    repeat_in_collate,
    repeat_in_reading,
    exchange_in_stream,
    change_label_in_stream,
    change(code="dtype_mismatch", signature=AS_DOUBLE),
    change(code="shape_mismatch", signature=AS_ROW),
    change(code="field_missing", signature="[]"),
    lose_batch,
    twice_in_stream,
    spoil_in_collate,
    break_batch,
]


@st.composite
def streams(draw: st.DrawFn) -> Delivered:
    """Draw a stream of distinct examples, dealt to workers in any way."""
    made = draw(passes())
    order = draw(st.permutations(range(made.setting.count)))
    setting = replace(made.setting, places=order)
    batches = [
        replace(batch, rows=tuple(draw(st.permutations(batch.rows))))
        for batch in draw(st.permutations(setting.honest()))
    ]
    lists = [list(part) for part in setting.expectation().lists()]
    return Delivered(setting, batches, lists)


@settings(deadline=None, max_examples=100)
@given(made=streams())
def test_an_honest_stream_has_no_finding(made: Delivered) -> None:
    """Whatever its workers share out, and in whatever order."""
    assert judged(made).findings == ()


@settings(deadline=None, max_examples=300)
@given(made=streams(), data=st.data())
def test_each_fault_of_a_stream_is_found_with_its_ids_and_no_other(
    made: Delivered, data: st.DataObject
) -> None:
    """One to three faults, each in a batch of its own, in any epoch."""
    count = data.draw(st.integers(1, min(3, len(made.batches))))
    touched = data.draw(st.permutations(range(len(made.batches))))[:count]
    for at in touched:
        fault = data.draw(st.sampled_from(STREAM_FAULTS))
        row = data.draw(st.integers(0, len(made.batches[at].rows) - 1))
        event(getattr(fault, "__name__", ""))
        fault(made, at, row)

    verdict = judged(made)

    assert said(verdict) == made.wrong.codes()


@settings(deadline=None, max_examples=50)
@given(made=streams(), data=st.data())
def test_examples_of_a_stream_may_come_in_any_batch(
    made: Delivered, data: st.DataObject
) -> None:
    """Rows exchanged between two batches of an epoch are no fault of a stream."""
    epochs = {batch.epoch for batch in made.batches}
    epoch = data.draw(st.sampled_from(sorted(epochs)))
    places = [at for at, batch in enumerate(made.batches) if batch.epoch == epoch]
    assume(len(places) > 1)
    at, other = data.draw(st.permutations(places))[:2]
    one, two = made.batches[at], made.batches[other]
    first, second = one.rows[0], two.rows[0]
    made.batches[at] = replace(
        one, rows=(replace(second, slot=first.slot), *one.rows[1:])
    )
    made.batches[other] = replace(
        two, rows=(replace(first, slot=second.slot), *two.rows[1:])
    )

    assert judged(made).findings == ()

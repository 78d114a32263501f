"""What a loader delivers becomes a ledger, and what was changed on the way shows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, default_collate
from torch.utils.data._utils import collate as torch_collate

from autoloader.audit.ledger import ArrivalLedger, LedgerWriter
from autoloader.audit.randomness import judge_randomness
from autoloader.child import batch_digest
from autoloader.child.batch_digest import LEAST_ROW_BYTES, BatchDigest
from autoloader.child.columns import row_digests
from autoloader.child.digest import DigestPlan
from autoloader.child.makes import ExampleReader
from autoloader.child.recorder import Arrivals, Carried, RecordingCollate, record

LARGE = LEAST_ROW_BYTES // 4
"""Floats of a row that is digested by itself."""

PLAN = DigestPlan(label="1")


class Numbered(Dataset[tuple[torch.Tensor, int]]):
    """Rows of their own number, with a label."""

    def __init__(self, width: int) -> None:
        self._width = width

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.full((self._width,), float(index)), index % 3


def carried_by(
    width: int,
    collate: Callable[[Any], Any] = default_collate,
    plan: DigestPlan = PLAN,
    **settings: Any,
) -> list[Carried]:
    """Return what a loader delivers in an epoch."""
    values = {"batch_size": 4, **settings}
    loader = DataLoader(Numbered(width), collate_fn=collate, **values)
    record(loader, plan)
    return list(loader)


def noted(
    batches: list[Carried], folder: Path, plan: DigestPlan = PLAN
) -> ArrivalLedger:
    """Return the ledger of what arrived."""
    arrivals = Arrivals(LedgerWriter(), plan)
    for carried in batches:
        arrivals.add(carried)
    arrivals.ledger.write(folder)
    return ArrivalLedger.read(folder)


WIDTHS = pytest.mark.parametrize("width", [3, LARGE])


@WIDTHS
@pytest.mark.parametrize("workers", [0, 2])
def test_rows_have_the_digests_of_their_examples(
    width: int, workers: int, tmp_path: Path
) -> None:
    """Made by a worker or by the training process."""
    ledger = noted(carried_by(width, num_workers=workers), tmp_path)

    plain = [PLAN.digest(Numbered(width)[index]) for index in range(10)]
    assert ledger.fixed.tolist() == [digest.fixed for digest in plain]
    assert ledger.label.tolist() == [digest.label for digest in plain]
    assert ledger.slot.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    assert ledger.signatures == [plain[0].signature]
    assert not ledger.altered.any()
    batches = list(ledger.batches)
    assert all(batch.intact and batch.converted == () for batch in batches)
    assert [batch.rows for batch in batches] == [4, 4, 2]
    assert [batch.batch for batch in batches] == [0, 1, 2]


@WIDTHS
@pytest.mark.parametrize("field", [0, 1])
def test_a_batch_that_is_changed_after_collate_is_not_intact(
    width: int, field: int, tmp_path: Path
) -> None:
    """A buffer that is used again, in the pictures or in the labels."""
    batches = carried_by(width)
    batches[1].batch[field][2] += 1

    ledger = noted(batches, tmp_path)

    assert [batch.intact for batch in ledger.batches] == [True, False, True]
    assert ledger.altered.nonzero()[0].tolist() == [6]
    assert int(ledger.altered[6]) == 1 << field


@WIDTHS
def test_rows_that_change_places_after_collate_are_not_intact(
    width: int, tmp_path: Path
) -> None:
    """All values are the batch's own."""
    batches = carried_by(width)
    batches[0].batch[0][:] = batches[0].batch[0].flip(0)

    ledger = noted(batches, tmp_path)

    assert [batch.intact for batch in ledger.batches] == [False, True, True]


@WIDTHS
def test_a_converted_batch_that_is_changed_later_is_not_intact(
    width: int, tmp_path: Path
) -> None:
    """Its rows equal no example, before and after."""

    def halve(examples: Any) -> Any:
        pixels, labels = default_collate(examples)
        return pixels / 2 + 0.25, labels

    batches = carried_by(width, halve)
    batches[1].batch[0][2] += 1

    ledger = noted(batches, tmp_path)

    assert [batch.intact for batch in ledger.batches] == [True, False, True]
    assert [batch.converted for batch in ledger.batches] == [(0,)] * 3


def test_a_field_that_collate_adds_is_watched_as_well(tmp_path: Path) -> None:
    """It belongs to no example, and may be changed all the same."""

    def add(examples: Any) -> Any:
        return [*default_collate(examples), torch.zeros(2, LARGE)]

    batches = carried_by(3, add)
    batches[0].batch[2][1, 5] = 1

    ledger = noted(batches, tmp_path)

    assert [batch.intact for batch in ledger.batches] == [False, True, True]
    assert not ledger.altered.any()


@WIDTHS
def test_sorted_and_dropped_rows_are_found(width: int, tmp_path: Path) -> None:
    """A collate_fn may order its batch, and lose a part of it."""

    def turn(examples: Any) -> Any:
        return default_collate(examples[:0:-1])

    ledger = noted(carried_by(width, turn, batch_size=5), tmp_path)

    assert ledger.slot.tolist() == [4, 3, 2, 1, 4, 3, 2, 1]
    assert [batch.examples for batch in ledger.batches] == [5, 5]


@WIDTHS
def test_a_row_of_no_example_has_digests_of_its_own(width: int, tmp_path: Path) -> None:
    """What collate_fn makes up is looked for in the whole scope."""

    def double(examples: Any) -> Any:
        return default_collate([*examples, examples[0]])

    ledger = noted(carried_by(width, double, batch_size=5), tmp_path)

    assert ledger.slot.tolist()[:6] == [0, 1, 2, 3, 4, -1]
    assert int(ledger.fixed[5]) == PLAN.digest(Numbered(width)[0]).fixed


@WIDTHS
@pytest.mark.parametrize("workers", [0, 2])
def test_rows_have_the_digests_of_their_ids(
    width: int, workers: int, tmp_path: Path
) -> None:
    """Those of examples, of rows that match them in part, and of rows of none."""
    plan = DigestPlan(id="0")

    def double(examples: Any) -> Any:
        return default_collate([*examples, examples[0]])

    whole = carried_by(width, plan=plan, num_workers=workers)
    whole[1].batch[1][2] += 1
    made_up = carried_by(width, double, plan=plan, batch_size=5, num_workers=workers)

    ids = [
        plan.digest(example).id
        for example in map(Numbered(width).__getitem__, range(10))
    ]

    ledger = noted(whole, tmp_path, plan)
    assert ledger.id is not None
    assert ledger.id.tolist() == ids
    ledger = noted(made_up, tmp_path, plan)
    assert ledger.id is not None
    assert ledger.id.tolist() == [*ids[:5], ids[0], *ids[5:], ids[5]]


def test_no_ids_are_noted_where_the_plan_names_none(tmp_path: Path) -> None:
    """The ledger is as large as it was."""
    assert noted(carried_by(3), tmp_path).id is None


def test_lists_of_fields_are_rows_too(tmp_path: Path) -> None:
    """A collate_fn for examples of several sizes leaves them apart."""
    batches = carried_by(3, lambda examples: tuple(zip(*examples, strict=True)))

    ledger = noted(batches, tmp_path)

    assert all(batch.intact and batch.converted == () for batch in ledger.batches)
    assert ledger.slot.tolist()[:4] == [0, 1, 2, 3]


def test_packed_batches_are_compared_as_a_whole(tmp_path: Path) -> None:
    """One row of all texts is no row of any."""

    def pack(examples: Any) -> Any:
        return {"packed": torch.cat([pixels for pixels, _ in examples])}

    batches = carried_by(3, pack)
    batches[2].batch["packed"][0] = 99

    ledger = noted(batches, tmp_path)

    assert [batch.converted for batch in ledger.batches] == [None] * 3
    assert [batch.intact for batch in ledger.batches] == [True, True, False]
    assert len(ledger.fixed) == 10


@WIDTHS
def test_single_examples_are_their_own_batches(width: int, tmp_path: Path) -> None:
    """With batch_size=None nothing is collated."""
    batches = carried_by(width, lambda example: example, batch_size=None)
    batches[4].batch[0][1] = -5

    ledger = noted(batches, tmp_path)

    plain = [PLAN.digest(Numbered(width)[index]) for index in range(10)]
    assert ledger.fixed.tolist() == [digest.fixed for digest in plain]
    assert [batch.intact for batch in ledger.batches] == [
        place != 4 for place in range(10)
    ]


def test_the_field_that_counts_and_the_bytes_are_noted() -> None:
    """For the timed pass, and for memory."""
    arrivals = Arrivals(LedgerWriter(), PLAN)
    for carried in carried_by(LARGE):
        arrivals.add(carried)

    assert arrivals.count_path == (0,)
    assert arrivals.batch_bytes == 4 * (4 * LARGE + 8)
    assert arrivals.is_by_row


def test_examples_of_a_batch_can_be_told_apart_by_their_digests() -> None:
    """The watch over random fields asks for all of an example."""
    (first, *_) = carried_by(3)

    digests = [example.full for example in first.examples]

    assert len(set(digests)) == 4
    assert judge_randomness({0: digests, 1: digests}, []) != []


def stacked_alone(examples: Any) -> Any:
    """Do what default_collate does, under another name."""
    return default_collate(examples)


@pytest.mark.parametrize(
    "examples",
    [
        [(torch.full((LARGE,), float(at)), at) for at in range(3)],
        [{"x": torch.rand(2, LARGE), "y": torch.rand(3)} for _ in range(3)],
        [torch.rand(LARGE, 2).t() for _ in range(3)],
        [[torch.rand(LARGE).double(), "text"] for _ in range(2)],
        [(torch.rand(LARGE), 1), (torch.rand(LARGE).double(), 2)],
        [(torch.rand(LARGE).bfloat16(), 1)],
        [((torch.rand(LARGE), 1), 2), ((torch.rand(LARGE), 1), 2)],
        [(np.arange(LARGE), 1), (np.arange(LARGE), 1)],
    ],
    ids=["tuples", "dicts", "bare", "lists", "mixed", "bfloat16", "nested", "arrays"],
)
def test_what_torch_stacks_is_known_without_reading_it_again(
    examples: list[Any],
) -> None:
    """The digest of the batch is the one that reading it would give."""
    one, other = (
        RecordingCollate(collate, PLAN, is_single=False)(examples)
        for collate in (default_collate, stacked_alone)
    )

    assert one.whole == other.whole
    assert one.whole == BatchDigest(one.batch, is_single=False).whole


def test_large_rows_that_torch_stacks_are_not_read_again() -> None:
    """Under a name of the user's own they are."""
    examples = [(torch.rand(LARGE), 1)] * 2
    for collate, times in ((default_collate, 0), (stacked_alone, 1)):
        recording = RecordingCollate(collate, PLAN, is_single=False)
        with mock.patch.object(batch_digest, "row_digests", wraps=row_digests) as read:
            recording(examples)
        assert read.call_count == times


def test_tensors_that_are_collated_otherwise_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A library may put a function of its own into torch's table."""

    def halve(batch: Any, *, collate_fn_map: Any = None) -> torch.Tensor:
        return torch.stack(batch) / 2

    monkeypatch.setitem(torch_collate.default_collate_fn_map, torch.Tensor, halve)
    examples = [(torch.rand(LARGE), 1)] * 2

    made = RecordingCollate(default_collate, PLAN, is_single=False)(examples)

    assert made.whole == BatchDigest(made.batch, is_single=False).whole
    assert torch.equal(made.batch[0][0], examples[0][0] / 2)


def test_examples_that_change_before_they_are_stacked_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that still writes to them: the batch is not what was digested."""
    read = ExampleReader.read

    def read_and_change(self: ExampleReader, examples: Any) -> Any:
        seen = read(self, examples)
        examples[1][0][0] += 1
        return seen

    monkeypatch.setattr(ExampleReader, "read", read_and_change)

    ledger = noted(carried_by(LARGE), tmp_path)

    assert not any(batch.intact for batch in ledger.batches)

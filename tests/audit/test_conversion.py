"""What collate_fn does by rule is its work; what it does now and then is a fault."""

from collections.abc import Callable, Collection
from dataclasses import replace

import pytest

from autoloader.audit.conversion import LEAST_BATCHES
from autoloader.values.outcome import Verdict
from tests.audit.ledgers import Batch, Setting, codes

SETTING = Setting(count=33, batch_size=8)
"""Four whole batches an epoch, and one of a single row."""

PICTURE, LABEL = 0b01, 0b10


def altered(
    picks: Callable[[int, int, int], bool],
    *,
    mask: int = PICTURE,
    converted: tuple[int, ...] = (0,),
    setting: Setting = SETTING,
) -> Verdict:
    """Return the verdict where the picked rows differ from their examples.

    Args:
        picks: told epoch, batch and row.
        mask: fields that differ.
        converted: fields that have new values, in a batch that has a picked row.
        setting: what is read.
    """
    batches = []
    for batch in setting.honest():
        rows = tuple(
            replace(row, altered=mask if picks(batch.epoch, batch.batch, at) else 0)
            for at, row in enumerate(batch.rows)
        )
        has_it = any(row.altered for row in rows)
        batches.append(replace(batch, rows=rows, converted=converted if has_it else ()))
    return setting.judge(batches)


def test_a_field_converted_in_every_row_is_the_work_of_collate() -> None:
    """It is compared as its worker read it, and the verdict says so."""
    verdict = altered(lambda epoch, batch, row: True)

    assert verdict.passed
    assert verdict.compared == "examples"


def test_a_field_converted_in_some_rows_of_most_batches_is_the_work_of_collate() -> (
    None
):
    """Padding leaves the longest row of each batch as it was."""
    verdict = altered(lambda epoch, batch, row: batch < 4 and row == 3)

    assert verdict.passed


def test_a_converted_label_of_few_values_passes() -> None:
    """In a batch of equal counts no value is new; in the others some are."""
    batches = [
        replace(
            batch,
            rows=tuple(replace(row, altered=LABEL) for row in batch.rows),
            converted=() if batch.batch == 1 else (1,),
        )
        for batch in SETTING.honest()
    ]

    assert SETTING.judge(batches).passed


def test_labels_exchanged_within_their_batches_are_refused() -> None:
    """No value is ever new: they are on the wrong rows."""
    verdict = altered(lambda epoch, batch, row: row < 2, mask=LABEL, converted=())

    assert set(codes(verdict)) == {"collate_mismatch"}
    assert codes(verdict)["collate_mismatch"][:4] == ("e0", "e1", "e8", "e9")


@pytest.mark.parametrize("epochs", [{0}, {1}, {0, 1}])
def test_a_spoilt_single_row_batch_is_not_explained_away(
    epochs: Collection[int],
) -> None:
    """Every other batch leaves the field alone."""
    verdict = altered(lambda epoch, batch, row: epoch in epochs and batch == 4)

    (finding,) = verdict.findings
    assert (finding.code, finding.ids) == ("collate_mismatch", ("e32",))
    assert finding.epoch == min(epochs)
    assert finding.message == (
        "1 example arrived otherwise than its worker read it: id e32"
    )


def test_a_spoilt_row_is_refused_with_its_id() -> None:
    """One row in one batch is no rule."""
    verdict = altered(lambda epoch, batch, row: (epoch, batch, row) == (1, 2, 5))

    assert codes(verdict) == {"collate_mismatch": ("e21",)}


def test_what_one_epoch_does_and_the_other_does_not_is_no_rule() -> None:
    """A collate_fn that has changed between epochs is a fault of kept workers."""
    verdict = altered(lambda epoch, batch, row: epoch == 1)

    (finding,) = verdict.findings
    assert (finding.code, finding.count, finding.epoch) == ("collate_mismatch", 33, 1)


def test_few_batches_make_no_rule_of_most_of_them() -> None:
    """With two batches an epoch, one row in each says nothing."""
    setting = Setting(count=16, batch_size=8)
    assert len(setting.expectation().lists()) < LEAST_BATCHES

    verdict = altered(lambda epoch, batch, row: row == 3, setting=setting)

    assert codes(verdict) == {"collate_mismatch": ("e3", "e11")}


def test_a_field_that_is_converted_does_not_excuse_another() -> None:
    """Each field is judged by itself."""
    batches = [
        replace(
            batch,
            rows=tuple(
                replace(
                    row,
                    altered=PICTURE | (LABEL if (batch.batch, at) == (3, 1) else 0),
                )
                for at, row in enumerate(batch.rows)
            ),
            converted=(0, 1) if batch.batch == 3 else (0,),
        )
        for batch in SETTING.honest()
    ]

    assert codes(SETTING.judge(batches)) == {"collate_mismatch": ("e25",)}


def test_batches_that_are_not_compared_by_row_say_nothing_of_a_rule() -> None:
    """Packed batches have no rows; the verdict says that examples were compared."""

    def unknown(batch: Batch) -> Batch:
        return replace(batch, converted=None)

    verdict = SETTING.judge([unknown(batch) for batch in SETTING.honest()])

    assert verdict.passed
    assert verdict.compared == "examples"


def test_a_converted_field_does_not_hide_what_a_worker_read_wrong() -> None:
    """The example is compared with the reference whatever collate_fn makes of it."""
    batches = [
        replace(
            batch,
            rows=tuple(replace(row, altered=PICTURE) for row in batch.rows),
            converted=(0,),
        )
        for batch in SETTING.honest()
    ]
    wrong = replace(batches[0].rows[2], fixed=1)
    batches[0] = batches[0].with_rows(*batches[0].rows[:2], wrong, *batches[0].rows[3:])

    assert codes(SETTING.judge(batches)) == {"content_mismatch": ("e2",)}

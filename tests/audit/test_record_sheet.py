"""The record sheet tells an epoch a row, and draws the article's conclusions."""

from autoloader.audit.record_sheet import SettingResult, record_sheet
from autoloader.values.config import LoaderConfig
from autoloader.values.diagnosis import EpochTimes
from autoloader.values.outcome import Failure, Finding, Verdict

ALONE = LoaderConfig.canonical(num_workers=0, batch_size=8)
TWO = LoaderConfig.canonical(num_workers=2, batch_size=8)


def verdict(*codes: str) -> Verdict:
    """Return a verdict with findings of these codes."""
    findings = tuple(Finding(code=code, count=1, message="seen") for code in codes)
    return Verdict(
        passed=not codes,
        examples=101,
        of=101,
        epochs=2,
        compared="rows",
        findings=findings,
    )


def epoch(seconds: float, first_s: float = 0.1) -> EpochTimes:
    """Return the times of an epoch."""
    return EpochTimes(seconds=seconds, first_s=first_s, later_s=0.1)


def right(config: LoaderConfig, *epochs: EpochTimes) -> SettingResult:
    """Return a setting whose data is right."""
    return SettingResult(config=config, item=verdict(), epochs=epochs)


def test_each_epoch_has_a_row_with_its_seconds() -> None:
    """One process first, then workers."""
    rows = record_sheet(
        [right(ALONE, epoch(4.0), epoch(4.1)), right(TWO, epoch(2.0), epoch(1.0))]
    )

    assert [row.setting for row in rows] == [
        "0 workers, batch 8, epoch 1",
        "0 workers, batch 8, epoch 2",
        "2 workers, prefetch 2, batch 8, epoch 1",
        "2 workers, prefetch 2, batch 8, epoch 2",
    ]
    assert [row.seconds for row in rows] == [4.0, 4.1, 2.0, 1.0]


def test_workers_gain_cost_or_neither() -> None:
    """Within a tenth two single readings are alike."""
    said = [
        record_sheet([right(ALONE, epoch(4.0)), right(TWO, epoch(seconds))])[1]
        for seconds in (2.0, 8.0, 4.2)
    ]

    assert [row.conclusion.partition(";")[0] for row in said] == [
        "a gain: 2.0 times as fast as 0 workers",
        "a cost: 2.0 times as slow as 0 workers",
        "as fast as 0 workers",
    ]


def test_the_second_epoch_tells_what_start_and_cache_did() -> None:
    """Of the 1.5 s that it is shorter, 0.9 s are start."""
    rows = record_sheet([right(TWO, epoch(3.0, first_s=1.0), epoch(1.5, first_s=0.1))])

    assert rows[1].conclusion == (
        "1.5 s shorter than the first epoch, 0.90 s of it before the first batch"
    )


def test_a_longer_and_an_equal_second_epoch_are_told() -> None:
    """Neither is a gain."""
    longer = record_sheet([right(TWO, epoch(2.0), epoch(4.0))])
    alike = record_sheet([right(TWO, epoch(2.0), epoch(2.1))])

    assert longer[1].conclusion == "2.0 s longer than the first epoch"
    assert alike[1].conclusion == (
        "as long as the first epoch: neither start nor cache tells"
    )


def test_epochs_of_hundredths_of_a_second_are_alike() -> None:
    """Half of next to nothing is nothing."""
    rows = record_sheet([right(TWO, epoch(0.04), epoch(0.02))])

    assert rows[1].conclusion.startswith("as long as the first epoch")


def test_what_is_wrong_has_no_seconds() -> None:
    """Right before fast."""
    failure = Failure(kind="hung", phase="gate", message="no progress for 30 s")
    rows = record_sheet(
        [
            SettingResult(config=TWO, item=verdict("missing_ids", "label_mismatch")),
            SettingResult(config=TWO, item=failure),
        ]
    )

    assert [row.seconds for row in rows] == [None, None]
    assert [row.conclusion for row in rows] == [
        "other data than one process reads: missing_ids, label_mismatch",
        "hung: no progress for 30 s",
    ]

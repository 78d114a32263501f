"""A diagnosis is told in its first lines."""

import io
from typing import Any

from autoloader.diagnosis import Diagnosis
from autoloader.report.console import print_diagnosis
from autoloader.values.diagnosis import (
    BatchCost,
    Breakdown,
    ExampleCost,
    StageCosts,
    StageName,
    StagesReport,
)


def example(index: int, access_s: float, read_bytes: int | None) -> ExampleCost:
    """Return what an example cost."""
    return ExampleCost(
        id=index,
        access_s=access_s,
        access_cpu_s=access_s / 2,
        transform_s=0.002,
        transform_cpu_s=0.001,
        read_bytes=read_bytes,
        example_bytes=64,
    )


STAGES = StagesReport(
    examples=(
        example(0, 0.001, 500), example(9, 0.003, 9000), example(4, 0.002, 100)
    ),
    representatives=3,
    ends=2,
    of=10,
    transform="transform",
    batches=(
        StageCosts(
            stage=StageName.COLLATE,
            costs=(BatchCost(seconds=0.008, cpu_s=0.004, examples=8),),
        ),
        StageCosts(stage=StageName.PIN, skipped="no accelerator"),
    ),
)  # fmt: skip


def said(found: Diagnosis, record: str | None = None) -> list[str]:
    """Return the lines that are printed."""
    stream = io.StringIO()
    print_diagnosis(found.to_dict(), record, stream)
    return stream.getvalue().splitlines()


def test_stage_id_words_and_the_next_thing_come_first() -> None:
    """In the first five lines, the rest below."""
    failed = Breakdown(
        stage=StageName.ACCESS,
        ids=(17,),
        message="OSError: image file is truncated",
        exception="OSError",
        place="read (data.py:31)",
        evidence="seen before",
        log="logs",
    )

    lines = said(Diagnosis(stages=StagesReport(), breakdown=failed))

    first = "\n".join(lines[:5])
    assert "access, id 17" in first
    assert "OSError: image file is truncated, in read (data.py:31)" in first
    assert "look at" in first
    assert "no DataLoader setting" in "\n".join(lines)
    assert any(line.startswith("log") for line in lines)


def test_a_long_message_leaves_the_next_thing_within_five_lines() -> None:
    """It is the one line whose length is the user's."""
    failed = Breakdown(stage=StageName.COLLATE, ids=(3, 5), message="word " * 200)

    lines = said(Diagnosis(stages=StagesReport(), breakdown=failed))

    assert "collate, ids 3, 5" in lines[0]
    assert lines[1].startswith("look at")
    assert lines[3].startswith("happened")


def test_what_a_stage_costs_and_who_stands_for_others_is_told() -> None:
    """Medians of an example; small and large by the bytes that were read."""
    text = "\n".join(said(Diagnosis(stages=STAGES), "folder/record.csv"))

    assert "Passed:" in text
    assert "transform (transform)" in text
    assert "1.0 ms" in text  # collate: 8 ms for 8 examples
    assert "no accelerator" in text
    assert "id 4: 4.0 ms, 100 B" in text
    assert "id 9: 5.0 ms, 9 KiB" in text
    assert "folder/record.csv" in text


def test_access_and_transform_are_one_where_no_transform_is_known() -> None:
    """Nothing is told apart that was not seen apart."""
    stages = StagesReport(
        examples=STAGES.examples[:1], representatives=1, batches=STAGES.batches
    )

    text = "\n".join(said(Diagnosis(stages=stages)))

    assert "access and transform" in text


def test_no_content_of_the_users_is_in_the_object() -> None:
    """Ids, sizes and times alone."""
    found: dict[str, Any] = Diagnosis(stages=STAGES).to_dict()

    assert set(found["stages"]["examples"][0]) == {
        "id", "access_s", "access_cpu_s", "transform_s", "transform_cpu_s",
        "read_bytes", "example_bytes",
    }  # fmt: skip

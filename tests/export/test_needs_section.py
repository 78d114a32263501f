"""What a study took, worked out of its readings and weighings."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autoloader.errors import StoredFileError
from autoloader.export.needs_section import needs_section, read_basis
from autoloader.export.recommendation import Recommendation
from autoloader.measure.needs import NeedsBasis
from autoloader.values.outcome import MemoryReading
from tests.measure.ceilings import ceiling, reading
from tests.report.fakes import FACTS, MIB, config, measured, memory

CHOSEN = config(4)


def section(**changes: Any) -> NeedsBasis:
    """Return the section of a study of 0 and 4 workers as a value."""
    given: dict[str, Any] = {
        "facts": FACTS,
        "outcomes": [replace(measured(0, CHOSEN, [950.0]), ceiling=ceiling(9_000))],
        "memory": {item: memory(item) for item in (config(0), CHOSEN)},
        **changes,
    }
    readings = [reading(950, workers=4, cpu=3.8)]
    return NeedsBasis.from_dict(needs_section(CHOSEN, readings, **given))


def test_cpu_time_is_what_the_chosen_config_took() -> None:
    """In all processes, and with as many workers."""
    found = section()

    assert found.cpu_s_per_example == pytest.approx(0.004)
    assert found.measured_workers == 4


def test_a_worker_is_kept_for_reading_collate_and_hand_over() -> None:
    """With a CPU to itself: 2 ms, 0.1 ms and 0.2 ms."""
    assert section().wall_s_per_example == pytest.approx(0.0023)


def test_the_rate_of_free_examples_is_what_a_rank_takes_over_at_most() -> None:
    """None where no pass was made."""
    assert section().rank_ceiling_examples_per_s == pytest.approx(9_000)
    assert section(outcomes=()).rank_ceiling_examples_per_s is None


def test_memory_is_a_line_through_what_was_weighed() -> None:
    """100 MiB, and 100 MiB a worker, its batches among them."""
    found = section()
    batch = 64 * FACTS.example_bytes

    assert found.base_memory_bytes == pytest.approx(100 * MIB)
    assert found.memory_per_worker_bytes == pytest.approx(100 * MIB - 2 * batch)
    assert found.batch_bytes == batch
    assert found.batch_examples == 64


def test_queues_that_were_not_seen_full_are_no_points_of_the_line() -> None:
    """Eight workers were not, and other batch sizes have other queues."""
    other = replace(config(2), batch_size=8)
    weighed = [config(0), CHOSEN, config(8), other]

    found = section(memory={item: memory(item) for item in weighed})

    assert found == section()


def test_bytes_read_are_told_of_files_only() -> None:
    """Of connections the system counts none."""
    access = FACTS.access
    assert access is not None
    remote = replace(FACTS, access=replace(access, connections=1, source="network"))
    inside = replace(FACTS, access=replace(access, source="memory"))

    assert section().read_bytes_per_example == 49152.0
    assert section(facts=remote).read_bytes_per_example is None
    assert section(facts=inside).read_bytes_per_example == 0.0
    assert section(facts=replace(FACTS, access=None)).read_bytes_per_example is None


def test_what_a_file_says_is_read_back() -> None:
    """As YAML has it."""
    basis = section()
    file = Recommendation({"needs": basis.to_dict()})

    assert read_basis(file, "autoloader.yaml") == basis


def test_a_file_without_the_section_says_so() -> None:
    """It is no fault of its reader."""
    with pytest.raises(StoredFileError) as caught:
        read_basis(Recommendation({}), str(Path("autoloader.yaml")))

    assert caught.value.message == "autoloader.yaml lacks the section 'needs'"
    assert caught.value.hint == "tune again: older versions wrote none"


def test_a_section_that_was_edited_wrongly_is_named() -> None:
    """With its place."""
    file = Recommendation({"needs": {**section().to_dict(), "prefetch_factor": "x"}})

    with pytest.raises(StoredFileError) as caught:
        read_basis(file, "a.yaml")

    assert caught.value.message == "a.yaml: needs.prefetch_factor must be int, got 'x'"


def test_a_scope_that_is_too_short_to_fill_the_queue_blames_no_worker() -> None:
    """Three batches of a possible eight: what shared memory held is taken off."""
    whole = section()
    batch = int(whole.shared_batch_bytes or 0)
    short = MemoryReading(
        full_queue_bytes=300 * MIB + 3 * batch,
        epoch_end_bytes=(),
        queued_bytes=3 * batch,
        queue_was_full=True,
    )

    found = section(memory={config(0): memory(config(0)), CHOSEN: short})

    assert found.memory_per_worker_bytes == pytest.approx(50 * MIB)

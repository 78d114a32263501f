"""What changed between two recommendations, in values and in words."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest

from autoloader.errors import StoredFileError
from autoloader.report.comparison import Comparison, compare
from autoloader.report.console import print_comparison
from autoloader.report.html.comparison_page import comparison_page
from autoloader.report.html.rendering import html_of
from tests.report.fakes import MACHINE
from tests.report.html.reading import Reader

TO, TIMES = "\u2013", "\u00d7"

RATES = [980.0, 1010.0, 1000.0, 1005.0, 995.0, 1015.0]


def sections(rates: list[float], *, workers: int = 4, **others: Any) -> dict[str, Any]:
    """Return a recommendation with these readings."""
    middle = sorted(rates)[len(rates) // 2]
    return {
        "schema": 1,
        "dataset": "data.py:train",
        "dataloader": {
            "batch_size": 64,
            "num_workers": workers,
            "pin_memory": False,
            "persistent_workers": True,
            "prefetch_factor": 2,
        },
        "target": {"met": True, "asked": "95 % of the fastest", "ranks": 1},
        "measured": {
            "epoch_rate": {"median": middle, "low": min(rates), "high": max(rates)},
            "peak_memory_bytes": 500 * 2**20,
            "readings": rates,
        },
        "limit": {"name": "transform"},
        "scope": {
            "seed": 0,
            "cache": "warm",
            "fields": [{"path": "0", "dtype": "uint8", "shape": [3, 32, 32]}],
        },
        "machine": MACHINE.to_dict(),
        "versions": {"python": "3.12.1", "torch": "2.13.0"},
        "study": {"date": "2026-01-01T00:00:00+00:00"},
        **others,
    }


def compared(after: dict[str, Any], before: dict[str, Any] | None = None) -> Comparison:
    """Return the comparison of two files, A and B."""
    return compare(("a.yaml", before or sections(RATES)), ("b.yaml", after))


def said(found: Comparison, label: str) -> str:
    """Return what is said under a label."""
    return dict(found.sentences)[label]


def scaled(factor: float) -> list[float]:
    """Return the rates, so many times as fast."""
    return [rate * factor for rate in RATES]


def test_the_same_file_twice_differs_in_nothing() -> None:
    """And is equal within the zone of indifference, as far as it can be told."""
    found = compared(sections(RATES))

    assert found.differences == ()
    assert found.speed is not None
    assert found.speed.median == 1
    assert said(found, "speed") == (
        f"B and A are equal within 3 % (0.98{TIMES}{TO}1.02{TIMES}; read apart, "
        "not in the same rounds)"
    )
    assert said(found, "settings") == "the same"
    assert said(found, "surroundings") == "machine and versions are the same"


def test_a_faster_one_is_told_with_its_interval() -> None:
    """The ratio of medians; the interval is of readings that were taken apart."""
    found = compared(sections(scaled(1.5)))

    assert said(found, "speed") == (
        f"B is 1.50{TIMES} as fast as A (1.48{TIMES}{TO}1.52{TIMES}; read apart, "
        "not in the same rounds)"
    )


def test_scatter_that_hides_a_difference_is_told() -> None:
    """No winner is named."""
    found = compared(sections([700.0, 1500.0, 1000.0, 1250.0]))

    assert said(found, "speed").startswith("cannot tell B from A: 0.")


def test_single_readings_have_no_interval() -> None:
    """They show no scatter."""
    found = compared(sections([1100.0]), sections([1000.0]))

    assert said(found, "speed") == (
        f"B is 1.10{TIMES} as fast as A, by too few readings for an interval"
    )


def test_what_was_not_measured_has_no_speed() -> None:
    """A file may have no readings."""
    after = sections(RATES)
    del after["measured"]

    found = compared(after)

    assert found.speed is None
    assert said(found, "speed") == "not told: one of them was not measured"
    assert "memory" not in dict(found.sentences)


def test_settings_that_changed_are_named() -> None:
    """Each with what it was."""
    found = compared(sections(RATES, workers=2))

    assert said(found, "settings") == "num_workers 4 → 2"


def test_memory_is_told_with_its_change() -> None:
    """In bytes and as a share."""
    after = sections(RATES)
    after["measured"]["peak_memory_bytes"] = 600 * 2**20

    assert said(compared(after), "memory") == "500.0 MiB → 600.0 MiB (+20 %)"


def test_another_machine_and_version_are_told_part_by_part() -> None:
    """What changes from hour to hour is not."""
    machine = {
        **MACHINE.to_dict(),
        "cpu_model": "Other CPU",
        "memory_available_bytes": 1,
        "shm_free_bytes": 2,
    }
    after = sections(
        RATES, machine=machine, versions={"python": "3.12.1", "torch": "2.14.0"}
    )

    found = compared(after)

    fields = [item.field for item in found.differences]
    assert fields == ["machine.cpu_model", "versions.torch"]
    assert said(found, "surroundings") == (
        "machine.cpu_model 'Test CPU' → 'Other CPU'; versions.torch '2.13.0' → '2.14.0'"
    )


def test_other_data_is_a_caution_that_comes_first() -> None:
    """Field by field: a dtype, and a field that is new."""
    after = sections(RATES)
    after["scope"] = copy.deepcopy(after["scope"])
    after["scope"]["fields"][0]["dtype"] = "float32"
    after["scope"]["fields"].append({"path": "1", "dtype": "int64", "shape": []})

    found = compared(after)

    assert found.sentences[0] == (
        "caution",
        "the data or their scope differ, so rates may not compare: fields.0.dtype, "
        "fields.1",
    )


def test_a_target_and_a_limit_that_changed_are_told() -> None:
    """For both."""
    target = {"met": False, "asked": "2,000 examples/s", "ranks": 1}
    after = sections(RATES, target=target, limit={"name": "storage"})

    found = compared(after)

    assert said(found, "target") == (
        "A meets 95 % of the fastest, B does not meet 2,000 examples/s"
    )
    assert said(found, "limit") == "A: decode or transform; B: storage"


def test_a_damaged_section_is_named_with_its_file() -> None:
    """Of two files, people must know which."""
    after = sections(RATES)
    after["measured"]["readings"] = ["fast"]

    with pytest.raises(StoredFileError) as caught:
        compared(after)

    assert caught.value.message == (
        "the section 'measured' of b.yaml cannot be used: '>' not supported between "
        "instances of 'str' and 'int'"
    )


def test_a_terminal_has_both_beside_each_other() -> None:
    """Then what is said."""
    stream = io.StringIO()

    print_comparison(
        compared(sections(scaled(1.5), workers=2)), page=None, stream=stream
    )

    lines = stream.getvalue().splitlines()
    assert lines[0].split() == ["A", "B"]
    assert lines[1].split() == ["file", "a.yaml", "b.yaml"]
    assert any(line.split() == ["num_workers", "4", "2"] for line in lines)
    assert any(line.startswith("settings      num_workers 4 → 2") for line in lines)


def test_the_page_says_the_same_and_keeps_markup_as_text() -> None:
    """In the same style as that of a study."""
    before, after = sections(RATES), sections(scaled(1.5), dataset="<script>x</script>")
    found = compare(("<a>.yaml", before), ("b.yaml", after))

    page = Reader(html_of(comparison_page(found), version="1"))

    assert page.unclosed == []
    assert page.all("h1")[0].text == "<a>.yaml and b.yaml"
    assert len(page.all("script")) == 1
    assert [node.text for node in page.all("h2")] == [
        "Cautions",
        "What changed",
        "Data, machine, versions",
    ]
    assert any("<script>x</script>" in node.text for node in page.all("td"))
    assert f"B is 1.50{TIMES} as fast as A" in page.all("main")[0].children[0].text


def test_json_has_both_sides_and_every_difference() -> None:
    """Plain values."""
    found = compared(sections(scaled(1.5), versions={"torch": "3"})).to_dict()

    assert found["before"]["file"] == "a.yaml"
    assert found["speed"]["median"] == pytest.approx(1.5)
    assert {"field": "versions.torch", "before": "'2.13.0'", "after": "'3'"} in found[
        "differences"
    ]

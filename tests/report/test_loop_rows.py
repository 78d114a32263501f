"""People see loops in a table of their own, and what the step is limited by."""

import io
from typing import Any

import pytest

from autoloader.export.step_section import step_section
from autoloader.report.loop_rows import loops_table, step_words
from autoloader.report.surface import console_on
from tests.search.looped import LoopTable, config, raced

TIMES = "\u00d7"

ZERO, TWO = config(0), config(2)


def section(table: LoopTable, **named: Any) -> dict[str, Any]:
    """Return the section of a tune whose choice are two workers."""
    return step_section(
        raced(table),
        named or {"pytorch_default": ZERO, "fastest": TWO, "chosen": TWO},
        judged="chosen",
        base="pytorch_default",
        loader_rates={TWO: 80.0, ZERO: 80.0},
    )


def drawn(found: dict[str, Any]) -> list[str]:
    """Return the lines of the table."""
    stream = io.StringIO()
    console_on(stream).print(loops_table(found, "default"))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def words(line: str) -> str:
    """Return a line without what sets its columns apart."""
    return " ".join(line.split())


def test_a_config_of_several_names_is_one_row() -> None:
    """Its loop is fast, waits little, and is compared with the default's."""
    lines = drawn(section(LoopTable({ZERO: (0.1,), TWO: (0.0,)})))

    assert words(lines[0]) == "training loop workers examples/s vs default waits step"
    assert words(lines[1]) == "PyTorch default 0 26.7 - 33 % 200 ms"
    assert words(lines[3]) == f"fastest = chosen 2 40 1.50{TIMES} 0 % 200 ms"


def test_a_loop_that_failed_has_no_figures() -> None:
    """The row stays, and the reason is told below."""
    table = LoopTable({ZERO: (0.1,), TWO: (0.0,)}, failing=frozenset({TWO}))
    found = section(table)

    assert words(drawn(found)[-1]) == "fastest = chosen 2 failed - - -"
    assert ("loop failed", "chosen: was killed") in list(step_words(found))


def test_devices_have_a_column_where_they_tell() -> None:
    """Else there is none."""
    found = section(LoopTable({ZERO: (0.1,), TWO: (0.0,)}))
    found["loops"]["chosen"]["utilisation"] = 0.93
    found["loops"]["fastest"]["utilisation"] = 0.93

    lines = drawn(found)

    assert lines[0].endswith("device busy")
    assert lines[3].endswith("93 %")


def test_a_step_that_is_the_limit_is_told_so() -> None:
    """With what it takes, what overlaps and what is saved."""
    said = list(step_words(section(LoopTable({ZERO: (0.1,), TWO: (0.0,)}))))

    assert said == [
        (
            "step",
            "train.py:step takes 40 examples/s where it never waits, 200 ms a step",
        ),
        (
            "loop",
            "limited by the step: it waits less than 5 % of its time; a faster loader "
            "would gain next to nothing",
        ),
        (
            "overlap",
            "loading goes on while the step computes: 100 % of what can be hidden",
        ),
        ("saved", "33 % of the training loop's time, chosen against PyTorch default"),
    ]


def test_a_loader_that_is_the_limit_is_told_so() -> None:
    """And that the choice costs time, where it does."""
    found = section(LoopTable({ZERO: (0.1,), TWO: (0.2,)}))

    said = dict(step_words(found))

    assert said["loop"] == "limited by the loader: the step waits 50 % of its time"
    assert said["overlap"] == "none seen: loading and computing take turns"
    assert said["saved"] == (
        "nothing: the training loop takes 33 % longer, chosen against PyTorch default"
    )


@pytest.mark.parametrize(
    ("step_s", "words"),
    [(2.5, "2.5 s"), (0.9996, "999.6 ms"), (0.0042, "4.2 ms"), (0.00083, "830 us")],
)
def test_a_step_is_told_in_its_own_unit(step_s: float, words: str) -> None:
    """Thousandths of a second where it is short."""
    found = section(LoopTable({ZERO: (0.1,), TWO: (0.2,)}))
    found["alone"]["step_s"] = step_s

    assert dict(step_words(found))["step"].endswith(f", {words} a step")

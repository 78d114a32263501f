"""What a target takes, as people read it."""

import io
from dataclasses import replace

from autoloader.measure.needs import Demand, NeedsBasis, needs_of
from autoloader.report.console import print_needs
from tests.measure.needed import BASIS
from tests.report.fakes import MACHINE


def printed(demand: Demand, basis: NeedsBasis = BASIS) -> str:
    """Return what is printed."""
    stream = io.StringIO()
    print_needs(needs_of(basis, demand), MACHINE.to_dict(), stream)
    return stream.getvalue()


def test_each_amount_has_its_line_and_assumptions_follow() -> None:
    """With units."""
    text = printed(Demand(examples_per_s=20_000, ranks=8))

    assert "20,000 examples/s by 8 ranks, 2,500 each" in text
    assert "80 (80.00 always busy; the file's machine has 2.5)" in text
    assert "25 a rank, 50 batches in flight" in text
    assert "1.9 GiB/s" in text
    assert "37.5 GiB" in text
    assert text.count("assumed") == 6
    assert "caution" not in text


def test_what_was_not_measured_is_said() -> None:
    """No number stands for it."""
    bare = replace(BASIS, read_bytes_per_example=None, memory_per_worker_bytes=None)

    text = printed(Demand(examples_per_s=100), bare)

    assert text.count("not measured") == 2


def test_a_target_beyond_one_process_is_a_caution() -> None:
    """Before any amount is read."""
    text = " ".join(printed(Demand(examples_per_s=20_000)).split())

    assert "at least 4 ranks are needed" in text

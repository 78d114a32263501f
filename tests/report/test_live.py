"""The view for terminals: what it shows, and how seldom it draws."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from autoloader.report.cleaning import clean
from autoloader.report.live import LiveView
from autoloader.report.status import LiveStatus
from autoloader.search.budget import Budget
from autoloader.search.watcher import Extent
from autoloader.values.job import PassOrder, PassPlan
from autoloader.values.target import Target
from tests.report.fakes import MACHINE, Terminal, config, crashed, measured, refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.values.config import LoaderConfig

BUDGET = Budget(180.0, lambda: 30.0, 0.0)


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test the same terminal."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    monkeypatch.delenv("NO_COLOR", raising=False)


def live_view(stream: Terminal, clock: Callable[[], float] = lambda: 0.0) -> LiveView:
    """Return a view of a study with a target of 1,000 examples/s."""
    target = Target(examples_per_s=1000)
    return LiveView(
        stream, dataset="data.py:train", target=target, machine=MACHINE, clock=clock
    )


def drawn_last(stream: Terminal) -> list[str]:
    """Return the lines of the region as it was drawn last, and forget the earlier."""
    whole = stream.getvalue()
    stream.seek(0)
    stream.truncate()
    after_cursor_moves = whole.rpartition("\x1b[2K")[2]
    return [clean(line) for line in after_cursor_moves.splitlines() if clean(line)]


def test_the_search_is_shown_with_what_it_came_to() -> None:
    """Running trial, last, fastest, simplest that may do, trials by fate."""
    stream = Terminal()

    with live_view(stream) as view:
        view.on_phase("search", "48 configs", BUDGET)
        view.on_outcome(measured(0, config(8), [1300.0]))
        view.on_outcome(measured(1, config(4), [950.0]))
        view.on_outcome(measured(2, config(0), [200.0]))
        view.on_outcome(refused(3, config(2)))
        view.on_skip(config(1), "as few workers")
        view.on_skip(config(3), "as few workers")
        view.on_trial(config(6))
        lines = drawn_last(stream)

    assert lines[:3] == [
        "autoloader  data.py:train",
        "wanted    1,000 examples/s",
        "machine   2.5 CPUs, 2.0 GiB of memory, no accelerator",
    ]
    assert lines[3].startswith("search ")
    assert lines[3].endswith("2 m 30 s left")
    assert lines[4:] == [
        "running   6 workers, prefetch 2, batch 64",
        "stage     -",
        "rate      -",
        "last        200/s  1 reading  0 workers, batch 64",
        "fastest   1,300/s  1 reading  8 workers, prefetch 2, batch 64",
        "simplest    950/s  1 reading  4 workers, prefetch 2, batch 64",
        "trials    3 measured · 1 refused",
        "untried   2 passed over",
        "refused   2 workers, prefetch 2, batch 64",
        "missing_ids: 2 examples never arrived: ids 5, 7",
    ]


def test_a_search_of_all_configs_shows_how_many_are_done() -> None:
    """It has no end by the budget: what is left follows from its pace."""
    stream, now = Terminal(), 30.0
    budget = Budget(180.0, lambda: now, 0.0)

    with live_view(stream) as view:
        view.on_phase("search", "9 configs", budget, Extent(configs=9, tried=2))
        begun = drawn_last(stream)[3]
        now = 50.0
        view.on_outcome(measured(2, config(4), [950.0]))
        view.on_skip(config(1), "as few workers")
        now = 300.0  # long after the end of the budget
        view.on_outcome(measured(3, config(8), [1300.0]))
        later = drawn_last(stream)[3]
        view.on_phase("race", "4 workers; 8 workers", budget.for_the_finish())
        finish = drawn_last(stream)[3]

    assert begun.endswith("2 of 9 configs")
    assert later.endswith("5 of 9 configs, about 9 m 00 s left")
    assert finish.endswith("1 m 33 s left")


def test_the_race_is_shown_against_the_target() -> None:
    """The rates so far, and whether a round is one that decides."""
    stream = Terminal()

    with live_view(stream) as view:
        view.on_phase("race", "4 workers; 8 workers", BUDGET)
        view.on_round(1, {config(4): 990.0, config(8): 1300.0})
        view.on_round(2, {config(8): 1300.0, config(4): 990.0})
        lines = drawn_last(stream)

    assert lines[4] == "2 rounds; decided after 4 to 24"
    assert [line.split(maxsplit=6)[6].split() for line in lines[5:7]] == [
        ["990/s", "━━━━━━━━━━━", "│", "99", "%"],
        ["1,300/s", "━━━━━━━━━━━━│━━━", "130", "%"],
    ]


def test_a_race_begins_with_the_names_of_the_finalists() -> None:
    """There is nothing to compare before the first round."""
    stream = Terminal()

    with live_view(stream) as view:
        view.on_phase("race", "4 workers, batch 64; 8 workers, batch 64", BUDGET)
        view.on_tick("loading", 1_200)
        view.on_trial(config(4))
        lines = drawn_last(stream)

    assert lines[4:7] == [
        "0 rounds; decided after 4 to 24",
        "4 workers, batch 64",
        "8 workers, batch 64",
    ]


def test_the_reference_counts_examples() -> None:
    """All other passes count batches."""
    stream, now = Terminal(), 0.0

    with live_view(stream, lambda: now) as view:
        view.on_phase("reference", "data.py:train", BUDGET)
        now = 1.0
        view.on_tick("reading", 1200)
        lines = drawn_last(stream)

    assert lines[4:] == ["running   data.py:train", "stage     reading, 1,200 examples"]


def test_time_that_is_up_is_said() -> None:
    """What is still running goes on to its end."""
    stream = Terminal()

    with live_view(stream) as view:
        view.on_phase("verification", "4 workers", Budget(180.0, lambda: 200.0, 0.0))
        lines = drawn_last(stream)

    assert lines[3].endswith("time is up")


def test_no_config_may_be_enough_at_first() -> None:
    """The simplest that may meet the target has no line to fill."""
    stream = Terminal()

    with live_view(stream) as view:
        view.on_phase("search", "48 configs", BUDGET)
        view.on_outcome(measured(0, config(0), [200.0]))
        lines = drawn_last(stream)

    assert ["simplest", "-"] in [line.split() for line in lines]


def test_the_running_pass_is_shown_with_what_it_delivers_so_far() -> None:
    """A few waves after its warm-up, with the interval of the waves."""
    stream, now = Terminal(), 0.0
    plan = PassPlan(warm_batches=4, steady_batches=20, tail_batches=2)

    with live_view(stream, lambda: now) as view:
        view.on_phase("search", "48 configs", BUDGET)
        view.on_trial(config(2))
        view.on_pass(pass_of("timed", config(2), plan))
        view.on_tick("loading", 2)
        now = 1.0
        view.on_tick("loading", 4)
        early = drawn_last(stream)[5:7]
        for done, now in ((6, 2.0), (8, 2.9), (10, 4.0)):  # noqa: B007
            view.on_tick("loading", done)
        later = drawn_last(stream)[5:7]
        view.on_pass(pass_of("memory", config(2), None))
        now = 5.0
        view.on_tick("filling queue", 3)
        weighing = drawn_last(stream)[4:7]

    said = "stage     reading its speed: loading, {} batches"
    assert early == [said.format(4), "rate      too early to tell"]
    assert later == [said.format(10), "rate      128/s  100\u2013165  so far"]
    assert weighing == [
        "running   2 workers, prefetch 2, batch 64",
        "stage     weighing its memory: filling queue, 3 batches",
        "rate      -",
    ]


def test_what_the_search_came_to_is_shown_in_the_race_too() -> None:
    """Fastest and simplest by the race's rounds, once there are any."""
    stream = Terminal()

    with live_view(stream) as view:
        view.on_phase("search", "48 configs", BUDGET)
        view.on_outcome(measured(0, config(8), [1300.0]))
        view.on_outcome(measured(1, config(4), [900.0]))
        view.on_outcome(crashed(2, config(1), "no"))
        view.on_phase("race", "4 workers; 8 workers", BUDGET)
        before = drawn_last(stream)[-3:]
        for number in (1, 2, 3):
            rates = {config(4): 990.0 + number, config(8): 1200.0 - number}
            view.on_round(number, rates)
        after = drawn_last(stream)[-3:]

    trials = "trials    2 measured · 1 crashed"
    assert before == [
        "fastest   1,300/s  1 reading  8 workers, prefetch 2, batch 64",
        "simplest    900/s  1 reading  4 workers, prefetch 2, batch 64",
        trials,
    ]
    assert after == [
        "fastest   1,198/s  1,196\u20131,200  8 workers, prefetch 2, batch 64",
        "simplest    992/s  990\u2013994      4 workers, prefetch 2, batch 64",
        trials,
    ]


def pass_of(kind: str, tried: LoaderConfig, plan: PassPlan | None) -> PassOrder:
    """Return the order of a pass."""
    return PassOrder(
        kind=kind, config=tried, logs="", tmp="", reference="", examples=0, plan=plan
    )


def test_progress_alone_is_drawn_twice_a_second_at_most() -> None:
    """A measuring runs meanwhile."""
    stream, now = Terminal(), 0.0

    with live_view(stream, lambda: now) as view:
        view.on_phase("search", "48 configs", BUDGET)
        drawn_last(stream)
        draws = []
        for now in (0.1, 0.3, 0.49, 0.5, 0.7, 0.99, 1.0):  # noqa: B007
            view.on_tick("loading", 3)
            draws.append(bool(stream.getvalue()))
            drawn_last(stream)

    assert draws == [False, False, False, True, False, False, True]


def test_the_region_is_gone_in_the_end_and_the_cursor_is_back() -> None:
    """Also where the study ends in an exception."""
    stream = Terminal()

    with contextlib.suppress(KeyboardInterrupt), live_view(stream) as view:
        view.on_phase("search", "48 configs", BUDGET)
        raise KeyboardInterrupt

    end = stream.getvalue()[-200:]
    assert "\x1b[?25h" in end
    assert not clean(end.rpartition("\x1b[2K")[2].replace("\x1b[?25h", ""))


def test_a_caution_stays_above_the_region() -> None:
    """It is written once, as a line of its own."""
    stream = Terminal()

    with live_view(stream) as view:
        view.on_caution("loud [bold]neighbours[/bold]\x1b[2J", "stop them")
        written = stream.getvalue()

    assert "  loud [bold]neighbours[/bold]\n" in written.replace("\x1b[0m", "")
    assert "\x1b[2J" not in written
    assert "stop them" in written


def test_foreign_text_cannot_draw() -> None:
    """A message keeps its brackets, and loses its terminal codes."""
    stream = Terminal()

    with live_view(stream) as view:
        view.on_phase("search", "48 configs", BUDGET)
        view.on_outcome(crashed(0, config(1), "[red]no\x1b[2J\nfile"))
        written = stream.getvalue()

    assert "[red]no file" in written
    assert "\x1b[2J" not in written


def test_no_color_leaves_cursor_moves_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The region still is one; nothing in it is coloured or bold."""
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()

    with live_view(stream) as view:
        view.on_phase("search", "48 configs", BUDGET)
        view.on_outcome(refused(0, config(1)))

    assert "\x1b[2K" in stream.getvalue()
    assert "m" not in {code[-1] for code in _codes(stream.getvalue())}


def _codes(text: str) -> list[str]:
    """Return the terminal codes in a text."""
    found = []
    for part in text.split("\x1b[")[1:]:
        end = next(place for place, char in enumerate(part) if char.isalpha())
        found.append(part[: end + 1])
    return found


def test_a_check_is_one_line_that_is_drawn_again() -> None:
    """What is checked now, and where its pass stands."""
    stream, now = Terminal(), 0.0

    with LiveStatus(stream, lambda: now) as view:
        view.on_phase("2 workers, prefetch 2, batch 32")
        now = 1.0
        view.on_tick("loading", 12)
        lines = drawn_last(stream)

    assert lines == ["checking  2 workers, prefetch 2, batch 32  loading, 12 done"]


def test_what_keeps_a_step_fed_is_shown_once_it_is_known() -> None:
    """Rates are then held against it."""
    stream = Terminal()

    with live_view(stream) as view:
        view.on_phase("search", "48 configs", BUDGET)
        view.on_target(Target(is_of_step=True, examples_per_s=380.0))
        view.on_outcome(measured(0, config(2), [500.0]))
        lines = drawn_last(stream)

    assert lines[1] == "wanted    what keeps the step fed (380 examples/s)"

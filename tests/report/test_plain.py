"""Lines of the view without a terminal, word for word."""

from __future__ import annotations

import io

from autoloader.report.plain import PlainStatus, PlainView, QuietView
from autoloader.search.budget import Budget
from autoloader.search.watcher import Extent
from autoloader.values.target import Target
from tests.report.fakes import MACHINE, config, crashed, measured, refused

BUDGET = Budget(180.0, lambda: 30.0, 0.0)


def plain_view(stream: io.StringIO) -> PlainView:
    """Return a view of a study with a target of 1,000 examples/s."""
    target = Target(examples_per_s=1000)
    return PlainView(stream, dataset="data.py:train", target=target, machine=MACHINE)


def test_each_event_is_one_line() -> None:
    """Phases, trials with their rate or fate, rounds and cautions."""
    stream = io.StringIO()

    with plain_view(stream) as view:
        view.on_caution("no --batch-size is named", "--batch-size 64 fixes it")
        view.on_caution("going on with the study", None)
        view.on_phase("reference", "data.py:train", BUDGET)
        view.on_tick("reading", 12)
        view.on_phase("search", "48 configs", BUDGET)
        view.on_trial(config(0))
        view.on_outcome(measured(0, config(0), [412.3]))
        view.on_outcome(refused(1, config(4)))
        view.on_outcome(crashed(2, config(8), "worker 3 raised KeyError: 'x'"))

    assert stream.getvalue().splitlines() == [
        "tune: data.py:train, target 1,000 examples/s, "
        "2.5 CPUs, 2.0 GiB of memory, no accelerator",
        "caution: no --batch-size is named (--batch-size 64 fixes it)",
        "caution: going on with the study",
        "reference: data.py:train (2 m 30 s left)",
        "search: 48 configs (2 m 30 s left)",
        "trial 1: 0 workers, batch 64: 412 examples/s",
        "trial 2: 4 workers, prefetch 2, batch 64: "
        "refused, missing_ids: 2 examples never arrived: ids 5, 7",
        "trial 3: 8 workers, prefetch 2, batch 64: "
        "crashed, worker_exception: worker 3 raised KeyError: 'x'",
    ]


def test_a_search_of_all_configs_counts_them_and_foretells_the_rest() -> None:
    """Its time has no end by the budget, so none is named."""
    stream, now = io.StringIO(), 30.0
    budget = Budget(180.0, lambda: now, 0.0)

    with plain_view(stream) as view:
        view.on_phase("search", "9 configs", budget, Extent(configs=9, tried=2))
        view.on_skip(config(1), "as few workers")
        now = 50.0
        view.on_outcome(measured(2, config(0), [412.3]))
        view.on_phase("race", "", budget)

    assert stream.getvalue().splitlines()[1:] == [
        "search: 9 configs (all of them, however long it takes)",
        "trial 3: 0 workers, batch 64: 412 examples/s; "
        "4 of 9 configs, about 1 m 40 s left",
        "not tried: 1 config: as few workers",
        "race:  (2 m 10 s left)",
    ]


def test_what_is_passed_over_is_one_line_when_the_search_is_over() -> None:
    """However many they are, and where the search is all that there was."""
    stream = io.StringIO()
    why = "at least as much memory as 8 workers, which ran out of it"

    with plain_view(stream) as view:
        view.on_phase("search", "48 configs", BUDGET)
        for workers in range(9, 40):
            view.on_skip(config(workers), why)
        view.on_outcome(measured(0, config(0), [412.3]))
        view.on_phase("race", "", BUDGET)
        view.on_skip(config(40), why)

    assert stream.getvalue().splitlines()[2:] == [
        "trial 1: 0 workers, batch 64: 412 examples/s",
        f"not tried: 31 configs: {why}",
        "race:  (2 m 30 s left)",
        f"not tried: 1 config: {why}",
    ]


def test_rates_of_a_round_keep_their_columns() -> None:
    """A round runs in another order, without the default, or with a failed pass."""
    stream = io.StringIO()
    view = plain_view(stream)

    view.on_round(1, {config(4): 1100.0, config(8): 1300.0, config(0): 200.0})
    view.on_round(2, {config(8): None, config(4): 1120.0})

    assert stream.getvalue().splitlines() == [
        "round 1: 1,100  1,300  200 examples/s",
        "round 2: 1,120  failed  - examples/s",
    ]


def test_a_foreign_message_stays_one_line() -> None:
    """Neither a line end nor a terminal code comes through."""
    stream = io.StringIO()
    view = plain_view(stream)

    view.on_outcome(crashed(0, config(1), "first\nsecond \x1b[31mred\x1b[0m"))

    assert stream.getvalue() == (
        "trial 1: 1 worker, prefetch 2, batch 64: "
        "crashed, worker_exception: first second red\n"
    )


def test_a_check_is_one_line_a_step() -> None:
    """Progress within a step is not written."""
    stream = io.StringIO()

    with PlainStatus(stream) as view:
        view.on_phase("reference")
        view.on_tick("reading", 3)
        view.on_phase("2 workers, prefetch 2, batch 32")

    assert stream.getvalue() == (
        "check: reference\ncheck: 2 workers, prefetch 2, batch 32\n"
    )


def test_the_quiet_view_takes_every_event() -> None:
    """It has the hooks of the others and writes nowhere."""
    with QuietView() as view:
        view.on_phase("search", "", BUDGET)
        view.on_tick("loading", 1)
        view.on_trial(config(0))
        view.on_outcome(measured(0, config(0), [412.3]))
        view.on_round(1, {config(0): 412.3})
        view.on_caution("message", None)


def test_what_keeps_a_step_fed_is_told_once_it_is_known() -> None:
    """Another target was told in the first line."""
    stream = io.StringIO()
    wanted = Target(is_of_step=True)

    with PlainView(stream, dataset="d", target=wanted, machine=MACHINE) as view:
        view.on_target(Target(share_of_best=0.95))
        view.on_target(Target(is_of_step=True, examples_per_s=380.0))

    first, last = stream.getvalue().splitlines()
    assert "target what keeps the step fed, " in first
    assert last == "target: what keeps the step fed (380 examples/s)"

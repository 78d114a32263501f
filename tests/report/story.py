"""A made-up study with every fate in it, as the views are told of it, and its end.

Nothing runs: the clock is moved by hand, so that what is shown is the same everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from autoloader.export.recommendation import Recommendation
from autoloader.search.budget import Budget
from autoloader.search.passed_over import PassedOver
from autoloader.search.selection import knob_effects
from autoloader.values.job import PassOrder, PassPlan
from autoloader.values.target import Target
from tests.report.fakes import MIB, config, crashed, failed, measured, refused, result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from autoloader.report.live import LiveView
    from autoloader.report.plain import PlainView
    from autoloader.tune_values import TuneResult
    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import Outcome

SPEC = "photos/data.py:train_set"

TARGET = Target(share_of_best=0.95, memory_bytes=1600 * MIB)

DEFAULT, TWO, THREE = config(0), config(2), config(3, persistent_workers=True)
FOUR, KEPT = config(4), config(4, persistent_workers=True)
DEEP = config(4, prefetch_factor=4, persistent_workers=True)
YOURS = config(8, prefetch_factor=4, pin_memory=True, persistent_workers=True)

RATES = {DEFAULT: 212.0, THREE: 598.0, KEPT: 611.0, FOUR: 586.0}
"""What was raced."""

FAILED = (
    failed(
        0,
        YOURS,
        kind="out_of_memory",
        phase="memory",
        message="it takes 1.9 GiB, the budget is 1.6 GiB",
        hint="raise --memory, or allow fewer workers",
        source="yours",
    ),
    refused(3, config(6)),
    failed(
        5,
        config(5),
        kind="hung",
        phase="gate",
        message="no progress for 60 s while loading, after 12 batches",
        hint="the stacks of all processes are in stderr.txt of the log folder",
    ),
    crashed(
        7,
        config(3),
        "worker 1 raised UnidentifiedImageError at id 811 (photos.py:42 in "
        "__getitem__), and the training process was told of it by a RuntimeError that "
        "names neither the file nor its place in the data set",
    ),
)

PASSED_OVER = PassedOver(
    reason="at least as much memory as 8 workers, which ran out of it",
    configs=(config(8, prefetch_factor=4), config(7, prefetch_factor=4)),
)

LIMIT: Mapping[str, Any] = {
    "name": "transform",
    "evidence": "2.41 of 2.5 CPUs are used at 598 examples/s; 82 % of an example's CPU "
    "time: transform",
    "ceiling_examples_per_s": 634.0,
    "cached_examples_per_s": 3221.0,
    "advice": (
        {
            "what": "decode smaller what is made smaller anyway: Image.draft() of "
            "Pillow, IMREAD_REDUCED_* of OpenCV, or store the files at the size that "
            "is used",
            "most_gain": 1.49,
            "test": "autoloader measure --dataset SPEC --config FILE before and after "
            "the change",
        },
    ),
}

CAUTION: Mapping[str, Any] = {
    "code": "machine_busy",
    "message": "other programs took 0.6 of 2.5 CPUs meanwhile",
    "hint": "rates and ratios hold for a machine as busy as this",
}


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        """Start at nothing."""
        self.now = 0.0

    def __call__(self) -> float:
        """Return the seconds."""
        return self.now


def trials() -> tuple[Outcome, ...]:
    """Return the trials of the search, in order."""
    rates = {
        1: (DEFAULT, 212.0, "pytorch_default"),
        2: (KEPT, 608.0, "search"),
        4: (TWO, 405.0, "search"),
        6: (FOUR, 590.0, "search"),
        8: (THREE, 601.0, "search"),
        9: (DEEP, 612.0, "search"),
    }
    found = [
        measured(number, tried, [rate], source)
        for number, (tried, rate, source) in rates.items()
    ]
    return tuple(sorted((*found, *FAILED), key=lambda item: item.number))


def tell(view: LiveView | PlainView, clock: Hand) -> Iterator[str]:
    """Tell a view of the study; yield the name of each moment worth a look.

    Args:
        view: what is told.
        clock: of the view; it is moved.
    """
    budget = Budget(180.0, clock, 0.0)
    view.on_caution("each pass had a fresh process: CUDA is initialised", None)
    view.on_phase("reference", SPEC, budget)
    clock.now = 4.0
    view.on_tick("reading", 1_120)
    yield "reference"
    view.on_phase("search", "36 configs", budget)
    for outcome in trials()[:8]:
        clock.now += 6.0
        view.on_trial(outcome.config)
        view.on_outcome(outcome)
    for skipped in PASSED_OVER.configs:
        view.on_skip(skipped, PASSED_OVER.reason)
    yield from _timed(view, clock, THREE, "search")
    for outcome in trials()[8:]:
        clock.now += 6.0
        view.on_outcome(outcome)
    view.on_phase("verification", KEPT.describe(), budget)
    view.on_pass(_order("gate", KEPT))
    clock.now += 3.0
    view.on_tick("loading", 21)
    yield "verification"
    view.on_phase("race", "; ".join(item.describe() for item in RATES), budget)
    for number in range(1, 5):
        clock.now += 7.0
        view.on_round(number, {tried: _rate(tried, number) for tried in RATES})
    yield from _timed(view, clock, KEPT, "race")


def _rate(tried: LoaderConfig, number: int) -> float:
    return RATES[tried] * (1.01, 0.99, 1.005)[(number + tried.num_workers) % 3]


def _timed(
    view: LiveView | PlainView, clock: Hand, tried: LoaderConfig, name: str
) -> Iterator[str]:
    """Tell of a timed pass that has come halfway."""
    view.on_pass(_order("timed", tried))
    done = 0
    for arrived in (3, 5, 7, 8, 6, 7, 9, 8):
        clock.now += 0.7
        done += arrived
        view.on_tick("loading", done)
    yield name


def _order(kind: str, tried: LoaderConfig) -> PassOrder:
    return PassOrder(
        kind=kind,
        config=tried,
        logs="logs",
        tmp="tmp",
        reference="reference",
        examples=512,
        plan=PassPlan(warm_batches=6, steady_batches=60, tail_batches=6),
    )


def ending() -> TuneResult:
    """Return what came of the study."""
    found = result(
        RATES,
        target=TARGET,
        sources={DEFAULT: "pytorch_default"},
        failed=FAILED,
        cautions=[CAUTION],
    )
    others = [item for item in trials() if item.config in (TWO, DEEP)]
    outcomes = (*found.outcomes, *others)
    standings, choice = found.result.standings, found.result.choice
    assert found.recommendation is not None
    assert standings is not None
    assert choice.config is not None
    data = {
        **found.recommendation.data,
        "dataset": SPEC,
        "limit": LIMIT,
        "knobs": knob_effects(outcomes, choice.config, standings.relative),
        "study": {
            "seconds": 171.0,
            "space": {
                "num_workers": [0, 8],
                "prefetch_factor": [2, 4],
                "pin_memory": [False],
                "persistent_workers": [False, True],
                "batch_size": [64],
            },
        },
    }
    return replace(
        found,
        outcomes=tuple(sorted(outcomes, key=lambda item: item.number)),
        recommendation=Recommendation(data),
        stopped_search="settled",
        passed_over=(PASSED_OVER,),
    )

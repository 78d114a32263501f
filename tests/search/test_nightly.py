"""Judging a night: what counts as a change, how often chance does, what is told."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from autoloader.search.baseline import Baseline, Rival
from autoloader.search.nightly import LEVEL_NIGHTS, Judgement, is_quiet, judge
from autoloader.search.shifts import NIGHT_SPREAD, shifts_of, spread_of_nights
from autoloader.values.night import Night
from autoloader.values.target import Target
from tests.search.replayed import config

if TYPE_CHECKING:
    from autoloader.search.standings import Round
    from autoloader.values.config import LoaderConfig

DEFAULT, STORED, FASTEST = config(0), config(2), config(4)

BASELINE = Baseline(
    config=STORED,
    rates=(500.0, 505.0, 495.0, 500.0, 502.0, 498.0),
    rivals=(
        Rival(
            name="pytorch_default",
            config=DEFAULT,
            ratios=(0.50, 0.51, 0.49, 0.50, 0.505, 0.495),
        ),
        Rival(
            name="fastest",
            config=FASTEST,
            ratios=(1.02, 1.01, 1.03, 1.02, 1.025, 1.015),
        ),
    ),
    target=Target(share_of_best=0.95),
    ranks=1,
    is_memory_asked=False,
    examples=1600,
    verified=1600,
)
"""A study in which the default had half of the stored rate, the fastest 2 % more."""

RATE = replace(BASELINE, target=Target(examples_per_s=480.0))
"""The same, of which 480 examples a second were wanted."""

ALONE = replace(RATE, rivals=())
"""The same, where PyTorch's default was chosen and nothing else was raced."""

JITTER = (1.0, 1.02, 0.98, 1.01, 0.99, 1.0)


def rounds(
    *, stored: float = 500.0, default: float = 250.0, fastest: float = 510.0
) -> list[Round]:
    """Return six rounds at these rates, each a little off."""
    return [
        {DEFAULT: default * jitter, STORED: stored, FASTEST: fastest / jitter}
        for jitter in JITTER
    ]


def a_night(**parts: Any) -> Night:
    """Return a night of the past."""
    whole = {
        "at": "2026-11-01T02:00:00+00:00",
        "verdict": "holds",
        "exit_code": 0,
        "reason": "as it was",
        "machine": "test",
        "file_date": None,
        "dataloader": {},
        **parts,
    }
    return Night(**whole)


def judged(baseline: Baseline = BASELINE, **rates: float) -> Judgement:
    """Return what a night at these rates says."""
    return judge(baseline, rounds(**rates), ())


def test_a_night_like_the_study_holds_after_the_first_rounds() -> None:
    """And says what it saw, and what it would have seen."""
    found = judged()

    assert found.says == "holds"
    assert is_quiet(BASELINE, rounds(), ())
    assert found.reason == (
        "2.00 times as fast as PyTorch's default, 2.00 times in the study"
    )
    assert found.rate == 500
    assert found.level == pytest.approx(1.0, abs=0.001)
    assert found.pace == "usual"
    assert found.vs_default == pytest.approx(2.0, rel=0.01)
    assert found.vs_second == pytest.approx(1 / 1.02, rel=0.01)
    assert found.could_see is not None
    assert 0.05 < found.could_see < 0.25


@pytest.mark.parametrize("slower", [0.5, 0.7, 0.9, 1.3])
def test_what_slows_all_alike_changes_no_ratio(slower: float) -> None:
    """However slow the night is."""
    found = judged(stored=500 * slower, default=250 * slower, fastest=510 * slower)

    assert found.says == "holds"
    assert found.level == pytest.approx(slower, rel=0.01)


def test_a_slow_night_is_told_as_one() -> None:
    """With both rates."""
    found = judged(stored=350.0, default=175.0, fastest=357.0)

    assert found.pace == "slow"
    assert found.reason == (
        "2.00 times as fast as PyTorch's default, 2.00 times in the study; a slow "
        "night for both: 350 examples/s, 500 in the study"
    )


@pytest.mark.parametrize(
    ("pace", "rate"), [("slow", 350.0), ("fast", 650.0)], ids=["slow", "fast"]
)
def test_the_third_slow_night_in_a_row_is_the_machine(pace: Any, rate: float) -> None:
    """A night that read nothing between them says nothing; a usual one does."""
    tonight = rounds(stored=rate, default=rate / 2, fastest=rate * 1.02)
    odd, none, usual = a_night(pace=pace), a_night(), a_night(pace="usual")

    assert LEVEL_NIGHTS == 3
    assert judge(BASELINE, tonight, [odd]).says == "holds"
    assert judge(BASELINE, tonight, [odd, usual, odd]).says == "holds"
    assert judge(BASELINE, tonight, [usual, odd, none, odd]).says == "changed"
    found = judge(BASELINE, tonight, [odd, odd])
    assert found.reason == (
        f"3 {pace} nights in a row: {rate:.0f} examples/s, 500 in the study"
    )


@pytest.mark.parametrize(
    ("rates", "reason"),
    [
        (
            {"default": 400.0},
            "1.25 times as fast as PyTorch's default, 2.00 times in the study",
        ),
        (
            {"default": 150.0},
            "3.33 times as fast as PyTorch's default, 2.00 times in the study",
        ),
        (
            {"fastest": 350.0},
            "1.43 times as fast as the fastest of the study, 0.98 times in the study",
        ),
    ],
    ids=["default-gained", "default-lost", "fastest-lost"],
)
def test_a_ratio_that_changed_either_way_calls_for_a_tune(
    rates: dict[str, float], reason: str
) -> None:
    """The rival that changed most is named."""
    found = judge(BASELINE, rounds(**rates), ())

    assert found.says == "changed"
    assert found.reason.startswith(f"{reason}; a change by ")
    assert found.reason.endswith(" is no accident")


def test_a_share_is_lost_where_another_is_faster_than_it_allows() -> None:
    """Beyond doubt, less the zone in which nothing is told apart."""
    found = judged(fastest=750.0)

    assert found.says == "lost"
    assert found.reason == (
        "the fastest of the study is 1.50 times as fast as the stored settings, and "
        "95 % of the fastest is wanted"
    )


def test_a_rate_is_lost_where_the_default_did_not_slow_as_well() -> None:
    """By what it would be on a usual night."""
    lost = judge(RATE, rounds(stored=300.0), ())
    slow = judge(RATE, rounds(stored=300.0, default=150.0, fastest=306.0), ())

    assert lost.says == "lost"
    assert lost.reason.startswith("at most ")
    assert lost.reason.endswith(" examples/s on a usual night, 480 examples/s wanted")
    assert slow.says == "holds"


def test_a_rate_without_another_config_is_judged_by_itself() -> None:
    """A fifth less may be the night, half is not."""
    less, half = rounds(stored=420.0), rounds(stored=250.0)

    assert judge(ALONE, less, ()).says == "holds"
    assert judge(ALONE, half, ()).says == "lost"
    assert judge(ALONE, less, ()).reason == "420 examples/s, 500 in the study"
    assert judge(ALONE, less, ()).could_see is None


def test_a_night_on_which_the_default_fails_is_judged_by_the_other() -> None:
    """Its ratio is missing, and nothing is made of that."""
    without = [{STORED: 500.0, FASTEST: 510.0 * jitter} for jitter in JITTER]

    found = judge(RATE, without, ())

    assert found.says == "holds"
    assert found.vs_default is None
    assert not is_quiet(RATE, without, ())


def test_too_few_rounds_are_undecided() -> None:
    """Of the stored settings, or of another beside them."""
    few = judge(BASELINE, rounds()[:1], ())
    none = judge(BASELINE, [{STORED: 500.0}] * 6, ())

    assert (few.says, none.says) == ("undecided", "undecided")
    assert few.reason == "the stored settings were read once only"
    assert none.reason == "no other config was read 3 times beside the stored one"
    assert judge(BASELINE, [], ()).reason == (
        "the stored settings were read 0 times only"
    )


def test_a_night_in_which_nothing_could_be_seen_is_too_noisy() -> None:
    """It says from what on it would have seen something."""
    wild = (1.0, 2.2, 0.5, 1.8, 0.4, 1.0)
    noisy = [
        {DEFAULT: 250 * jitter, STORED: 500.0, FASTEST: 510 / jitter} for jitter in wild
    ]

    found = judge(BASELINE, noisy, ())

    assert found.says == "undecided"
    assert found.reason.startswith("too noisy: a change by less than ")
    assert not is_quiet(BASELINE, noisy, ())


def test_a_study_of_few_rounds_is_told_as_the_reason() -> None:
    """The next night would be no better."""
    ratios = (0.3, 0.5, 0.8)
    default = replace(BASELINE.rivals[0], ratios=ratios)

    found = judge(replace(BASELINE, rivals=(default,)), rounds(), ())

    assert found.says == "undecided"
    assert found.reason.startswith("the study has so few rounds that a change by less ")


def test_nights_tell_how_much_ratios_scatter() -> None:
    """What is assumed counts as eight nights, so that a few odd ones do not rule."""
    rival, other = BASELINE.rivals
    calm = [a_night(vs_default=2.0) for _ in range(30)]
    wild = [a_night(vs_default=2.0 * 1.2 ** (-1) ** night) for night in range(30)]

    assert spread_of_nights(rival, ()) == (NIGHT_SPREAD, 8)
    assert spread_of_nights(other, wild) == (NIGHT_SPREAD, 8)
    assert spread_of_nights(rival, calm)[0] == pytest.approx(0.0093, abs=0.001)
    assert spread_of_nights(rival, wild)[0] == pytest.approx(0.165, abs=0.01)
    assert spread_of_nights(rival, wild)[1] == 37


def drawn(draw: random.Random, count: int, spread: float, nights: float) -> list[Round]:
    """Return rounds of a night, with what the night does to each config for itself."""
    own = [draw.gauss(0.0, nights) for _ in range(3)]
    found: list[Round] = []
    for _ in range(count):
        for_all = draw.gauss(0.0, 0.05)
        rates = [
            rate * math.exp(for_all + shift + draw.gauss(0.0, spread))
            for rate, shift in zip((250.0, 500.0, 510.0), own, strict=True)
        ]
        found.append(dict(zip((DEFAULT, STORED, FASTEST), rates, strict=True)))
    return found


def a_study(draw: random.Random, spread: float) -> Baseline:
    """Return a study of six rounds; PyTorch's default runs in every second one."""
    then = drawn(draw, 6, spread, 0.01)

    def ratios(rival: LoaderConfig, rounds_: list[Round]) -> tuple[float, ...]:
        pairs = [(item[rival] or 0.0, item[STORED] or 1.0) for item in rounds_]
        return tuple(rate / other for rate, other in pairs)

    default, fastest = BASELINE.rivals
    return replace(
        BASELINE,
        rates=tuple(item[STORED] or 0.0 for item in then),
        rivals=(
            replace(default, ratios=ratios(DEFAULT, then[::2])),
            replace(fastest, ratios=ratios(FASTEST, then)),
        ),
    )


@pytest.mark.parametrize(
    ("study", "night"), [(0.02, 0.02), (0.05, 0.05), (0.1, 0.1), (0.1, 0.05)]
)
def test_chance_calls_for_no_tune_in_thousands_of_nights(
    study: float, night: float
) -> None:
    """One night in 2,000 may; each against a study of its own here."""
    draw, called = random.Random(3), 0  # noqa: S311  # no secret

    for _ in range(1000):
        baseline = a_study(draw, study)
        now = drawn(draw, 12, night, 0.01)
        called += any(item.is_real for item in shifts_of(baseline, now, ()))

    assert called <= 3


def test_a_loss_of_a_third_is_seen_in_most_nights() -> None:
    """Readings scatter by 5 %, ratios by 1.4 % from night to night."""
    draw, seen = random.Random(4), 0  # noqa: S311  # no secret

    for _ in range(300):
        now = drawn(draw, 12, 0.05, 0.01)
        slow = [{**item, STORED: 0.67 * float(item[STORED] or 0)} for item in now]
        seen += judge(BASELINE, slow, ()).says in {"changed", "lost"}

    assert seen >= 290

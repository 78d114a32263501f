"""What rounds of rates say of configs, judged against a target."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from autoloader.measure.intervals import t_quantile
from autoloader.search.standings import Judgement, Standings, drift_of
from autoloader.values.config import LoaderConfig
from autoloader.values.target import DRIFT, INDIFFERENCE, Target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autoloader.search.standings import Round

ONE, TWO, FOUR, SIX = (
    LoaderConfig.canonical(num_workers=workers, batch_size=32)
    for workers in (1, 2, 4, 6)
)
RATE_1000 = Target(examples_per_s=1000)
SHARE_95 = Target(share_of_best=0.95)
WANTED_SHARE = 0.95 * (1 - INDIFFERENCE)

Rounds = list[dict[LoaderConfig, float | None]]


def rounds_of(rates: Mapping[LoaderConfig, Sequence[float | None]]) -> Rounds:
    """Return rounds from each config's rates in turn; None: not in that round."""
    return [
        {config: rate for config, rate in zip(rates, line, strict=True) if rate}
        for line in zip(*rates.values(), strict=True)
    ]


def noisy_rounds(
    generator: np.random.Generator,
    rates: dict[LoaderConfig, float],
    count: int,
    spread: float = 0.05,
) -> Rounds:
    """Return rounds with noise for each reading and a drift that all share."""
    drift = generator.normal(0, 0.1, (count, 1))
    noise = generator.normal(0, spread, (count, len(rates))) + drift
    return [
        {
            config: rate * math.exp(deviation)
            for (config, rate), deviation in zip(rates.items(), line, strict=True)
        }
        for line in noise.tolist()
    ]


def test_a_steady_config_above_the_rate_meets_it() -> None:
    """Its readings scatter less than it is above."""
    rounds = rounds_of({TWO: [1100.0, 1110, 1090, 1105, 1095, 1100]})

    assert Standings.of(rounds, RATE_1000)[TWO].judgement is Judgement.MEETS


def test_a_steady_config_below_the_rate_fails() -> None:
    """Its readings scatter less than it is below."""
    rounds = rounds_of({TWO: [900.0, 910, 890, 905, 895, 900]})

    assert Standings.of(rounds, RATE_1000)[TWO].judgement is Judgement.FAILS


def test_a_config_that_scatters_around_the_rate_is_undecided() -> None:
    """Half of its readings are on either side."""
    rounds = rounds_of({TWO: [900.0, 1100, 950, 1050, 850, 1150]})

    assert Standings.of(rounds, RATE_1000)[TWO].judgement is Judgement.UNDECIDED


def test_a_config_within_the_indifference_zone_meets_the_target() -> None:
    """What is 2 % below the share is enough, what is 4 % below is not."""
    wanted = 0.95 * 1000
    rounds = rounds_of(
        {TWO: [0.98 * wanted] * 6, FOUR: [0.96 * wanted] * 6, SIX: [1000.0] * 6}
    )

    standings = Standings.of(rounds, SHARE_95)

    assert standings[TWO].judgement is Judgement.MEETS
    assert standings[FOUR].judgement is Judgement.FAILS


@pytest.mark.parametrize("best", [1000.0, 2000.0, 3.3])
def test_readings_without_scatter_on_the_limit_meet_it(best: float) -> None:
    """Rounding of logarithms does not turn what is equal into less."""
    rates = {TWO: [best * WANTED_SHARE] * 6, FOUR: [best] * 6}

    standings = Standings.of(rounds_of(rates), SHARE_95)

    assert standings[TWO].judgement is Judgement.MEETS


@pytest.mark.parametrize("rounds", [6, 24])
def test_minutes_tell_a_rate_to_a_few_per_cent_however_many_rounds(rounds: int) -> None:
    """The machine may do as much better or worse for hours; a share is no worse off."""
    rates = {ONE: [920.0], TWO: [990.0], FOUR: [1030.0]}
    steady = rounds_of({config: rate * rounds for config, rate in rates.items()})

    found = Standings.of(steady, RATE_1000)

    assert found[ONE].judgement is Judgement.FAILS
    assert found[TWO].judgement is Judgement.UNDECIDED
    assert found[FOUR].judgement is Judgement.MEETS
    assert Standings.of(steady, SHARE_95)[TWO].judgement is Judgement.MEETS


def test_bounds_are_those_of_the_log_rates_and_the_drift() -> None:
    """Worked out by hand for an absolute target."""
    rates = [1100.0, 1200.0, 1000.0, 1150.0]
    logs = np.log(rates)
    margin = t_quantile(0.95, 3) * logs.std(ddof=1) / 2
    margin = math.hypot(margin, 1.6449 * DRIFT)

    standing = Standings.of(rounds_of({TWO: rates}), RATE_1000)[TWO]

    low, high = logs.mean() - margin, logs.mean() + margin
    assert standing.ratio_low == pytest.approx(math.exp(low) / 970, rel=1e-5)
    assert standing.ratio_high == pytest.approx(math.exp(high) / 970, rel=1e-5)
    assert standing.ratio == pytest.approx(math.exp(logs.mean()) / 970)


@pytest.mark.parametrize("rounds", [6, 24])
def test_a_rate_on_the_limit_is_called_wrong_as_often_as_stated(rounds: int) -> None:
    """Seeded: each race meets the machine in another mood."""
    races, error = 2000, 0.05
    generator = np.random.default_rng(rounds)
    called: list[Judgement] = []

    for mood in generator.normal(0, DRIFT, races):
        logs = generator.normal(mood, 0.05, rounds)
        rates = {TWO: (970 * np.exp(logs)).tolist()}
        called.append(Standings.of(rounds_of(rates), RATE_1000, error)[TWO].judgement)

    for wrong in (Judgement.MEETS, Judgement.FAILS):
        assert 0.02 < called.count(wrong) / races < 0.065


def test_a_drift_that_the_rounds_show_is_allowed_for() -> None:
    """What all configs of a round have in common is no scatter of their own."""
    common = [1.0, 1.1, 0.9, 1.05, 0.95, 1.0]
    rates = {TWO: [1000 * now for now in common], FOUR: [1500 * now for now in common]}

    found = drift_of(rounds_of({**rates, SIX: [1600.0, *[None] * 5]}))

    assert found == pytest.approx(float(np.log(common).std(ddof=1)))


def test_scatter_is_no_drift() -> None:
    """Seeded: 24 rounds of three configs, each reading off by 8 % for itself."""
    generator = np.random.default_rng(0)
    rates = 1000 * np.exp(generator.normal(0, 0.08, (3, 24)))
    rounds = rounds_of(dict(zip((ONE, TWO, FOUR), rates.tolist(), strict=True)))

    assert drift_of(rounds) < 0.04


@pytest.mark.parametrize("rounds", [[], [{TWO: 900.0, FOUR: 800.0}], [{TWO: 9.0}] * 9])
def test_where_rounds_cannot_show_it_the_least_drift_is_taken(
    rounds: list[Round],
) -> None:
    """One round, or one config, tells nothing of what rounds have in common."""
    assert drift_of(rounds) == DRIFT


def test_one_round_decides_nothing() -> None:
    """No scatter was seen, however far from the target the reading is."""
    rounds = rounds_of({TWO: [9000.0], FOUR: [10.0]})

    standings = Standings.of(rounds, RATE_1000)

    assert standings[TWO].judgement is Judgement.UNDECIDED
    assert standings[FOUR].judgement is Judgement.UNDECIDED
    assert standings[TWO].ratio_low is None
    assert standings[TWO].ratio_high is None


def test_two_rounds_decide_only_what_is_clear_cut() -> None:
    """Two readings that agree to the last digit may still be 20 % off together."""
    rounds = rounds_of(
        {ONE: [1200.0] * 2, TWO: [1300.0] * 2, FOUR: [700.0] * 2, SIX: [800.0] * 2}
    )

    found = Standings.of(rounds, RATE_1000)

    assert found[ONE].judgement is Judgement.UNDECIDED
    assert found[TWO].judgement is Judgement.MEETS
    assert found[FOUR].judgement is Judgement.FAILS
    assert found[SIX].judgement is Judgement.UNDECIDED


def test_a_drift_that_slows_every_config_down_does_not_blur_a_share() -> None:
    """The machine halves its speed during the race; the ratio stays what it is."""
    drift = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5]
    rounds = rounds_of(
        {TWO: [960 * now for now in drift], FOUR: [1000 * now for now in drift]}
    )

    standings = Standings.of(rounds, SHARE_95)

    assert standings[TWO].judgement is Judgement.MEETS
    assert standings[TWO].ratio == pytest.approx(0.96 / WANTED_SHARE)
    assert standings[TWO].ratio_low == pytest.approx(0.96 / WANTED_SHARE)


def test_the_fastest_config_meets_a_share_of_itself() -> None:
    """It is as fast as the best, which it is; no scatter can change that."""
    rounds = rounds_of({TWO: [100.0] * 6, FOUR: [1000.0, 1500, 700, 1200, 900, 1100]})

    standing = Standings.of(rounds, SHARE_95)[FOUR]

    assert standing.judgement is Judgement.MEETS
    assert standing.ratio == pytest.approx(1 / WANTED_SHARE)
    assert standing.ratio_high == pytest.approx(1 / WANTED_SHARE)


def test_a_config_of_every_second_round_is_compared_within_its_rounds() -> None:
    """It ran while the machine was fast, and is slower than both in each round."""
    rounds = rounds_of(
        {
            ONE: [900.0, None, 900.0, None, 900.0, None],
            TWO: [990.0, 495.0, 990.0, 495.0, 990.0, 495.0],
            FOUR: [1000.0, 500.0, 1000.0, 500.0, 1000.0, 500.0],
        }
    )

    standings = Standings.of(rounds, SHARE_95)

    assert standings.best == FOUR
    assert standings[ONE].rounds == 3
    assert standings[ONE].rate.median > standings[FOUR].rate.median
    assert standings[ONE].ratio == pytest.approx(0.9 / WANTED_SHARE)
    assert standings[ONE].judgement is Judgement.FAILS
    assert standings[TWO].judgement is Judgement.MEETS


def test_a_rival_seen_in_one_common_round_may_be_the_best_by_any_factor() -> None:
    """Without scatter there is no lower bound against it, so nothing else meets."""
    rounds = rounds_of({ONE: [10.0, None], TWO: [990.0, 990.0], FOUR: [1000.0, 1000.0]})

    standings = Standings.of(rounds, SHARE_95)

    assert standings[TWO].ratio_low is None
    assert standings[TWO].judgement is Judgement.UNDECIDED


def test_the_best_is_the_best_of_those_that_are_left() -> None:
    """What is left out has no speed, and no share is taken of it."""
    rounds = rounds_of({TWO: [800.0] * 6, FOUR: [830.0] * 6, SIX: [1000.0] * 6})
    standings = Standings.of(rounds, SHARE_95)

    left = standings.without({SIX})

    assert standings.best == SIX
    assert standings[TWO].judgement is Judgement.FAILS
    assert left.best == FOUR
    assert left[TWO].judgement is Judgement.MEETS
    assert left.without({FOUR}).best == TWO
    assert left.without({FOUR, TWO}).best is None


def test_how_much_faster_one_config_is_has_an_interval_of_its_own() -> None:
    """Twice as fast in each round, within one per cent."""
    rounds = rounds_of({TWO: [100.0, 101, 99, 100], FOUR: [200.0, 200, 200, 200]})

    relative = Standings.of(rounds, SHARE_95).relative(FOUR, TWO)

    assert relative is not None
    assert relative.median == pytest.approx(2.0)
    assert relative.low is not None
    assert relative.high is not None
    assert 1.95 < relative.low < 2.0 < relative.high < 2.05


def test_configs_without_a_common_round_are_not_compared() -> None:
    """There is no pair to take a ratio of, and none with a config that did not race."""
    rounds = rounds_of({TWO: [100.0, None], FOUR: [None, 200.0]})

    standings = Standings.of(rounds, SHARE_95)

    assert standings.relative(FOUR, TWO) is None
    assert standings.relative(FOUR, SIX) is None


def test_a_config_that_was_not_raced_has_no_standing() -> None:
    """Asking for it is a mistake of the caller."""
    standings = Standings.of(rounds_of({TWO: [100.0]}), RATE_1000)

    with pytest.raises(KeyError):
        standings[FOUR]


def test_standings_are_written_with_their_judgements() -> None:
    """Names of the file, plain values only."""
    standings = Standings.of(rounds_of({TWO: [2000.0] * 6}), RATE_1000, 0.01)

    written = standings.to_dict()

    assert written["error"] == 0.01
    assert written["target"] == RATE_1000.to_dict()
    assert written["table"][0]["config"] == TWO.to_dict()
    assert written["table"][0]["judgement"] == "meets"
    assert written["table"][0]["rate"] == pytest.approx(
        {"median": 2000.0, "low": 2000.0, "high": 2000.0}
    )


@pytest.mark.parametrize("rounds", [6, 12, 24])
@pytest.mark.parametrize("rivals", [1, 4])
def test_a_config_on_the_limit_is_called_wrong_as_often_as_stated(
    rounds: int, rivals: int
) -> None:
    """Seeded: several equally fast rivals do not make a failure more likely."""
    races, error = 600, 0.05
    generator = np.random.default_rng(rounds + rivals)
    rates = dict.fromkeys((ONE, TWO, FOUR, SIX)[:rivals], 1000.0)
    on_the_limit = LoaderConfig.canonical(num_workers=0, batch_size=32)
    rates[on_the_limit] = 1000.0 * WANTED_SHARE

    found = [
        Standings.of(noisy_rounds(generator, rates, rounds), SHARE_95, error)
        for _ in range(races)
    ]

    judgements = [standings[on_the_limit].judgement for standings in found]
    assert judgements.count(Judgement.FAILS) / races < 0.077  # and 3 standard errors
    assert judgements.count(Judgement.MEETS) / races < 0.077

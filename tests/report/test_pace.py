"""How far a search without an end by budget has come, and what the rest may take."""

from autoloader.report.pace import Pace
from autoloader.search.watcher import Extent


class Clock:
    """Seconds that a test lets pass."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now_s


def after_two_trials(clock: Clock) -> Pace:
    """Return the pace of ten configs, one tried before, after two trials of 20 s."""
    pace = Pace(Extent(configs=10, tried=1), clock)
    for _ in range(2):
        clock.now_s += 20.0
        pace.on_outcome()
    return pace


def test_nothing_is_foretold_before_a_trial_of_this_run() -> None:
    """What earlier runs took was another machine's load, perhaps."""
    pace = Pace(Extent(configs=10, tried=4), Clock())

    said = pace.describe()

    assert pace.left_s is None
    assert said == "4 of 10 configs"


def test_the_others_take_as_long_as_those_before() -> None:
    """Seven of ten are left, 20 seconds each."""
    pace = after_two_trials(Clock())

    assert (pace.done, pace.share, pace.left_s) == (3, 0.3, 140.0)
    assert pace.describe() == "3 of 10 configs, about 2 m 20 s left"


def test_what_is_passed_over_takes_no_time() -> None:
    """It is done with, and no trial is as long as its share."""
    pace = after_two_trials(Clock())

    pace.on_skip()
    pace.on_skip()

    assert (pace.done, pace.left_s) == (5, 100.0)


def test_a_trial_that_takes_long_leaves_the_later_ones_their_time() -> None:
    """The estimate runs down with the clock, to what the six after it take."""
    clock = Clock()
    pace = after_two_trials(clock)

    clock.now_s += 5.0
    soon = pace.left_s
    clock.now_s += 500.0

    assert soon == 135.0
    assert pace.left_s == 120.0


def test_nothing_is_left_at_the_end() -> None:
    """Then only the count is told; one config more than foreseen changes nothing."""
    pace = after_two_trials(Clock())

    for _ in range(8):
        pace.on_skip()

    assert (pace.share, pace.left_s) == (1.0, 0.0)
    assert pace.describe() == "10 of 10 configs"

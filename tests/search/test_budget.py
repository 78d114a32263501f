"""How the wall time of a tune is shared out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoloader.search.budget import FINISH_SHARE, Budget
from tests.fakes import FakeClock


def test_half_is_kept_for_the_finish_and_three_tenths_in_any_case() -> None:
    """A search ends at one of them, and three seconds before, whatever is open yet."""
    budget = Budget(180.0, FakeClock(1000.0), 1000.0)

    assert budget.search_end == pytest.approx(1087.0)
    assert budget.search_limit == pytest.approx(1123.0)
    assert budget.end == pytest.approx(1180.0)


def test_a_study_that_goes_on_has_what_is_left() -> None:
    """The earlier run took its part."""
    budget = Budget(180.0, FakeClock(10.0), 10.0, spent_before_s=60.0)

    assert budget.end == pytest.approx(130.0)
    assert budget.spent_s == pytest.approx(60.0)
    assert budget.left_s == pytest.approx(120.0)


@given(st.floats(1.0, 1e5), st.floats(0.0, 1e6), st.floats(0.0, 1e6))
def test_a_finish_has_its_time_whatever_was_spent(
    total_s: float, spent_s: float, now_s: float
) -> None:
    """For any budget: it races again; and no end comes before another's."""
    budget = Budget(total_s, FakeClock(now_s), now_s, spent_before_s=spent_s)

    assert budget.end - budget.begun >= total_s * FINISH_SHARE * (1 - 1e-6)
    assert budget.search_end <= budget.search_limit <= budget.end


@pytest.mark.parametrize(
    ("rate", "scope", "expected"),
    [
        pytest.param(100.0, 600, 600, id="all-within-15-%-of-the-budget"),
        pytest.param(100.0, 1351, 720, id="a-part-of-8-%-of-the-budget"),
        pytest.param(10.0, 1351, 512, id="as-many-as-a-gate"),
        pytest.param(0.1, 300, 300, id="no-more-than-there-are"),
    ],
)
def test_all_examples_are_verified_where_that_takes_a_small_part_of_the_budget(
    rate: float, scope: int, expected: int
) -> None:
    """Two epochs of them: 180 s at 100 a second have room for 1,350 within 15 %."""
    budget = Budget(180.0, FakeClock(0.0), 0.0)

    found = budget.examples_to_verify(rate, scope)

    assert found == expected


@pytest.mark.parametrize(
    ("total_s", "kept_s"), [(20.0, 1.2), (30.0, 1.8), (180.0, 3.0), (3600.0, 3.0)]
)
def test_passes_over_free_examples_keep_few_seconds(
    total_s: float, kept_s: float
) -> None:
    """Those of the search: the race has as much as before."""
    budget = Budget(total_s, FakeClock(0.0), 0.0)

    assert budget.ceilings_s == pytest.approx(kept_s)
    kept_for_all_s = total_s * FINISH_SHARE + kept_s
    assert budget.end - budget.search_end == pytest.approx(kept_for_all_s)

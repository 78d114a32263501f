"""What is right passes, every time, and nothing is said against it."""

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.hazard import Case
from tests.conformance.honest import EASIEST, HONEST, OTHERS
from tests.conformance.running import differences, run

TIMES = 5


def named(cases: list[Case]) -> list[Any]:
    """Return the cases with names."""
    return [
        pytest.param(
            case, id="-".join((case.dataset.replace(".py:", "-"), *case.arguments[:1]))
        )
        for case in cases
    ]


def test_the_honest_are_many() -> None:
    """At least 30 five times, each listed once, all without finding and caution."""
    listed = {(case.dataset, case.arguments) for case in HONEST}

    assert len(EASIEST) >= 30
    assert len(listed) == len(HONEST)
    assert {word for case in HONEST for word in case.says} == {"passed"}
    assert {case.cautions for case in HONEST} == {frozenset()}


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", named(EASIEST))
def test_the_honest_pass_five_times_in_a_row(case: Case, tmp_path: Path) -> None:
    """Five checks agree that there is nothing to say."""
    found = []

    for number in range(TIMES):
        folder = tmp_path / str(number)
        folder.mkdir()
        found += differences(case, run(case, folder))

    assert found == []


@pytest.mark.full
@pytest.mark.parametrize("case", named(OTHERS))
def test_the_honest_pass_in_every_form(case: Case, tmp_path: Path) -> None:
    """There is nothing to say."""
    assert differences(case, run(case, tmp_path)) == []

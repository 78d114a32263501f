"""What is right passes, five times out of five, and nothing is said against it."""

from pathlib import Path

import pytest

from tests.conformance.hazard import Case
from tests.conformance.honest import HONEST
from tests.conformance.running import differences, run

TIMES = 5
CASES = [
    pytest.param(
        case, id="-".join((case.dataset.replace(".py:", "-"), *case.arguments))
    )
    for case in HONEST
]


def test_the_honest_are_many() -> None:
    """At least 32 datasets, each once, all without finding and without caution."""
    named = {(case.dataset, case.arguments) for case in HONEST}

    assert len(named) == len(HONEST) >= 32
    assert {word for case in HONEST for word in case.says} == {"passed"}
    assert {case.cautions for case in HONEST} == {frozenset()}


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", CASES)
def test_the_honest_pass(case: Case, tmp_path: Path) -> None:
    """Five checks in a row agree that there is nothing to say."""
    found = []

    for number in range(TIMES):
        folder = tmp_path / str(number)
        folder.mkdir()
        found += differences(case, run(case, folder))

    assert found == []

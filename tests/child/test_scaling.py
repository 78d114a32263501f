"""Plain computing is measured alone, and on workers that compute at once."""

import os

import pytest

from autoloader.child.scaling import Computing, compute_growth, compute_s

forks = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


def test_more_steps_take_more_cpu_time() -> None:
    """CPU time, which others that run do not add to."""
    assert compute_s(40_000) > 2 * compute_s(5_000)


def test_an_example_of_the_probe_is_what_it_took() -> None:
    """Whichever it is."""
    probe = Computing(5_000, 3)

    assert len(probe) == 3
    assert probe[2] > 0


@forks
@pytest.mark.alone
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one CPU disturbs nobody")
def test_cpus_slow_each_other_by_less_than_they_gain() -> None:
    """By nothing on cores of their own, by up to twice on halves of one."""
    found = compute_growth(4, "fork")

    assert found is not None
    assert 1.0 <= found < 2.5


def test_one_process_has_nobody_to_disturb() -> None:
    """Nothing is measured then."""
    assert compute_growth(1, "fork") is None


def test_one_cpu_has_nobody_to_disturb(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is measured then."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0}, raising=False)

    assert compute_growth(4, "fork") is None

"""A lease is over where nobody was seen to renew it, by the observer's own clock."""

from autoloader.search.leases import Leases
from tests.fakes import FakeClock


def test_a_lease_that_is_seen_first_has_all_its_time() -> None:
    """However old it is: nobody's clock but this one counts."""
    clock = FakeClock()
    leases = Leases(60.0, clock)

    assert not leases.is_over(1, beat=7)
    clock.now += 60.0
    assert not leases.is_over(1, beat=7)
    clock.now += 0.1
    assert leases.is_over(1, beat=7)


def test_a_renewed_lease_has_all_its_time_again() -> None:
    """Each trial by itself."""
    clock = FakeClock()
    leases = Leases(60.0, clock)
    leases.is_over(1, beat=0)
    leases.is_over(2, beat=0)

    clock.now += 59.0
    assert not leases.is_over(1, beat=1)
    clock.now += 2.0

    assert not leases.is_over(1, beat=1)
    assert leases.is_over(2, beat=0)


def test_nothing_counts_that_was_seen_before_an_outage() -> None:
    """Nobody could renew anything meanwhile."""
    clock = FakeClock()
    leases = Leases(60.0, clock)
    leases.is_over(1, beat=0)

    clock.now += 61.0
    leases.begin_anew()

    assert not leases.is_over(1, beat=0)

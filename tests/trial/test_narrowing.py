"""A failure of workers is narrowed by probes, which a table answers here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from autoloader.audit.ledger import ScopeList
from autoloader.trial.narrowing import (
    HANG_S,
    evidence_of,
    narrow,
    probe_patience_s,
)
from autoloader.values.config import LoaderConfig
from autoloader.values.diagnosis import NarrowedIds
from autoloader.values.job import Reference
from autoloader.values.outcome import Failure
from autoloader.values.scope import Scope
from tests.fakes import some_facts

CONFIG = LoaderConfig.canonical(num_workers=2, batch_size=8)

HUNG = Failure(kind="hung", phase="gate", message="no progress for 30 s")


@dataclass
class Prober:
    """Fails where a part of the list says so."""

    fails: Callable[[set[int]], bool]
    failure: Failure = HUNG
    asked: list[int] = field(default_factory=list)

    def probe(
        self, config: LoaderConfig, *, places: Sequence[int] | None
    ) -> Failure | None:
        """Return the failure, or None."""
        assert config == CONFIG
        assert places is not None
        self.asked.append(len(places))
        return self.failure if self.fails(set(places)) else None


@pytest.fixture
def reference(tmp_path: Path) -> Reference:
    """Return a scope of 100 examples whose ids begin at 1000."""
    ScopeList.of(range(1000, 1100)).write(tmp_path)
    scope = Scope(
        examples=100,
        distinct=100,
        of=100,
        epoch_examples=100,
        order="sequential",
        seed=0,
        transforms="fixed",
        drop_last=False,
    )
    return Reference(facts=some_facts(), scope=scope, folder=str(tmp_path), seconds=1.0)


def narrowed(prober: Prober, reference: Reference) -> NarrowedIds | None:
    """Return what a failure is narrowed to."""
    return narrow(prober, CONFIG, prober.failure, reference, patience_s=5.0)


def test_one_id_is_found_and_others_do_not_show_it(reference: Reference) -> None:
    """It is the data, with workers."""
    found = narrowed(Prober(lambda places: 42 in places), reference)

    assert found is not None
    assert found.ids == (1042,)
    assert found.is_smallest
    assert found.shown_by_others is False


def test_where_any_id_shows_it_that_is_said(reference: Reference) -> None:
    """It is not the data, but what workers are handed."""
    found = narrowed(Prober(bool), reference)

    assert found is not None
    assert found.shown_by_others is True
    assert evidence_of(found).startswith("any id will do, not id 10")


def test_where_no_id_is_needed_nothing_more_is_asked(reference: Reference) -> None:
    """Workers do not even start."""
    prober = Prober(lambda _places: True)

    found = narrowed(prober, reference)

    assert found is not None
    assert found.ids == ()
    assert prober.asked == [100, 0]
    assert evidence_of(found) == (
        "it shows without any example, in 2 tries: workers do not start or end"
    )


def test_what_does_not_come_again_is_not_narrowed(reference: Reference) -> None:
    """Nor is another failure taken for it."""
    assert narrowed(Prober(lambda _places: False), reference) is None


def test_another_failure_is_not_the_one_that_is_looked_for(
    reference: Reference,
) -> None:
    """A part may fail by something else."""
    other = Failure(kind="crashed", phase="probe", message="was killed")
    prober = Prober(lambda _places: True, failure=other)

    assert narrow(prober, CONFIG, HUNG, reference, patience_s=5.0) is None


def test_probes_that_hang_are_few(reference: Reference) -> None:
    """150 s of waiting are enough."""
    prober = Prober(lambda places: {1, 30, 60, 90} <= places)

    found = narrow(prober, CONFIG, HUNG, reference, patience_s=15.0)

    assert found is not None
    assert not found.is_smallest
    assert len(prober.asked) == 12
    assert "a smaller set may as well" in evidence_of(found)


def test_a_probe_of_slow_examples_has_more_patience(reference: Reference) -> None:
    """20 batches of 8 at 4 ms for each of 2 workers are 1.3 s: the least holds."""
    assert probe_patience_s(reference, CONFIG) == HANG_S

"""What studies of a fleet are called, and what one kind of hardware tells another."""

from dataclasses import replace

from autoloader.search.fleet_names import FleetName, learned
from autoloader.search.folder import StudyKey
from autoloader.search.space import Space, SpaceRequest
from autoloader.values.config import LoaderConfig
from autoloader.values.gate import GatePolicy
from autoloader.values.machine import Machine
from autoloader.values.scope import ScopeRequest, SourceSpec
from tests.fakes import a_machine, some_facts
from tests.search.fleets import outcome_of

SPACE = Space(
    num_workers=(0, 4),
    prefetch_factor=(2, 4),
    pin_memory=(False,),
    persistent_workers=(False, True),
    batch_size=(64,),
)


def a_key(machine: Machine, **more: object) -> StudyKey:
    """Return the key of a study of photos."""
    key = StudyKey.of(
        source=SourceSpec(spec="mypackage.data:photos"),
        scope=ScopeRequest(),
        space=SpaceRequest(),
        machine=machine,
        ranks=1,
        isolation="auto",
        policy=GatePolicy(),
    )
    return replace(key, **more)  # type: ignore[arg-type]


def a_name(machine: Machine, **more: object) -> FleetName:
    """Return what the study of photos is called on a machine."""
    return FleetName.of(a_key(machine, **more), some_facts(), machine)


def test_machines_of_one_kind_share_a_study() -> None:
    """Memory and kernel may differ; the CPUs may not."""
    machine = a_machine()
    alike = replace(machine, memory_total_bytes=1 << 40, kernel="6.99")

    assert str(a_name(machine)) == str(a_name(alike))
    assert str(a_name(machine)).startswith("autoloader/mypackage-data-photos-")


def test_other_hardware_has_a_study_of_its_own_that_is_found() -> None:
    """By the beginning of its name."""
    here, there = a_name(a_machine(2)), a_name(a_machine(8))
    stranger = a_name(a_machine(8), ranks=2)

    assert str(here) != str(there)
    assert here.others([str(here), str(there), str(stranger)]) == [str(there)]


def test_another_dataset_has_a_study_of_its_own() -> None:
    """One that has grown, under the same name."""
    machine = a_machine()
    key = a_key(machine)
    grown = replace(some_facts(), length=7)

    before = FleetName.of(key, some_facts(), machine)
    after = FleetName.of(key, grown, machine)

    assert before.subject != after.subject
    assert before.hardware == after.hardware


def test_the_fastest_and_the_simplest_that_is_nearly_as_fast_are_learned() -> None:
    """Elsewhere, as the space here allows them."""
    many = LoaderConfig(num_workers=16, prefetch_factor=8, batch_size=32)
    kept = LoaderConfig(
        num_workers=3, prefetch_factor=4, persistent_workers=True, batch_size=64
    )
    slow = LoaderConfig(num_workers=0, batch_size=64)
    outcomes = [outcome_of(many, 100.0), outcome_of(kept, 96.0), outcome_of(slow, 9.0)]

    found = learned(outcomes, SPACE)

    assert found == [
        kept,
        replace(many, num_workers=4, prefetch_factor=4, batch_size=64),
    ]


def test_what_a_space_does_not_allow_is_left_out() -> None:
    """Nothing is pinned here, nor kept."""
    pinned = LoaderConfig(
        num_workers=2, prefetch_factor=2, pin_memory=True, persistent_workers=True,
        batch_size=64,
    )  # fmt: skip
    space = replace(SPACE, persistent_workers=(False,))

    (found,) = learned([outcome_of(pinned, 100.0)], space)

    assert found == LoaderConfig(num_workers=2, prefetch_factor=2, batch_size=64)


def test_nothing_is_learned_of_nothing() -> None:
    """The other study has only just begun."""
    assert learned([], SPACE) == []

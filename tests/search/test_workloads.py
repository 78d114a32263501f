"""The workloads of the bench: what they must cover, and that each can be built."""

import pytest

from autoloader.search import workload as workload_module
from autoloader.search.tables import Answer, Truth
from autoloader.search.workload import Workload
from autoloader.search.workloads import WORKLOADS
from autoloader.values.target import Target

SMALLEST = ("decode-2", "quota-1.5", "switching-2", "tiny-4", "starting-8")
"""Those whose table is simulated within a fraction of a second."""


def of(name: str) -> Workload:
    """Return a workload by its name."""
    return next(item for item in WORKLOADS if item.name == name)


def test_there_are_enough_of_all_sizes() -> None:
    """Twenty at least, of 2 to 256 cores, ranks included."""
    cores = [item.loader.cores * item.ranks for item in WORKLOADS]

    assert len({item.name for item in WORKLOADS}) == len(WORKLOADS) >= 20
    assert min(cores) <= 2
    assert {8, 16, 32, 64, 128, 256} <= set(cores)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda item: item.name)
def test_a_workload_has_a_space_a_machine_and_a_scope(
    workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its table knows each config, and the reference keeps within its share."""
    answer = Answer(first_s=1.0, batch_s=0.1, end_s=0.1, peak_bytes=1)
    monkeypatch.setattr(
        workload_module,
        "simulated_answers",
        lambda loader, configs, **more: dict.fromkeys(configs, answer),
    )

    table = workload.table(budget_s=180.0)

    assert table.machine.effective_cpus == workload.loader.cores * workload.ranks
    assert table.scope.examples <= workload.examples
    assert 0 < table.reference_s <= 37
    assert Truth.of(table, Target(share_of_best=0.95)).rates


@pytest.mark.parametrize("name", SMALLEST)
def test_a_simulated_truth_is_what_the_workload_is_about(name: str) -> None:
    """Workers bring nothing, or must be kept, or cores are the limit."""
    table = of(name).table()
    target = Target(share_of_best=0.95, memory_bytes=table.memory_bytes)

    simplest = Truth.of(table, target).simplest(1.0)

    expected = {"tiny-4": 0, "starting-8": 8}
    assert simplest.num_workers == expected.get(name, 2)
    assert simplest.persistent_workers == (name == "starting-8")


def test_what_was_simulated_before_is_not_simulated_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A bench keeps the answers from run to run."""
    known = of("tiny-4").table().answers
    monkeypatch.delattr(workload_module, "simulated_answers")

    assert of("tiny-4").table(known=known).answers == known

"""What an accelerator decides before a search; without one, nothing happens."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autoloader import accelerating
from autoloader.accelerating import Accelerating
from autoloader.search.budget import Budget
from autoloader.search.space import Space
from autoloader.tune_values import TuneRequest
from autoloader.values.job import Reference
from autoloader.values.machine import Accelerator
from autoloader.values.scope import SourceSpec
from autoloader.values.target import Target
from tests.fakes import FakeClock, a_machine, a_scope, some_facts
from tests.search.looped import loop
from tests.test_pinning import Mover, a_mover
from tests.watchers import Noting

OPEN = Space(
    num_workers=(0, 4),
    prefetch_factor=(2,),
    pin_memory=(False, True),
    persistent_workers=(False,),
    batch_size=(64, 32),
)

GPU = Accelerator(name="A GPU", kind="cuda", memory_bytes=2**34, driver="580")


class NoProcess:
    """Stands for a runner where none may be started."""

    def __init__(self, *_asked: object, **_others: object) -> None:
        raise AssertionError("a process would be started")


class Steps:
    """Runs a step that takes as long as any."""

    isolation = "fork"

    def __init__(self, *_asked: object, **others: Any) -> None:
        assert "memory_bytes" not in others

    def __enter__(self) -> "Steps":
        return self

    def __exit__(self, *_exc: object) -> None:
        """End nothing."""

    def consume(self, *_asked: object, **_others: object) -> Any:
        """Return the step alone."""
        return loop(None, wait_s=0.0)

    def step(self, *_asked: object, **_others: object) -> Any:
        """Return a loop that pinning does nothing for."""
        return loop(2, wait_s=0.0)


class MoverIn(Mover):
    """A runner that is entered."""

    def __enter__(self) -> "MoverIn":
        return self

    def __exit__(self, *_exc: object) -> None:
        """End nothing."""


@pytest.fixture
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no process be started."""
    monkeypatch.setattr(accelerating, "StepRunner", NoProcess)
    monkeypatch.setattr(accelerating, "TransferRunner", NoProcess)


def chapter(accelerator: str | None, **changed: Any) -> Accelerating:
    """Return the chapter for a machine on which PyTorch finds this accelerator."""
    clock = FakeClock()
    nothing: Any = None
    parts: dict[str, Any] = {
        "request": TuneRequest(
            source=SourceSpec(spec="data.py:make"),
            target=Target(share_of_best=0.95),
            out=Path("out.yaml"),
        ),
        "reference": Reference(
            facts=replace(some_facts(), accelerator=accelerator),
            scope=a_scope(),
            folder="reference",
            seconds=1.0,
        ),
        "machine": a_machine(),
        "watcher": Noting(),
        "record": nothing,
        "budget": Budget(1000.0, clock, clock()),
        "folder": Path("study"),
        "tmp": Path("tmp"),
    }
    return Accelerating(**{**parts, **changed})


def with_step(made: Accelerating) -> Accelerating:
    """Return the chapter of a tune with a training step."""
    made.request = replace(made.request, step="train.py:step")
    return made


@pytest.mark.parametrize(
    "note",
    [
        "none here",
        "the package nvidia-ml-py is not installed",
        "the NVIDIA driver is not loaded",
        "the NVIDIA driver's devices may not be opened by this user",
    ],
)
@pytest.mark.usefixtures("no_processes")
def test_without_an_accelerator_nothing_is_run_or_said(note: str) -> None:
    """Whatever is missing: neither for a loader alone nor for a step."""
    machine = replace(a_machine(), accelerator_note=note)
    alone = chapter(None, machine=machine)
    stepped = with_step(chapter(None, machine=machine))

    assert alone.run(OPEN) == (OPEN, None)
    assert stepped.run(OPEN) == (OPEN, None)
    watcher: Any = alone.watcher
    assert (watcher.cautions, watcher.phases) == ([], [])


@pytest.mark.parametrize(
    ("accelerator", "pins"),
    [("mps", (False, True)), ("cuda", (True,)), ("cuda", (False,))],
)
@pytest.mark.usefixtures("no_processes")
def test_where_pinning_is_not_open_no_batch_is_moved(
    accelerator: str, pins: tuple[bool, ...]
) -> None:
    """Apple's devices pin nothing; who names a value has decided."""
    space = replace(OPEN, pin_memory=pins)

    assert chapter(accelerator).run(space) == (space, None)


@pytest.mark.parametrize(
    ("accelerator", "told"),
    [
        (
            "cuda",
            [
                (
                    "of the accelerator not all is told: the NVIDIA driver is not "
                    "loaded",
                    None,
                )
            ],
        ),
        ("mps", []),
    ],
)
@pytest.mark.usefixtures("no_processes")
def test_what_the_driver_does_not_tell_is_a_caution(
    accelerator: str, told: list[tuple[str, str | None]]
) -> None:
    """Where the device is NVIDIA's; nothing fails."""
    note = "the NVIDIA driver is not loaded"
    made = chapter(accelerator, machine=replace(a_machine(), accelerator_note=note))

    made.run(replace(OPEN, pin_memory=(False,)))

    watcher: Any = made.watcher
    assert watcher.cautions == told


def test_pinning_is_decided_where_it_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """By loops that move batches."""
    monkeypatch.setattr(accelerating, "StepRunner", NoProcess)
    mover = a_mover()
    monkeypatch.setattr(
        accelerating,
        "TransferRunner",
        lambda *_asked, **_others: MoverIn(rate=mover.rate, clock=mover.clock),
    )
    machine = replace(a_machine(), accelerators=(GPU,), accelerator_note=None)
    budget = Budget(1000.0, mover.clock, mover.clock())

    space, found = chapter("cuda", machine=machine, budget=budget).run(OPEN)

    assert space.pin_memory == (True,)
    assert found is not None
    assert found.by == "transfer"


def test_with_a_step_batches_are_fitted_first_and_its_loop_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All sizes fit here; the step hides what pinning would gain."""
    mover = a_mover()
    monkeypatch.setattr(accelerating, "StepRunner", Steps)
    monkeypatch.setattr(
        accelerating,
        "TransferRunner",
        lambda *_asked, **_others: MoverIn(rate=mover.rate, clock=mover.clock),
    )
    budget = Budget(1000.0, mover.clock, mover.clock())
    made = with_step(chapter("cuda", budget=budget))

    space, found = made.run(OPEN)

    assert space.batch_size == OPEN.batch_size
    assert space.pin_memory == (False,)
    assert found is not None
    assert found.by == "step"
    watcher: Any = made.watcher
    assert watcher.phases[0] == ("step", "whether batches of 64 fit")

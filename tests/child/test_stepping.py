"""The training loop tells wait and compute apart, and whose exception it was."""

import re
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from autoloader.child.loader import ListSampler
from autoloader.child.stages import Stage, StageBoard
from autoloader.child.stepping import (
    TAKES,
    consumer_pass,
    load_step,
    step_pass,
)
from autoloader.errors import ProtocolError, StepError, UsageError
from autoloader.measure.planning import FIRST_STEPS, wave_plan
from autoloader.measure.stepping import computes_s, waits_s
from autoloader.trial.readings import step_reading_of
from autoloader.values.outcome import Failure
from autoloader.values.step import StepReading

STEPS = """
import sys
import torch

MODEL = []

def train(batch):
    if not MODEL:
        MODEL.append(torch.nn.Linear(64, 20000))
    MODEL[0](batch).sum().backward()

def refuse(batch):
    raise ValueError("wrong shape")

def leave(batch):
    sys.exit(3)

def fill(batch):
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

class Third:
    made = 0

    def __init__(self):
        Third.made += 1
        self.seen = 0

    def __call__(self, batch):
        self.seen += 1
        if self.seen > 3:
            raise KeyError("loss")

class Unmade:
    def __init__(self):
        raise OSError("no weights")

    def __call__(self, batch):
        pass

class Silent:
    pass

NUMBER = 3
"""


@pytest.fixture
def steps(tmp_path: Path) -> Path:
    """Return a file of training steps."""
    path = tmp_path / "steps_of_test.py"
    path.write_text(STEPS)
    return path


class Loader:
    """Batches of eight rows, as many as the list is long."""

    def __init__(self, entries: list[int]) -> None:
        self.sampler = ListSampler(entries)

    def __iter__(self) -> Any:
        for _batch in range(len(self.sampler.indices) // 8):
            yield torch.ones(8, 64)


def context(tmp_path: Path, step: str | None, *, is_stream: bool = False) -> Any:
    """Return what a pass works on: no workers, as many batches as are asked for."""
    order = SimpleNamespace(
        kind="step",
        plan=wave_plan(0),
        count_path=(),
        config=SimpleNamespace(num_workers=0),
        limit_s=0.3,
        logs=str(tmp_path),
    )
    return SimpleNamespace(
        order=order,
        size=8,
        step=None if step is None else load_step(step),
        facts=SimpleNamespace(batching="size", by_rows=False),
        scope=SimpleNamespace(cache="warm"),
        board=StageBoard.create(tmp_path / "stage"),
        calls=SimpleNamespace(begin=lambda _epoch: None),
        cycled=lambda count: None if is_stream else list(range(8 * count)),
        loader=lambda entries: Loader([*range(800)] if entries is None else entries),
    )


def told(message: dict[str, Any]) -> StepReading:
    """Return the reading that a pass told."""
    return step_reading_of({"event": "result", **message}, epoch_examples=96)


def failure_of(message: dict[str, Any]) -> Failure:
    """Return the failure that a pass told."""
    assert message["event"] == "failed"
    return Failure.from_dict(message["failure"])


def test_wait_and_compute_are_the_whole_loop(tmp_path: Path, steps: Path) -> None:
    """Within 2 % of the loop's own clock; the model is built before it runs."""
    given = context(tmp_path, f"{steps}:train")

    found = told(step_pass(given))

    assert len(found.came_s) == given.order.plan.total
    assert found.counts == (8,) * given.order.plan.total
    parts_s = sum(waits_s(found)) + sum(computes_s(found))
    assert parts_s == pytest.approx(found.total_s, rel=0.02)
    moments = [
        moment
        for pair in zip(found.came_s, found.done_s, strict=True)
        for moment in pair
    ]
    assert all(before <= after for before, after in pairwise(moments))
    assert given.board.read()[0] is Stage.SHUTTING_DOWN


def test_a_stream_without_an_end_is_left_after_its_batches(
    tmp_path: Path, steps: Path
) -> None:
    """There is no list that ends it."""
    given = context(tmp_path, f"{steps}:train", is_stream=True)

    assert len(told(step_pass(given)).done_s) == given.order.plan.total


def test_a_step_is_fed_with_batches_that_are_ready(tmp_path: Path, steps: Path) -> None:
    """No loader runs, and the reading says so; examples count as they are cut."""
    given = context(tmp_path, f"{steps}:train")
    given.order.count_path = None
    given.order.limit_s = None

    found = told(consumer_pass(given))

    assert found.num_workers is None
    assert len(found.done_s) >= given.order.plan.steady_batches
    assert found.steady_batches == len(found.done_s)
    assert set(found.counts) == {8}


def test_a_class_is_made_once_before_its_first_batch(
    tmp_path: Path, steps: Path
) -> None:
    """Its object fails at the fourth batch: one goes before the timed epoch."""
    given = context(tmp_path, f"{steps}:Third")

    found = failure_of(step_pass(given))

    assert FIRST_STEPS == 1
    assert given.step.found.made == 1
    assert found.message == f"--step {steps}:Third raised KeyError: 'loss', at batch 3"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("refuse", "ValueError: wrong shape, at batch 1"),
        ("leave", "SystemExit: 3, at batch 1"),
        ("Unmade", "OSError: no weights, when it was made"),
    ],
)
@pytest.mark.parametrize("run", [step_pass, consumer_pass])
def test_what_the_step_raises_is_not_the_datasets(
    tmp_path: Path, steps: Path, name: str, words: str, run: Any
) -> None:
    """The flag is named, and the batch."""
    found = failure_of(run(context(tmp_path, f"{steps}:{name}")))

    assert found.kind == "step_exception"
    assert found.message == f"--step {steps}:{name} raised {words}"
    assert found.hint == TAKES


@pytest.mark.parametrize("run", [step_pass, consumer_pass])
def test_a_step_that_does_not_fit_the_accelerator_is_out_of_memory(
    tmp_path: Path, steps: Path, run: Any
) -> None:
    """The flag is named, the batch, and whose memory it was."""
    given = context(tmp_path, f"{steps}:fill")
    given.order.kind = "consumer" if run is consumer_pass else "step"

    found = failure_of(run(given))

    assert found.kind == "out_of_memory"
    assert found.of_accelerator
    assert found.phase == given.order.kind
    assert found.message == (
        f"--step {steps}:fill, at batch 1: the accelerator has too little memory: "
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    )
    assert found.hint == "smaller batches (--batch-size) need less of it"


def test_what_the_loader_raises_is_left_as_it_is(tmp_path: Path, steps: Path) -> None:
    """It is read where failures of loaders are."""
    given = context(tmp_path, f"{steps}:train")

    given.loader = lambda _entries: Failing()

    with pytest.raises(RuntimeError, match=r"^a worker died$"):
        step_pass(given)


class Failing:
    """A loader whose worker dies."""

    sampler = None

    def __iter__(self) -> Any:
        yield torch.ones(8, 64)
        raise RuntimeError("a worker died")


def test_a_loader_without_a_batch_feeds_no_step(tmp_path: Path, steps: Path) -> None:
    """It is a fault of the loader's."""
    given = context(tmp_path, f"{steps}:train")
    given.loader = lambda _entries: []
    sentence = "the loader has no batch for the training step"

    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        consumer_pass(given)


def test_a_pass_without_a_step_is_a_bug_of_ours(tmp_path: Path) -> None:
    """Orders are complete."""
    sentence = "a pass with a training step needs a plan and the step"
    with pytest.raises(ProtocolError, match=f"^{re.escape(sentence)}$"):
        step_pass(context(tmp_path, None))


def test_a_step_is_a_function(steps: Path) -> None:
    """A number cannot be called."""
    sentence = f"--step {steps}:NUMBER is an int, and a function is needed"
    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}$"):
        load_step(f"{steps}:NUMBER")


def test_an_object_of_the_class_takes_a_batch(steps: Path) -> None:
    """Else it is no step."""
    sentence = f"--step {steps}:Silent is a class whose objects cannot be called"
    with pytest.raises(StepError, match=f"^{re.escape(sentence)} with a batch$"):
        load_step(f"{steps}:Silent")


def test_a_step_that_cannot_be_imported_is_not_the_datasets(tmp_path: Path) -> None:
    """The flag is what has to be changed."""
    path = tmp_path / "broken_step.py"
    path.write_text("raise RuntimeError('no weights')\n")
    said = f"{path} cannot be imported: RuntimeError: no weights"
    sentence = f"the training step fails: {said}"

    with pytest.raises(StepError, match=f"^{re.escape(sentence)}$"):
        load_step(f"{path}:train")


def test_a_slow_step_is_not_run_beyond_its_limit(tmp_path: Path, steps: Path) -> None:
    """One step at least is timed."""
    given = context(tmp_path, f"{steps}:train")
    given.order.limit_s = 0.0

    assert len(told(consumer_pass(given)).done_s) == 1

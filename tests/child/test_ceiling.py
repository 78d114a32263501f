"""A loader to which examples are free costs what collate and hand-over cost.

Each runs in this very process; its workers are forked from it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from autoloader.child import ceiling
from autoloader.child.ceiling import CachedExamples, cached_loader, ceiling_pass, fresh
from autoloader.child.loader import LoaderParts
from autoloader.child.stages import StageBoard
from autoloader.errors import ProtocolError
from autoloader.measure.planning import wave_plan
from autoloader.values.config import LoaderConfig

forks = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")

SIZE = 4


class Counted(Dataset[Any]):
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __len__(self) -> int:
        """Return more than a batch."""
        return 100

    def __getitem__(self, index: int) -> Any:
        """Return an example, and note that it was asked for."""
        self.asked.append(index)
        return {"x": torch.full((3,), float(index)), "y": index}


def popping(examples: list[dict[str, Any]]) -> torch.Tensor:
    """Take examples apart, as collate_fns do."""
    return torch.stack([example.pop("x") for example in examples])


@pytest.fixture
def board(tmp_path: Path) -> Iterator[StageBoard]:
    """Return a board."""
    made = StageBoard.create(tmp_path / "stage")
    yield made
    made.close()


def context_of(
    found: Any, board: StageBoard, *, workers: int = 0, plan: Any = None
) -> Any:
    """Return what a pass over a dataset or loader works on."""
    parts = LoaderParts.of(found)
    return SimpleNamespace(
        order=SimpleNamespace(
            plan=plan,
            config=LoaderConfig.canonical(num_workers=workers, batch_size=SIZE),
        ),
        parts=parts,
        board=board,
        size=SIZE,
        calls=SimpleNamespace(begin=lambda _number: None),
        scope=SimpleNamespace(seed=0, stream=None, start_method="fork"),
        facts=SimpleNamespace(
            batching=parts.batching,
            needs_worker=False,
            by_rows=False,
            batch_examples=1.0,
        ),
        cycled=lambda count: list(range(count * SIZE)),
    )


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make passes short: what is tested is no speed."""
    monkeypatch.setattr(ceiling, "COLLATE_S", 0.01)
    monkeypatch.setattr(ceiling, "WINDOW_S", 0.02)
    monkeypatch.setattr(torch, "set_num_threads", lambda _count: None)


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=forks)])
def test_the_dataset_is_asked_for_one_batch_only(
    workers: int, board: StageBoard
) -> None:
    """All that is delivered afterwards is free."""
    dataset = Counted()

    found = ceiling_pass(
        context_of(dataset, board, workers=workers, plan=wave_plan(workers))
    )

    assert dataset.asked == list(range(SIZE))
    assert found["num_workers"] == workers
    assert found["batch_examples"] == SIZE
    assert found["batch_bytes"] == SIZE * (3 * 4 + 8)
    assert 0 < found["window_batches"] < len(found["arrivals_s"])
    assert found["main_cpu_s"] >= 0
    assert len(found["collate_s"]) == len(found["collate_cpu_s"]) > 0


def test_without_a_plan_there_is_no_pass(board: StageBoard) -> None:
    """The parent always sends one."""
    with pytest.raises(ProtocolError) as caught:
        ceiling_pass(context_of(Counted(), board))

    assert caught.value.message == "a ceiling pass needs a plan"


def test_a_collate_fn_may_take_examples_apart(board: StageBoard) -> None:
    """The next batch has them whole again."""
    loader = DataLoader(Counted(), batch_size=SIZE, collate_fn=popping)

    found = ceiling_pass(context_of(loader, board, plan=wave_plan(0)))

    assert found["batch_bytes"] == SIZE * 3 * 4


def test_the_users_worker_init_fn_is_not_called(board: StageBoard) -> None:
    """It would meet a dataset that it does not know."""

    def begin(_number: int) -> None:
        raise AssertionError

    loader = DataLoader(Counted(), batch_size=SIZE, num_workers=1, worker_init_fn=begin)
    kept = [Counted()[index] for index in range(SIZE)]

    made = cached_loader(context_of(loader, board, workers=1), kept)

    assert made.worker_init_fn is None
    assert len(made.dataset) == ceiling.MOST_BATCHES * SIZE  # type: ignore[arg-type]  # it is sized


def test_lists_of_the_users_own_sampler_stay_lists(board: StageBoard) -> None:
    """Their sampler may make batches of any size; the first one's is taken."""

    class Lists:
        def __iter__(self) -> Iterator[Sequence[int]]:
            return iter([[0, 1, 2], [3, 4, 5]])

        def __len__(self) -> int:
            return 2

    loader = DataLoader(Counted(), batch_sampler=Lists())  # type: ignore[arg-type]  # as users give it
    context = context_of(loader, board, plan=wave_plan(0))
    context.order.config = LoaderConfig.canonical(num_workers=0, batch_size=None)
    context.cycled = lambda _count: [[0, 1, 2]]

    found = ceiling_pass(context)

    assert found["batch_examples"] == 3


def test_without_a_collate_fn_each_tensor_is_a_new_one() -> None:
    """One that lies in shared memory already would be handed over for nothing."""
    example = [torch.ones(2), np.ones(2), 7, "text"]

    again = CachedExamples([example], 8, copies_leaves=True)[5]

    assert again[0] is not example[0]
    assert torch.equal(again[0], example[0])  # type: ignore[arg-type]  # a tensor
    assert again[1] is not example[1]
    assert again[2:] == [7, "text"]


def test_what_holds_examples_is_copied_and_tensors_are_not() -> None:
    """A collate_fn makes tensors of its own, and copying would be counted as its."""
    tensor = torch.ones(2)

    found = fresh({"a": [tensor, (tensor, 1)]}, copies_leaves=False)

    assert found["a"][0] is tensor
    assert found["a"][1] == (tensor, 1)
    found["a"].clear()
    assert fresh({"a": [tensor]}, copies_leaves=False)["a"] == [tensor]


def test_no_more_is_kept_than_has_room(
    board: StageBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One example at least, and the loader's batches are as small then."""
    monkeypatch.setattr(ceiling, "KEPT_BYTES", 1)
    dataset = Counted()

    found = ceiling_pass(context_of(dataset, board, plan=wave_plan(0)))

    assert dataset.asked == [0]
    assert found["batch_examples"] == 1

"""Passes that move batches, in real processes, on a machine without an accelerator."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from autoloader.measure.planning import wave_plan
from autoloader.measure.stepping import computes_s, loop_rate, waits_s
from autoloader.trial.aftercare import make_tmp, remove_folder
from autoloader.trial.reference import read_reference
from autoloader.trial.transfer_runner import TransferRunner
from autoloader.values.config import LoaderConfig
from autoloader.values.job import ReferenceOrder
from autoloader.values.outcome import Failure, Verdict
from autoloader.values.scope import ScopeRequest, SourceSpec

pytestmark = pytest.mark.slow

PLAIN = """
import torch

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 96

    def __getitem__(self, index):
        return torch.full((3, 32, 32), float(index)), index % 10
"""

IN_USE = "import torch\ntorch.cuda.is_initialized = lambda: True\n"
"""What a dataset leaves that computes on the device."""


@contextlib.contextmanager
def runner_of(folder: Path, text: str) -> Iterator[TransferRunner]:
    """Give what moves the batches of a dataset, its reference read."""
    path = folder / "data_of_test.py"
    path.write_text(text)
    source = SourceSpec(spec=f"{path}:Data")
    tmp = make_tmp()  # with a short path: sockets lie in it
    try:
        reference = read_reference(
            ReferenceOrder(source=source, request=ScopeRequest(), folder=str(folder)),
            logs=folder,
            tmp=tmp,
        )
        with TransferRunner(
            source, reference, folder=folder / "moves", tmp=tmp
        ) as found:
            yield found
    finally:
        remove_folder(tmp)


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[TransferRunner]:
    """Give what moves the batches of a plain dataset."""
    with runner_of(tmp_path, PLAIN) as found:
        yield found


def config(workers: int, *, is_pinned: bool) -> LoaderConfig:
    """Return a config of eight examples a batch."""
    return LoaderConfig.canonical(
        num_workers=workers, batch_size=8, pin_memory=is_pinned
    )


def test_batches_are_moved_by_a_loop_that_a_loader_feeds(
    runner: TransferRunner,
) -> None:
    """All are counted; without an accelerator it says what is not shown."""
    tried = config(2, is_pinned=True)
    verdict = runner.gate(tried, examples=96)
    assert isinstance(verdict, Verdict)

    found = runner.transfer(tried, verdict=verdict, plan=wave_plan(2))

    assert not isinstance(found, Failure)
    assert verdict.passed
    assert len(found.loop.came_s) == wave_plan(2).total
    assert set(found.loop.counts) == {8}
    assert sum(waits_s(found.loop)) + sum(computes_s(found.loop)) == pytest.approx(
        found.loop.done_s[-1]
    )
    assert loop_rate(found.loop) is not None
    assert runner.why_fresh is None
    if found.device == "cpu":
        assert found.untimed == "no accelerator: nothing was moved"
        assert [item.code for item in verdict.cautions] == []


def test_a_dataset_that_uses_cuda_gets_a_fresh_process_for_each_pass(
    tmp_path: Path,
) -> None:
    """A fork of the host could not use the device; the data is right all the same."""
    tried = config(0, is_pinned=False)

    with runner_of(tmp_path, IN_USE + PLAIN) as runner:
        verdict = runner.gate(tried, examples=96)
        why, how = runner.why_fresh, runner.isolation

    assert isinstance(verdict, Verdict)
    assert verdict.passed
    assert why == "CUDA is initialised"
    assert how == "fresh"

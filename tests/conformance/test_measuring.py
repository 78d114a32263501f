"""What a loader takes of memory is weighed whole, and once."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from autoloader.measure.proc import ProcessMemory, process_memory
from autoloader.trial.aftercare import make_tmp
from autoloader.trial.reference import read_reference
from autoloader.trial.runner import ProcessRunner
from autoloader.values.config import LoaderConfig
from autoloader.values.job import ReferenceOrder
from autoloader.values.outcome import MemoryReading
from autoloader.values.scope import ScopeRequest, SourceSpec
from tests.conformance.running import DATASETS

pytestmark = pytest.mark.alone

MIB = 1 << 20

linux_only = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc"
)


def memory_of(pid: int) -> ProcessMemory:
    """Return what a running process holds."""
    found = process_memory(pid)
    assert found is not None
    return found


@contextmanager
def forked(work: Callable[[], object]) -> Iterator[int]:
    """Give a fork that has done some work and waits."""
    is_done, told = os.pipe()
    waits, let_go = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os.write(told, b".")
            os.close(let_go)
            os.read(waits, 1)
        finally:
            os._exit(0)
    try:
        os.read(is_done, 1)
        yield pid
    finally:
        for descriptor in (is_done, told, waits, let_go):
            os.close(descriptor)
        os.waitpid(pid, 0)


@linux_only
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_shared_pages_are_weighed_once() -> None:
    """A fork shares its parent's pages: resident sets would count them twice."""
    held = b"\1" * (64 * MIB)

    with forked(lambda: None) as pid:
        child = memory_of(pid)
        resident = psutil.Process(pid).memory_info().rss

    assert resident > len(held)
    assert child.pss_bytes < resident - 24 * MIB
    assert child.private_bytes < 24 * MIB


@linux_only
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_touched_list_is_copied_and_is_weighed() -> None:
    """Reading Python objects changes their counts of references, page by page."""
    texts = [f"example {number}" for number in range(400_000)]

    def touch() -> list[str]:
        """Hold each text once more."""
        held = list(texts)
        assert len(held) == len(texts)
        return held

    with forked(lambda: None) as pid:
        untouched = memory_of(pid).private_bytes
    kept: list[object] = []
    with forked(lambda: kept.append(touch())) as pid:
        touched = memory_of(pid).private_bytes

    assert touched - untouched > 20 * MIB


@pytest.mark.slow
def test_a_deeper_queue_weighs_more(tmp_path: Path) -> None:
    """Batches that wait in shared memory belong to the loader that made them."""
    tmp, folder = make_tmp(), tmp_path / "reference"
    folder.mkdir()
    source = SourceSpec(spec=f"{DATASETS / 'transport.py'}:Large")
    order = ReferenceOrder(source=source, request=ScopeRequest(), folder=str(folder))
    reference = read_reference(order, logs=folder, tmp=tmp)

    with ProcessRunner(
        source, reference, folder=tmp_path / "trials", tmp=tmp
    ) as runner:
        shallow, deep = (
            runner.weigh(
                LoaderConfig.canonical(
                    num_workers=2, prefetch_factor=factor, batch_size=4
                ),
                examples=0,
            )
            for factor in (1, 6)
        )

    assert isinstance(shallow, MemoryReading)
    assert isinstance(deep, MemoryReading)
    assert shallow.queue_was_full
    assert deep.queue_was_full
    # ten batches more of 4 MiB each
    grown = deep.queued_bytes - shallow.queued_bytes
    assert 38 * MIB < grown < 42 * MIB
    assert deep.full_queue_bytes > shallow.full_queue_bytes + 30 * MIB

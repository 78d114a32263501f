"""What PyTorch loses of an exception in a worker, kept by its gate's process."""

import subprocess
import sys
from pathlib import Path

import pytest

from autoloader.child.last_words import lost_raised

SCRIPT = """
import sys
import warnings
from pathlib import Path
from torch.utils.data import DataLoader, Dataset

from autoloader.child.failures import failure_of
from autoloader.child.lost_words import keep_lost_words

def make():
    class DecoderError(Exception): pass
    return DecoderError

Local = make()

class Bad(Dataset):
    def __init__(self, kind): self.kind = kind
    def __len__(self): return 64
    def __getitem__(self, index):
        if index == 33: raise self.kind("the decoder gave up")
        return index

if __name__ == "__main__":
    keep_lost_words()
    keep_lost_words()
    kind = {"local": Local, "plain": ValueError, "closed": Local}[sys.argv[1]]
    if sys.argv[1] == "closed": sys.stderr.close()
    timeout = 0 if sys.argv[1] == "plain" else 3
    loader = DataLoader(
        Bad(kind), batch_size=8, num_workers=2, timeout=timeout,
        multiprocessing_context="fork",
    )
    try:
        list(loader)
    except Exception as exc:
        print(failure_of(exc, phase="gate", logs=Path("logs")).message)
"""


def run(folder: Path, kind: str) -> subprocess.CompletedProcess[str]:
    """Read a dataset that fails in a process of its own."""
    script = folder / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(script), kind],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )


@pytest.mark.slow
def test_the_one_example_that_raised_is_named(tmp_path: Path) -> None:
    """Not the whole batch."""
    done = run(tmp_path, "plain")

    assert done.stdout == (
        "worker 0 raised ValueError: the decoder gave up, while it read id 33\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["local", "closed"])
def test_an_exception_that_cannot_be_sent_is_printed(kind: str, tmp_path: Path) -> None:
    """PyTorch drops it, and the loader waits until its own timeout.

    It is printed to the log itself where the dataset has closed `sys.stderr`.
    """
    done = run(tmp_path, kind)

    lost = lost_raised(done.stderr)
    assert lost is not None
    assert str(lost) == "DecoderError: the decoder gave up"
    assert done.stdout == "no batch came for 3 s, the loader's own timeout\n"

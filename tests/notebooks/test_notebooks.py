"""Notebooks, executed as people execute them: datasets that cells define."""

from __future__ import annotations

import importlib
import os
import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tests.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent

ROOT = HERE.parents[1]

MARK = "AUTOLOADER_TEST_NOTEBOOK"
"""Is in the environment of a kernel, and of all that comes from it."""

TOOK = re.compile(r"took \d")


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give kernels an environment of their own, and return what marks it."""
    found = uuid.uuid4().hex
    monkeypatch.setenv(MARK, found)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "of jupyter"))
    # sockets between a kernel and us: a short path, and no port
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "r"))
    return found


def marked(mark: str) -> list[int]:
    """Return the processes that come from a kernel, itself included."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.pid != os.getpid():
                found.append(process.pid)
        except psutil.Error:  # it ended meanwhile, or is another user's
            continue
    return found


def notebook_of(name: str) -> Any:
    """Return a notebook of this folder."""
    nbformat: Any = importlib.import_module("nbformat")  # only some of it has types
    return nbformat.read(HERE / name, as_version=4)


def outputs_of(name: str, folder: Path) -> dict[str, list[Any]]:
    """Execute a notebook in a folder; return the outputs of its cells by their ids."""
    from nbclient import NotebookClient

    notebook = notebook_of(name)
    NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    return {cell.id: cell.get("outputs", []) for cell in notebook.cells}


def words_of(output: Any) -> str:
    """Return what a person without a browser would see of an output."""
    return str(output.get("text") or output["data"]["text/plain"])


def check_quiet(outputs: dict[str, list[Any]]) -> None:
    """Check that no cell shows more than its progress, a result and a watch."""
    for name, found in outputs.items():
        assert len(found) <= 3, (name, found)
        for output in found:
            assert output["output_type"] != "error"
            assert "\x1b" not in words_of(output)
            assert "Warning" not in words_of(output), words_of(output)


def check_shown(found: list[Any], *, progress: str, result: str) -> None:
    """Check one updated output with the progress, and behind it the report."""
    shown, report = found[-2:]
    assert shown["output_type"] == "display_data"
    assert words_of(shown).startswith(progress)
    assert TOOK.search(words_of(shown))
    assert report["output_type"] == "execute_result"
    assert result in words_of(report)
    assert report["data"]["text/html"].startswith("<pre>")


@pytest.mark.slow
@pytest.mark.usefixtures("mark")
def test_a_dataset_of_a_cell_is_checked_tuned_and_watched(tmp_path: Path) -> None:
    """Its class, its lambda and what that looks up are defined in the notebook."""
    outputs = outputs_of("photos.ipynb", tmp_path)

    check_quiet(outputs)
    check_shown(
        outputs["check"],
        progress="checking: ",
        result="Passed: 200 of 200 examples, 2 epochs: ids and labels the same.",
    )
    check_shown(
        outputs["tune"], progress="tune __main__.Photos object: ", result="Target met"
    )
    (told,) = outputs["train"]
    assert told["name"] == "stderr"
    assert "\nautoloader tune --dataset SPEC --target " in told["text"]
    assert (tmp_path / "autoloader.yaml").is_file()


@pytest.mark.full
@pytest.mark.usefixtures("mark")
def test_a_stream_of_a_cell_is_checked_tuned_and_watched(tmp_path: Path) -> None:
    """One that every worker reads whole is refused, with the ids that come twice."""
    outputs = outputs_of("stream.ipynb", tmp_path)

    check_quiet(outputs)
    check_shown(outputs["refused"], progress="checking: ", result="Not passed: ")
    assert "repeated_ids: 150 examples arrived" in words_of(outputs["refused"][-1])
    check_shown(outputs["check"], progress="checking: ", result="Passed: 150 of 150")
    check_shown(
        outputs["tune"],
        progress="tune DataLoader of a __main__.Lines object: ",
        result="Target met",
    )
    assert "'batch_size': 8" in words_of(outputs["settings"][-1])


@pytest.fixture
def kernel(mark: str, tmp_path: Path) -> Iterator[Any]:
    """Return a running kernel and a client of it."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    manager.cleanup_resources()


@pytest.mark.slow
def test_an_interrupt_of_the_kernel_leaves_no_process(kernel: Any, mark: str) -> None:
    """Though it is asked for twice: workers, trial, host and folder are gone."""
    manager, client = kernel
    for code in (cell_of("photos.ipynb", "define"), "photos.transform = abs"):
        assert client.execute_interactive(code, timeout=60)["content"]["status"] == "ok"
    before = set(marked(mark))
    client.execute("autoloader.tune(photos, batch_size=4, num_workers=2, budget='10m')")

    wait_for(lambda: len(set(marked(mark)) - before) >= 4, "a trial with two workers")
    manager.interrupt_kernel()
    manager.interrupt_kernel()
    reply = client.get_shell_msg(timeout=60)

    assert reply["content"]["status"] == "error"
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    wait_for(lambda: set(marked(mark)) <= before, "the end of all that was started")


def cell_of(name: str, cell: str) -> str:
    """Return the source of a cell."""
    (found,) = (item.source for item in notebook_of(name).cells if item.id == cell)
    return str(found)

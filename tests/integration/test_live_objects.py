"""Live objects in real processes: of modules, of scripts, of cells of a notebook."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

import autoloader
from autoloader.errors import StepError, UsageError
from tests.datasets import Honest, LosesInBatches

ROOT = Path(__file__).parents[2]

DEFINITIONS = """
import json
import sys

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

import autoloader


class Example:
    def __init__(self, pixels, label):
        self.pixels, self.label = pixels, label


class Photos(Dataset):
    def __init__(self, scale):
        self.examples = [Example(torch.full((3,), float(i)), i % 7) for i in range(48)]
        self.transform = lambda pixels: pixels * scale

    def __len__(self):
        return len(self.examples)

    def __getitem__(self, index):
        found = self.examples[index]
        return self.transform(found.pixels), found.label


class Plain(Photos):
    def __init__(self):
        super().__init__(1)
        self.transform = double


def double(pixels):
    return pixels * 2


def collate(examples):
    pixels, labels = zip(*examples)
    return torch.stack(pixels), torch.tensor(labels)


class Stream(IterableDataset):
    def __init__(self, read):
        self.read = read

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return (self.read(number) for number in range(first, 40, step))


def tell(**found):
    print(json.dumps(found))


def codes(checked):
    runs = checked.to_dict()["runs"]
    return [
        [run["status"], run["start_method"], (run["failure"] or {}).get("message")]
        for run in runs
    ]
"""

ONE = {"batch_size": 8, "config": "num_workers=2", "quiet": True}


def told(code: str, folder: Path, *, as_script: bool) -> list[dict[str, Any]]:
    """Run code as a script, or as it is typed into a shell; return what it tells."""
    text = f"{DEFINITIONS}\nONE = {ONE!r}\n{code}"
    words = ["-c", text]
    if as_script:
        path = folder / "my training.py"
        path.write_text(text, encoding="utf-8")
        words = [str(path)]
    found = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    return [json.loads(line) for line in found.stdout.splitlines()]


@pytest.mark.slow
def test_an_object_of_a_module_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Steps are told on stderr, as lines where there is no terminal."""
    monkeypatch.chdir(tmp_path)

    found = autoloader.check(Honest(), batch_size=8, config="num_workers=2")

    assert found.passed, str(found)
    assert capsys.readouterr().err.startswith("check: reference\n")
    assert str(found).startswith("Passed: 101 of 101 examples, 2 epochs: ids and ")


@pytest.mark.full
def test_a_liar_is_a_liar_as_an_object_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gate is the same."""
    monkeypatch.chdir(tmp_path)
    loader = DataLoader(LosesInBatches(), batch_size=8)

    found = autoloader.check(loader, config="num_workers=2", quiet=True)

    assert not found.passed
    assert found.to_dict()["findings"][0]["code"] == "missing_ids"


@pytest.mark.slow
def test_a_script_without_a_guard_checks_its_own_class(tmp_path: Path) -> None:
    """It is not run again; its lambda and its other class go with it.

    Workers that are spawned find what it defines, as they do in a training of its own.
    """
    code = (
        "loader = DataLoader(Plain(), batch_size=8, collate_fn=collate)\n"
        "tell(fork=codes(autoloader.check(Photos(3), **ONE)))\n"
        "tell(spawn=codes(autoloader.check(loader, start_method='spawn', "
        "config='num_workers=1,persistent_workers=yes', quiet=True)))\n"
    )

    forked, spawned = told(code, tmp_path, as_script=True)

    assert forked["fork"] == [["passed", "fork", None]]
    assert spawned["spawn"] == [["passed", "spawn", None]]


@pytest.mark.slow
def test_a_shell_checks_what_it_defines(tmp_path: Path) -> None:
    """As a cell of a notebook does: a stream with a lambda, made by a function.

    It has no file that spawned workers could import a class from, and that is named.
    """
    code = (
        "scale = 3\n"
        "make = lambda: Stream(lambda number: (torch.tensor([number * scale]), 1))\n"
        "tell(stream=codes(autoloader.check(make, **ONE)))\n"
        "spawned = autoloader.check(Plain(), start_method='spawn', **ONE)\n"
        "tell(spawned=codes(spawned))\n"
    )

    stream, spawned = told(code, tmp_path, as_script=False)

    assert stream["stream"] == [["passed", "fork", None]]
    assert spawned["spawned"] == [
        [
            "crashed",
            "spawn",
            "dataset (__main__.Plain) cannot be pickled, and workers get it by pickle",
        ]
    ]


@pytest.mark.full
def test_a_loader_whose_state_can_be_saved_is_checked_as_it_is(tmp_path: Path) -> None:
    """Its own class, with workers that are kept and not."""
    code = (
        "import warnings\n"
        "from torchdata.stateful_dataloader import StatefulDataLoader\n"
        "warnings.simplefilter('ignore')\n"
        "loader = StatefulDataLoader(Photos(2), batch_size=8, drop_last=True)\n"
        "found = autoloader.check(loader, quiet=True)\n"
        "tell(found=codes(found), own=found.result.reference.facts.own_class)\n"
    )

    (found,) = told(code, tmp_path, as_script=True)

    assert found == {"found": [["passed", "fork", None]] * 2, "own": True}


@pytest.mark.full
def test_a_live_object_is_tuned_and_its_study_has_its_name(tmp_path: Path) -> None:
    """The file names the object as people read it; a second tune begins anew."""
    code = (
        "found = autoloader.tune(Photos(2), batch_size=8, num_workers=range(0, 2), "
        "budget=6, trials=2, best_effort=True, quiet=True)\n"
        "tell(state=found.state, written=str(found.written), "
        "dataset=found.recommendation.data['dataset'])\n"
        "loader = autoloader.load('autoloader.yaml').dataloader(Photos(2))\n"
        "tell(batches=len(loader))\n"
    )

    tuned, used = told(code, tmp_path, as_script=True)

    assert tuned["dataset"] == "__main__.Photos object"
    assert tuned["written"] == "autoloader.yaml"
    assert used["batches"] == 6
    (study,) = (tmp_path / ".autoloader").glob("main-Photos-object-*")
    assert "signature" not in (study / "study.json").read_text()


def test_an_error_of_a_function_is_told_as_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the name that the function has."""
    monkeypatch.chdir(tmp_path)

    def broken(root: str) -> Any:
        return torch.ones(3), root

    with pytest.raises(UsageError) as caught:
        autoloader.check(broken, quiet=True)

    assert caught.value.message.endswith(".<locals>.broken needs the argument 'root'")


@pytest.mark.slow
def test_a_script_that_names_itself_needs_a_guard(tmp_path: Path) -> None:
    """Else each child would run it, and begin anew."""
    code = (
        "train = Photos(2)\n"
        "try:\n"
        "    autoloader.check('my_script.py:train', **ONE)\n"
        "except autoloader.AutoloaderError as exc:\n"
        "    tell(said=exc.message)\n"
        "    raise\n"
    )
    (tmp_path / "my_script.py").write_text(f"{DEFINITIONS}\nONE = {ONE!r}\n{code}")

    found = subprocess.run(
        [sys.executable, "my_script.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )

    assert json.loads(found.stdout)["said"] == (
        "check() is called while a process of its own imports the script"
    )


@pytest.mark.full
def test_a_step_and_a_count_of_a_script_are_run(tmp_path: Path) -> None:
    """A class that is made where it runs, and a function with what it looks up."""
    code = (
        "class Step:\n"
        "    def __init__(self):\n"
        "        self.model = torch.nn.Linear(3, 7)\n"
        "    def __call__(self, batch):\n"
        "        for _ in range(200):\n"
        "            self.model(batch[0]).sum().backward()\n"
        "words = 5\n"
        "def count(example):\n"
        "    return words\n"
        "found = autoloader.tune(Photos(2), batch_size=8, num_workers=range(2), "
        "budget=10, trials=2, target='step', step=Step, unit={'words': count}, "
        "best_effort=True, quiet=True)\n"
        "data = found.recommendation.data\n"
        "tell(step=data['step']['spec'], request='request' in data, "
        "words=data['scope']['per_example']['words'])\n"
    )

    (found,) = told(code, tmp_path, as_script=True)

    assert found == {"step": "__main__.Step", "request": False, "words": 5}
    (study,) = (tmp_path / ".autoloader").glob("main-Photos-object-*")
    key = json.loads((study / "study.json").read_text())
    assert "functions" not in json.dumps(key)


@pytest.mark.full
def test_a_step_that_raises_is_told_as_the_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the name that it has, and before any config is tried."""
    monkeypatch.chdir(tmp_path)

    def step(batch: Any) -> None:
        raise RuntimeError("no such layer")

    with pytest.raises(StepError) as caught:
        autoloader.tune(
            Honest(), batch_size=8, step=step, target="step", budget=20, quiet=True
        )

    assert "step raised RuntimeError: no such layer" in caught.value.message

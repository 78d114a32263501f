"""Bad input: one clear sentence, the way out, the exit code."""

# ruff: noqa: E501  # a case is read best on as few lines as it has parts

import os
import subprocess
import sys
from pathlib import Path

import pytest

DATASETS = Path(__file__).parents[1] / "datasets.py"

STEPS = DATASETS.with_name("steps.py")

CASES = [
    (["tune"], 2, "tune needs --dataset SPEC or a study file", "autoloader tune --dataset"),
    (["tun"], 2, "there is no command 'tun'", "did you mean 'tune'?"),
    (["tune", "--bach-size", "8"], 2, "tune has no flag or argument '--bach-size'",
     "did you mean '--batch-size'?"),
    (["tune", "--dataset", "nothing"], 2,
     "--dataset needs module:attribute or path/file.py:attribute, got 'nothing'",
     "for example --dataset mypackage.data:train_set"),
    (["tune", "--dataset", "nothing.py:x"], 2, "there is no file nothing.py", None),
    (["tune", "--dataset", "nosuchmodule:x"], 2,
     "there is no module 'nosuchmodule' for --dataset nosuchmodule", "modules are looked for"),
    (["tune", "--dataset", "{data}:Honst"], 2, "{data} has no attribute 'Honst'",
     "did you mean 'Honest'?"),
    (["tune", "--dataset", "{data}:not_a_dataset"], 2,
     "{data}:not_a_dataset is an int, which is no dataset", "a Dataset has __getitem__"),
    (["tune", "--dataset", "{data}:Empty"], 2, "{data}:Empty is empty: len() is 0",
     "check the path or the split that it reads"),
    (["tune", "--dataset", "{data}:Honest", "--batch-size", "0"], 2,
     "--batch-size must be a whole number of at least 1, got '0'", None),
    (["tune", "--dataset", "{data}:Honest", "--batch-size", "102"], 2,
     "--batch-size must be at most the 101 examples of an epoch, got 102", None),
    (["tune", "--dataset", "{data}:Honest", "--target", "abc"], 2,
     "--target is a rate such as 2000, a share such as 95%, or step, got 'abc'",
     "a rate is in examples a second for the whole node"),
    (["tune", "--dataset", "{data}:Honest", "--target", "step"], 2,
     "--target step needs the training step, and there is no --step", "--step train.py:step"),
    (["tune", "--dataset", "{data}:Honest", "--step", "{steps}:slw"], 2,
     "{steps} has no attribute 'slw'", "did you mean 'slow'?"),
    (["tune", "--dataset", "{data}:Honest", "--step", "no.py:step"], 2,
     "there is no file no.py", None),
    (["tune", "--dataset", "{data}:Honest", "--step", "{steps}:refuse", "--batch-size", "8"], 2,
     "--step {steps}:refuse raised ValueError: expected 4 fields, got 2, at batch 1",
     "a function is called with each batch"),
    (["tune", "--dataset", "{data}:Honest", "--out", "no/such/folder.yaml"], 2,
     "--out no/such/folder.yaml cannot be written: there is no folder {here}/no/such",
     "mkdir -p {here}/no/such"),
    (["tune", "bad.yaml"], 2, "the study file bad.yaml has an unknown key 'batchsize'",
     "did you mean 'batch-size'?"),
    (["check", "--dataset", "training.py:dataset"], 2,
     "training.py iterates a DataLoader when it is imported",
     'put what the script does under `if __name__ == "__main__":`'),
    (["check", "--dataset", "{data}:FailsAlways"], 3,
     "the dataset fails in one process: dataset[33] raises OSError: the file is truncated",
     "no DataLoader setting mends that"),
    (["check", "--dataset", "{data}:Honest", "--allow", "missing"], 2,
     "--allow missing is no finding code", "did you mean 'missing_ids'?"),
    (["help", "gaet"], 2, "the manual has no topic 'gaet'", "did you mean 'gate'?"),
]  # fmt: skip

TRAINING = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

dataset = TensorDataset(torch.arange(100))
for batch in DataLoader(dataset, batch_size=10):
    pass
"""


@pytest.mark.parametrize(("arguments", "code", "message", "hint"), CASES)
def test_bad_input_gets_a_clear_sentence_and_the_way_out(
    arguments: list[str], code: int, message: str, hint: str | None, tmp_path: Path
) -> None:
    """Message and hint stand on stderr, nothing on stdout, nothing is left behind."""
    (tmp_path / "bad.yaml").write_text("batchsize: 8\n")
    (tmp_path / "training.py").write_text(TRAINING)
    names = {"data": str(DATASETS), "steps": str(STEPS), "here": str(tmp_path)}

    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "autoloader",
            *(item.format(**names) for item in arguments),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "COLUMNS": "400"},
    )

    assert done.returncode == code, done.stderr
    assert f"autoloader: {message.format(**names)}\n" in done.stderr
    assert hint is None or f"hint: {hint.format(**names)}" in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "autoloader.yaml").exists()
    if arguments[0] == "tune":
        assert not list(tmp_path.glob(".autoloader/*/outcomes.jsonl"))

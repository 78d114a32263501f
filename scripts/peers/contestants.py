"""Those who recommend DataLoader settings: autoloader, loadtune, and rules by hand.

Each takes a study's dataset module and returns its advice with the wall time that it
took. None of them knows of the others.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from advice import Advice, plain
from reading import PlainLoop

if TYPE_CHECKING:
    from collections.abc import Sequence

RULES = ("half the cores", "as many as cores", "sweep of 0, 1, half, all")


def ask_autoloader(flags: Sequence[str], budget: str) -> Advice:
    """Return what a tune in a new folder recommends.

    Args:
        flags: a study file, or flags that name the dataset.
        budget: time that it may take.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "autoloader", "tune", *flags,
            "--budget", budget, "--best-effort", "--json",
        ]  # fmt: skip
        began = time.monotonic()
        done = subprocess.run(
            command, cwd=folder, stdout=subprocess.PIPE, text=True, check=False
        )
        seconds = time.monotonic() - began
        written = Path(folder, "autoloader.yaml")
        settings = None
        if written.exists():
            text = written.read_text(encoding="utf-8")
            settings = plain(yaml.safe_load(text)["dataloader"])
    return Advice(
        who="autoloader",
        settings=settings,
        seconds=seconds,
        words=_state(done.stdout, done.returncode),
    )


def ask_loadtune(file: Path, python: Path) -> Advice:
    """Return what loadtune's `tune` with its default flags recommends.

    Args:
        file: the study's dataset module.
        python: of the environment that has loadtune.
    """
    run = Path(__file__).with_name("run_loadtune.py")
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        done = subprocess.run(
            [python, run, folder],
            env={**os.environ, "STUDY_FILE": str(file)},
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - began
    if not done.stdout.strip():
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return Advice(who="loadtune", settings=None, seconds=seconds, words=last)
    settings = plain(json.loads(done.stdout))
    return Advice(who="loadtune", settings=settings, seconds=seconds)


def ask_rules(file: Path, batch_size: int) -> list[Advice]:
    """Return what the three rules say, in their order.

    The sweep reads one epoch with each number of workers, as introductions show it, and
    takes the fastest.
    """
    cores = os.cpu_count() or 1
    half = max(1, cores // 2)
    began = time.monotonic()
    swept: dict[int, float] = {}
    with PlainLoop(file) as loop:
        for workers in sorted({0, 1, half, cores}):
            settings = {"batch_size": batch_size, "num_workers": workers}
            rate = loop.rate(settings, warm_s=0.0, timed_s=0.0)
            if rate is not None:
                swept[workers] = rate
    seconds = time.monotonic() - began
    fastest = max(swept, key=lambda workers: swept[workers], default=None)
    found = zip(RULES, (half, cores, fastest), (0.0, 0.0, seconds), strict=True)
    return [
        Advice(
            who=who,
            settings=None
            if workers is None
            else plain({"batch_size": batch_size, "num_workers": workers}),
            seconds=taken,
        )
        for who, workers, taken in found
    ]


def _state(report: str, code: int) -> str:
    """Return how a tune ended, what it verified and how much it refused."""
    try:
        found = json.loads(report)
    except ValueError:
        return f"exit code {code}"
    words = [str(found.get("state", f"exit code {code}"))]
    if verified := found.get("verified"):
        of = "" if verified["of"] is None else f" of {verified['of']}"
        words.append(f"{verified['examples']}{of} verified")
    if refused := found.get("trials", {}).get("refused"):
        words.append(f"{refused} configs refused")
    return "; ".join(words)

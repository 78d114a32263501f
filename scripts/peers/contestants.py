"""Those who recommend DataLoader settings: autoloader, loadtune, and rules by hand.

Each takes a study's dataset module and returns its advice with the wall time that it
took. None of them knows of the others, and none outlives whoever asked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from autoloader.search.record import Record
from scripts.peers.advice import Advice, plain
from scripts.peers.bounded import run
from scripts.peers.reading import PlainLoop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.values.outcome import Outcome

LOADTUNE_S = 900.0
"""Five times what a tune of ours may take."""

RULES = ("half the cores", "as many as cores", "sweep of 0, 1, half, all")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """What a tune recommends, and what it took to find out."""

    advice: Advice
    code: int
    """Exit code."""
    trials: int
    """Configs that were tried."""
    readings: int
    """Timed passes, those of the race and those that were repeated too."""
    timed_s: float
    """Seconds of them."""


def tune(flags: Sequence[str], budget: str) -> Tuned:
    """Tune in a new folder.

    Args:
        flags: a study file, or flags that name the dataset.
        budget: time that it may take.

    Raises:
        KeyboardInterrupt: it was interrupted, or ended by a signal.
    """
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        done = run_autoloader(
            ["tune", *flags, "--budget", budget, "--best-effort", "--json"], folder
        )
        seconds = time.monotonic() - began
        written = Path(folder, "autoloader.yaml")
        settings = None
        if written.exists():
            text = written.read_text(encoding="utf-8")
            settings = plain(yaml.safe_load(text)["dataloader"])
        outcomes = _outcomes(Path(folder, ".autoloader"))
    readings = [reading for item in outcomes for reading in item.readings]
    return Tuned(
        advice=Advice(
            who="autoloader",
            settings=settings,
            seconds=seconds,
            words=_state(done.stdout, done.returncode),
        ),
        code=done.returncode,
        trials=len(outcomes),
        readings=len(readings),
        timed_s=sum(reading.total_s for reading in readings),
    )


def run_autoloader(
    words: Sequence[str], folder: str | Path
) -> subprocess.CompletedProcess[str]:
    """Run a command of this checkout's autoloader in a folder; its stdout is kept.

    Raises:
        KeyboardInterrupt: it was interrupted, or ended by a signal.
    """
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    done = run(
        [sys.executable, "-m", "autoloader", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
    )
    if done.returncode < 0 or done.returncode == 130:
        raise KeyboardInterrupt
    return done


def ask_loadtune(file: Path, python: Path, limit_s: float = LOADTUNE_S) -> Advice:
    """Return what loadtune's `tune` with its default flags recommends.

    Args:
        file: the study's dataset module.
        python: of the environment that has loadtune.
        limit_s: seconds after which it is ended, with nothing recommended.
    """
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        try:
            done = run(
                [python, Path(__file__).with_name("run_loadtune.py"), folder],
                limit_s=limit_s,
                env={**os.environ, "STUDY_FILE": str(file)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except subprocess.TimeoutExpired:
            words = f"no answer in {limit_s:g} s"
            return Advice(who="loadtune", settings=None, seconds=limit_s, words=words)
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


def _outcomes(root: Path) -> tuple[Outcome, ...]:
    """Return all outcomes of the studies in a folder: of one, or none."""
    found: list[Outcome] = []
    for path in sorted(root.glob("*/outcomes.jsonl")):
        with Record(path.parent) as record:
            found += record.outcomes
    return tuple(found)

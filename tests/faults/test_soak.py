"""Three hundred trials in one process, every second one failing: nothing adds up."""

import json
import os
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from autoloader.measure.machine import read_machine
from autoloader.measure.memory import process_set
from autoloader.measure.proc import children_of, numbers_in
from autoloader.search.stopwatch import Stopwatch
from autoloader.search.trials import run_trial
from autoloader.trial.aftercare import make_tmp, remove_folder
from autoloader.trial.reference import read_reference
from autoloader.trial.runner import ProcessRunner
from autoloader.values.config import LoaderConfig
from autoloader.values.gate import GatePolicy
from autoloader.values.job import Reference, ReferenceOrder
from autoloader.values.outcome import Outcome, Status
from autoloader.values.scope import ScopeRequest, SourceSpec

TRIALS = 300
SETTLED = 20
"""Trials after which all that is loaded once is loaded."""

WINDOW = 16
"""Trials that are compared: the first ones from there on, and the last ones."""

SHARE = 1.05
"""Most that the end may be of the beginning."""

HANG_AFTER_S = 4.0

LOG_BYTES = 64 << 10
"""Most that the log of a failed pass may take."""

DEEDS = {
    "kill": Status.CRASHED,
    "raise": Status.CRASHED,
    "exit": Status.CRASHED,
    "segfault": Status.CRASHED,
    "hang": Status.HUNG,
    "wrong": Status.REFUSED,
}
"""What a dataset does, and what comes of it."""

DATASET = Path(__file__).with_name("planned.py")
SHM = Path("/dev/shm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What the machine shows between two trials."""

    parent_bytes: int
    """Memory that is the parent's own."""
    parent_files: int
    host: int | None
    """Process id of the host; None: a failure ended it."""
    host_bytes: int
    host_files: int
    others: int
    """Children beside the host."""


class Watch:
    """Takes looks, and knows how old a host is."""

    def __init__(self) -> None:
        self.looks: list[Look] = []
        self.by_age: dict[int, list[Look]] = defaultdict(list)
        self._ages: dict[int, int] = defaultdict(int)

    def look(self) -> Look:
        """Look once."""
        children = [item for item in children_of(os.getpid()) if item.state not in "ZX"]
        hosts = [item.pid for item in children if _is_host(item.pid)]
        host = hosts[0] if hosts else None
        found = Look(
            parent_bytes=_bytes_of(os.getpid()),
            parent_files=_files_of(os.getpid()),
            host=host,
            host_bytes=_bytes_of(host) if host else 0,
            host_files=_files_of(host) if host else 0,
            others=len(children) - len(hosts),
        )
        self.looks.append(found)
        if host is not None:
            self._ages[host] += 1
            self.by_age[self._ages[host]].append(found)
        return found


def _is_host(pid: int) -> bool:
    return b"autoloader.child" in Path(f"/proc/{pid}/cmdline").read_bytes()


def _bytes_of(pid: int) -> int:
    found = process_set(pid)
    assert found is not None
    return found.pss_bytes


def _files_of(pid: int) -> int:
    return len(numbers_in(Path(f"/proc/{pid}/fd")) or [])


def plan_of(dice: random.Random) -> dict[str, Any]:
    """Return how a trial is to fail: in which pass, where, after which example."""
    deed = dice.choice(list(DEEDS))
    name = dice.choice(["gate", "memory", "timed"])
    return {
        "pass": "gate" if deed == "wrong" else name,  # elsewhere nobody looks
        "in_worker": dice.random() < 0.7,
        "after": dice.randrange(8),
        "do": deed,
    }


@pytest.fixture
def reference(tmp_path: Path) -> Iterator[tuple[Reference, Path, SourceSpec]]:
    """Give the reference, the folder of plans, and the dataset that follows them."""
    plans, logs = tmp_path / "plan", tmp_path / "reference"
    plans.mkdir()
    logs.mkdir()
    source = SourceSpec(spec=f"{DATASET}:Planned", arguments=(("folder", str(plans)),))
    order = ReferenceOrder(source=source, request=ScopeRequest(), folder=str(logs))
    tmp = make_tmp()
    yield read_reference(order, logs=logs, tmp=tmp), plans, source
    remove_folder(tmp)


@pytest.mark.full
@pytest.mark.alone
@pytest.mark.timeout(3000)
def test_hundreds_of_failing_trials_leave_everything_as_it_was(
    tmp_path: Path, reference: tuple[Reference, Path, SourceSpec]
) -> None:
    """Memory, files, processes, shared memory and disk, of parent and host."""
    read, plans, source = reference
    dice = random.Random(1)  # noqa: S311  # a choice, no secret
    study = tmp_path / "study"
    study.mkdir()
    tmp = make_tmp()
    shared_before = {path.name for path in SHM.iterdir()}
    runner = ProcessRunner(
        source,
        read,
        folder=study / "trials",
        tmp=tmp,
        policy=GatePolicy(hang_after_s=HANG_AFTER_S),
    )
    watch = Watch()

    with runner:
        stopwatch = Stopwatch(
            runner=runner,
            facts=read.facts,
            scope=read.scope,
            machine=read_machine(),
            limit_s=0.5,  # more than filling a queue takes: memory is weighed
        )
        for number in range(TRIALS):
            plan = plan_of(dice) if number % 2 else None
            outcome = try_once(stopwatch, plans, plan, number)
            check_outcome(outcome, plan)
            watch.look()

    check_parent(watch.looks)
    check_hosts(watch)
    check_logs(study / "trials")
    assert {item.others for item in watch.looks} == {0}
    assert {path.name for path in SHM.iterdir()} <= shared_before
    assert not tmp.exists()
    assert not children_of(os.getpid())


def try_once(
    stopwatch: Stopwatch, plans: Path, plan: dict[str, Any] | None, number: int
) -> Outcome:
    """Run a trial that fails as planned, or does not."""
    (plans / "reached").unlink(missing_ok=True)
    (plans / "plan").unlink(missing_ok=True)
    workers = 1 if plan is None or plan["in_worker"] else 0
    if plan is not None:
        (plans / "plan").write_text(json.dumps(plan))
    return run_trial(
        stopwatch,
        LoaderConfig.canonical(num_workers=workers, batch_size=8),
        number=number,
        source="soak",
        memory_bytes=None,
    )


def check_outcome(outcome: Outcome, plan: dict[str, Any] | None) -> None:
    """A plan is carried out, and named; without one the config is measured."""
    if plan is None:
        assert outcome.status is Status.MEASURED, outcome
    else:
        assert outcome.status is DEEDS[plan["do"]], (plan, outcome)


def check_parent(looks: list[Look]) -> None:
    """The parent takes at the end what it took when it had settled."""
    first, last = looks[SETTLED : SETTLED + WINDOW], looks[-WINDOW:]
    for name in ("parent_bytes", "parent_files"):
        before = median(getattr(item, name) for item in first)
        after = median(getattr(item, name) for item in last)
        assert after <= SHARE * before, (name, before, after)


def check_hosts(watch: Watch) -> None:
    """A host takes what the first ones took at its age, however many there were."""
    compared = 0
    for looks in watch.by_age.values():
        if len(looks) < 2 * 3:
            continue
        compared += 1
        for name in ("host_bytes", "host_files"):
            before = median(getattr(item, name) for item in looks[:3])
            after = median(getattr(item, name) for item in looks[-3:])
            assert after <= SHARE * before, (name, before, after)
    assert compared


def check_logs(trials: Path) -> None:
    """Passes that said nothing left no log, and none of the others is large."""
    folders = [path for path in trials.iterdir() if path.is_dir()]
    sizes = {
        path.name: sum(file.stat().st_size for file in path.iterdir())
        for path in folders
    }
    assert len(folders) <= TRIALS // 2
    assert max(sizes.values()) <= LOG_BYTES, sizes

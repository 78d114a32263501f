"""Fleets of real processes: they share a study, die, and lose their database."""

import json
import multiprocessing
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from autoloader.search.record import Record
from autoloader.search.shared_trials import SharedTrial
from autoloader.values.config import LoaderConfig
from autoloader.values.fleet import Storage
from tests.fleet_machine import Asked, desk_of, search
from tests.postgres import PASSWORD, Server, running

pytestmark = pytest.mark.alone

ROOT = Path(__file__).parents[2]

MACHINES = 8

TRIALS = 200

LEASE_S = 6.0

BOUND_S = 240.0
"""Most that a fleet may take, on a busy machine."""


MACHINES_ARE_MADE_BY = multiprocessing.get_context("forkserver")
MACHINES_ARE_MADE_BY.set_forkserver_preload(["tests.fleet_machine", "pytest"])
"""A process that has imported what machines need, and has nothing open: each takes a
second or two of a CPU to start otherwise."""


@dataclass(slots=True, kw_only=True)
class Machine:
    """A process that searches as one machine of a fleet."""

    host: str
    folder: Path
    process: BaseProcess

    @property
    def said(self) -> list[dict[str, Any]]:
        """What it has said so far, whole lines."""
        out = self.folder / "out"
        text = out.read_text() if out.exists() else ""
        return [json.loads(line) for line in text.split("\n")[:-1]]

    @property
    def is_held(self) -> bool:
        """Whether it is in the middle of a trial, and stays there."""
        return any(item["what"] == "held" for item in self.said)

    def code(self, deadline: float) -> int | None:
        """Wait for its end, and return its exit code."""
        self.process.join(max(0.0, deadline - time.monotonic()))
        return self.process.exitcode

    def outcomes(self) -> dict[LoaderConfig, int]:
        """Return how often it measured each config, by its own record."""
        with Record(self.folder / "study") as record:
            return dict(Counter(item.config for item in record.outcomes))


class Fleet:
    """Some machines that share a storage."""

    def __init__(
        self, storage: str, folder: Path, trials: int, variables: dict[str, str]
    ) -> None:
        self.storage, self.folder, self.trials = storage, folder, trials
        self.variables = variables
        self.machines: list[Machine] = []

    def start(self, host: str, *, gate_s: float) -> Machine:
        """Start a machine."""
        folder = self.folder / host
        folder.mkdir()
        asked = Asked(
            storage=self.storage, variables=self.variables, host=host,
            trials=self.trials, lease_s=LEASE_S, gate_s=gate_s, folder=folder,
        )  # fmt: skip
        process = MACHINES_ARE_MADE_BY.Process(target=search, args=(asked,))
        process.start()
        machine = Machine(host=host, folder=folder, process=process)
        self.machines.append(machine)
        return machine

    def seen_by(self, storage: Storage) -> tuple[SharedTrial, ...]:
        """Return the trials, as a machine sees them that was not there."""
        with Record(self.folder / f"onlooker-{time.monotonic_ns()}") as record:
            desk = desk_of(storage, record, host="onlooker", lease_s=3600)
            try:
                return desk.study.look()
            finally:
                desk.study.storage.close()

    def end(self) -> None:
        """End what still runs."""
        for machine in self.machines:
            machine.process.kill()
            machine.process.join()


def until(is_so: Callable[[], bool], deadline: float) -> None:
    """Wait for something to be so.

    Raises:
        TimeoutError: it is not by then.
    """
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)


def done_in(fleet: Fleet) -> int:
    """Return how many trials machines said they ended."""
    return sum(
        item["what"] == "ended" for machine in fleet.machines for item in machine.said
    )


def kill_while_trying(machine: Machine, deadline: float) -> None:
    """End a machine without a word, in the middle of a trial."""
    (machine.folder / "hold").touch()
    until(lambda: machine.is_held, deadline)
    machine.process.kill()
    machine.process.join()


def check(fleet: Fleet, trials: tuple[SharedTrial, ...], dead: list[Machine]) -> None:
    """Check that no trial is lost, none counted twice, each where it was measured."""
    done = [item for item in trials if item.fate == "done"]
    lost = [item for item in trials if item.fate == "lost"]
    assert len({item.config for item in done}) == len(done) == fleet.trials
    assert not [item for item in trials if item.fate == "running"]
    hosts = [machine.host for machine in dead]
    assert sorted(item.holder.host for item in lost) == sorted(hosts)
    again = {item.config for item in done}
    assert all(item.config in again for item in lost)
    measured = {machine.host: machine.outcomes() for machine in fleet.machines}
    for item in done:
        assert measured[item.holder.host][item.config] == 1
    readings = sum(sum(counts.values()) for counts in measured.values())
    assert readings == fleet.trials


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Run a PostgreSQL server with a password."""
    with running() as found:
        yield found


@pytest.mark.slow
def test_a_fleet_survives_kills_and_a_restart_of_its_database(
    server: Server, tmp_path: Path
) -> None:
    """200 trials of 8 machines, 2 of them killed, none lost, none counted twice."""
    deadline = time.monotonic() + BOUND_S
    fleet = Fleet("env:FLEET", tmp_path, TRIALS, {"FLEET": server.url})
    doomed = random.Random(10).sample(range(MACHINES), MACHINES // 4)  # noqa: S311
    try:
        for number in range(MACHINES):
            fleet.start(f"node-{number}", gate_s=0.05)
        dead = [fleet.machines[number] for number in doomed]
        until(lambda: done_in(fleet) >= 20, deadline)
        kill_while_trying(dead[0], deadline)
        until(lambda: done_in(fleet) >= 60, deadline)
        server.stop()
        server.start()
        until(lambda: done_in(fleet) >= 100, deadline)
        kill_while_trying(dead[1], deadline)
        alive = [item for item in fleet.machines if item not in dead]
        codes = [machine.code(deadline) for machine in alive]

        ended = [machine.said[-1] for machine in alive]
        check(fleet, fleet.seen_by(Storage.parse("env:F", {"F": server.url})), dead)
    finally:
        fleet.end()

    assert codes == [0] * len(alive)
    assert {(item["why"], item["done"]) for item in ended} == {("trials", TRIALS)}
    told = [item for machine in alive for item in machine.said]
    troubles = [item["told"] for item in told if item["what"] == "trouble"]
    assert troubles
    assert all("fleet:***@127.0.0.1" in item for item in troubles)
    says_no_password(tmp_path)


DATASETS = ROOT / "tests/datasets.py"


def tune(folder: Path, url: str, *flags: str) -> subprocess.Popen[bytes]:
    """Start a tune in a folder of its own, as on a machine of its own."""
    folder.mkdir()
    command = [
        sys.executable, "-m", "autoloader", "tune", "--dataset", f"{DATASETS}:Slow",
        "--batch-size", "8", "--num-workers", "0:3", "--prefetch-factor", "2",
        "--storage", "env:FLEET", *flags,
    ]  # fmt: skip
    variables = {
        "FLEET": url, "AUTOLOADER_LOCK": str(folder / "machine.lock"),
        "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        return subprocess.Popen(
            command, cwd=folder, env={**os.environ, **variables}, stdout=out, stderr=err
        )


def says_no_password(folder: Path, password: str = PASSWORD) -> None:
    """Check all that was written below a folder."""
    for path in folder.rglob("*"):
        if path.is_file():
            assert password.encode() not in path.read_bytes(), path


@pytest.mark.full
def test_two_tunes_share_a_search_and_race_by_themselves(
    server: Server, tmp_path: Path
) -> None:
    """Each config has one trial between them; each file is of its own readings."""
    folders = [tmp_path / "one", tmp_path / "two"]
    flags = ("--target", "300", "--budget", "40s", "--exhaustive", "--json")
    machines = [tune(folder, server.url, *flags) for folder in folders]
    titles = [Path(f"/proc/{item.pid}/cmdline").read_bytes() for item in machines]

    codes = [machine.wait(timeout=240) for machine in machines]

    told = [(folder / "err").read_text() for folder in folders]
    assert codes == [0, 0], told
    with Record(tmp_path / "onlooker") as record:
        storage = Storage.parse("env:F", {"F": server.url})
        desk = desk_of(storage, record, host="onlooker", lease_s=3600)
        (name,) = [item for item in desk.study.names() if "datasets-Slow" in item]
        desk.study.name = name
        trials = [item for item in desk.study.look() if item.counts]
        desk.study.storage.close()
    assert {item.fate for item in trials} == {"done"}
    assert len({item.config for item in trials}) == len(trials)
    pids = {machine.pid for machine in machines}
    assert {item.holder.pid for item in trials} == pids
    for folder, machine in zip(folders, machines, strict=True):
        (study,) = [
            item for item in (folder / ".autoloader").iterdir() if item.is_dir()
        ]
        with Record(study) as record:
            own = {item.config: item for item in record.outcomes}
        shared = {item.config for item in trials if item.holder.pid == machine.pid}
        assert shared <= own.keys()
        others = [item for item in own.values() if item.config not in shared]
        assert {item.source for item in others} <= {"fleet"}
        assert (folder / "autoloader.yaml").exists()
    assert not any(PASSWORD.encode() in title for title in titles)
    says_no_password(tmp_path)


@pytest.mark.full
def test_a_wrong_password_is_told_without_it(server: Server, tmp_path: Path) -> None:
    """In ten seconds, with what the server says."""
    wrong = "sesame-4711"

    machine = tune(tmp_path / "one", server.url_as("fleet", wrong), "--budget", "20s")

    assert machine.wait(timeout=120) == 5
    told = (tmp_path / "one/err").read_text()
    assert "cannot be opened: connection failed: " in " ".join(told.split())
    assert 'password authentication failed for user "fleet"' in " ".join(told.split())
    says_no_password(tmp_path, wrong)


@pytest.mark.full
def test_a_password_of_the_environment_or_of_its_file_is_enough(
    server: Server, tmp_path: Path
) -> None:
    """As PostgreSQL's own programs take it."""
    passfile = tmp_path / "pgpass"
    passfile.write_text(f"127.0.0.1:{server.port}:postgres:fleet:{PASSWORD}\n")
    passfile.chmod(0o600)

    for number, variables in enumerate(
        ({"PGPASSWORD": PASSWORD}, {"PGPASSFILE": str(passfile)})
    ):
        (tmp_path / str(number)).mkdir()
        fleet = Fleet(server.url_without_password, tmp_path / str(number), 2, variables)
        machine = fleet.start(f"machine-{number}", gate_s=0.0)
        assert machine.code(time.monotonic() + 60) == 0, machine.folder
        assert machine.said[-1]["why"] == "trials"


@pytest.mark.full
def test_a_fleet_shares_a_journal_in_a_folder(tmp_path: Path) -> None:
    """Three machines, one of them killed: no trial lost, none counted twice."""
    deadline = time.monotonic() + BOUND_S
    path = tmp_path / "fleet.journal"
    fleet = Fleet(str(path), tmp_path, 30, {})
    try:
        for number in range(3):
            fleet.start(f"node-{number}", gate_s=0.05)
        until(lambda: done_in(fleet) >= 5, deadline)
        kill_while_trying(fleet.machines[0], deadline)
        alive = fleet.machines[1:]
        codes = [machine.code(deadline) for machine in alive]

        check(fleet, fleet.seen_by(Storage.parse(str(path), {})), fleet.machines[:1])
    finally:
        fleet.end()

    assert codes == [0, 0]
    assert {machine.said[-1]["done"] for machine in alive} == {30}

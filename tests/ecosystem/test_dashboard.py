"""optuna-dashboard over our journal: a running study, and a finished one."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from autoloader.search.selection import Choice
from autoloader.search.space import Space
from autoloader.search.study import Study
from tests.ecosystem.frameworks import framework
from tests.report.story import DEFAULT, KEPT, SPEC, TARGET, THREE, trials

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autoloader.values.outcome import Outcome

SPACE = Space(
    num_workers=(0, 8),
    prefetch_factor=(2, 4),
    pin_memory=(False, True),
    persistent_workers=(False, True),
    batch_size=(64,),
)

WITHIN_S = 60.0
"""How long a dashboard may take to answer on a machine that is busy."""


@contextmanager
def dashboard(journal: Path) -> Iterator[str]:
    """Give the address of a dashboard over a journal, as people start it."""
    framework("optuna_dashboard")
    program = shutil.which("optuna-dashboard", path=str(Path(sys.executable).parent))
    assert program is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, str(journal), "--host", "127.0.0.1", "--port", str(port)]
    with (journal.parent / "dashboard.txt").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--server", "wsgiref"], stdout=log, stderr=log
        )
    try:
        _wait_until_it_answers(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _wait_until_it_answers(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while True:
        assert process.poll() is None, "the dashboard has ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
        except OSError:
            assert time.monotonic() < deadline, "the dashboard does not answer"
            time.sleep(0.05)
        else:
            return


def asked(address: str) -> Any:
    """Return what an address answers."""
    with urllib.request.urlopen(address, timeout=WITHIN_S) as answer:  # noqa: S310
        return json.load(answer)


def detail_of(address: str, name: str) -> dict[str, Any]:
    """Return what the dashboard serves of the study of a name; there is one such."""
    listed = asked(f"{address}/api/studies")["study_summaries"]
    assert [item["study_name"] for item in listed] == [name]
    number = listed[0]["study_id"]
    found: dict[str, Any] = asked(f"{address}/api/studies/{number}?after=0")
    return found


def _until_it_shows(trials: int, address: str, name: str) -> dict[str, Any]:
    """Return the same once there are so many trials: it looks every few seconds."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        found = detail_of(address, name)
        if len(found["trials"]) >= trials or time.monotonic() > deadline:
            return found
        time.sleep(0.2)


def attributes(served: dict[str, Any]) -> dict[str, str]:
    """Return user attributes by name, as the dashboard writes them."""
    return {item["key"]: item["value"] for item in served["user_attrs"]}


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Give a study of which half of the trials are told."""
    home = tmp_path / "train_set-1a2b3c4d"
    home.mkdir()
    found = Study(
        home / "optuna.log", SPACE, outcomes=(), target=TARGET, about={"dataset": SPEC}
    )
    for outcome in trials()[:6]:
        _try(found, outcome)
    return found


def _try(study: Study, outcome: Outcome) -> None:
    study.ask(outcome.config)
    study.tell(outcome)


def test_a_running_and_a_finished_study_are_served(
    study: Study, tmp_path: Path
) -> None:
    """Rates, fates and feasibility; a dashboard that is open sees the end."""
    name = "train_set-1a2b3c4d"
    with dashboard(tmp_path / name / "optuna.log") as address:
        running = detail_of(address, name)
        for outcome in trials()[6:]:
            _try(study, outcome)
        later = _until_it_shows(10, address, name)
        lost = [
            replace(item, status=FAILED.status, failure=FAILED.failure, readings=())
            if item.config == DEFAULT
            else item
            for item in trials()
        ]
        choice = Choice(config=THREE, state="met", best=KEPT, reason="simplest")
        study.conclude(lost, choice)
        finished = _until_it_shows(10, address, name)

    states = [item["state"] for item in running["trials"]]
    assert states == ["Fail", "Complete", "Complete", "Fail", "Complete", "Fail"]
    assert len(later["trials"]) == len(finished["trials"]) == 10
    assert finished["objective_names"] == ["examples/s"]
    assert attributes(finished)["chosen"] == THREE.describe()
    by_config = {attributes(item)["config"]: item for item in finished["trials"]}
    chosen, default = by_config[THREE.describe()], by_config[DEFAULT.describe()]
    assert chosen["values"] == [pytest.approx(601.0)]
    assert attributes(chosen)["is"] == "chosen"
    assert attributes(chosen)["feasible"] == "True"
    assert max(chosen["constraints"]) <= 0
    assert (default["state"], max(default["constraints"])) == ("Fail", 1.0)
    refused = next(
        item for item in finished["trials"] if attributes(item)["status"] == "refused"
    )
    assert attributes(refused)["findings"] == '["missing_ids"]'
    assert attributes(refused)["feasible"] == "False"
    assert max(refused["constraints"]) >= 1


FAILED = next(item for item in trials() if item.failure is not None)
"""One that ran out of memory."""

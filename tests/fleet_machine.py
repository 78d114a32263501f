"""One machine of a fleet, for tests: its host is a name, and its loader simulated.

`search` runs in a process of its own: it searches a table of 435 configs as a tune
does, with the real search, desk, storage and record; each trial takes some hundredths
of a second of real time. It says `begun` and `ended`, each with the config, and
`stopped` with why.
"""

import json
import os
import random
import time
from dataclasses import dataclass
from pathlib import Path

from autoloader.measure.holders import this_process
from autoloader.search.disturbance import Noise
from autoloader.search.exploration import Exploration
from autoloader.search.fleet_desk import FleetDesk
from autoloader.search.leases import Leases
from autoloader.search.record import Record
from autoloader.search.replay_runner import ReplayClock, ReplayRunner
from autoloader.search.shared_storage import SharedStorage
from autoloader.search.shared_study import SharedStudy
from autoloader.search.space import Space
from autoloader.search.stopwatch import Stopwatch
from autoloader.search.strategy import InOrder
from autoloader.search.tables import Answer, Table
from autoloader.values.config import LoaderConfig
from autoloader.values.fleet import Holder, Storage
from autoloader.values.outcome import Failure, Outcome, Verdict
from autoloader.values.target import Target
from tests.fakes import a_machine, a_scope, some_facts

SPACE = Space(
    num_workers=(0, 24),
    prefetch_factor=(2, 4, 8),
    pin_memory=(False,),
    persistent_workers=(False, True),
    batch_size=(32, 64, 128),
)
"""435 configs."""

STUDY = "autoloader/test/fleet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a machine is to do."""

    storage: str
    """As `--storage` names it."""
    variables: dict[str, str]
    """Of its environment."""
    host: str
    trials: int
    """Of the whole fleet."""
    lease_s: float
    gate_s: float
    """Real seconds of a trial."""
    folder: Path
    """For its study, and for what it says."""


class Unheeding:
    """Follows trials and shows them nowhere."""

    def ask(self, config: LoaderConfig) -> None:
        """Say that it begins, where a test can see it."""
        say("begun", config)

    def tell(self, outcome: Outcome) -> None:
        """Say that it ended."""
        say("ended", outcome.config)


class TakingTime(ReplayRunner):
    """Answers from a table, after a moment; or never, where a file says `hold`."""

    gate_s = 0.0
    hold = Path()

    def gate(self, config: LoaderConfig, *, examples: int) -> Verdict | Failure:
        """Return the table's verdict."""
        time.sleep(self.gate_s)
        if self.hold.exists():
            say("held", config)
            time.sleep(3600)
        return super().gate(config, examples=examples)


def say(what: str, config: LoaderConfig | None = None, **more: object) -> None:
    """Write a line."""
    told = None if config is None else config.describe()
    print(json.dumps({"what": what, "config": told, **more}), flush=True)


def identity(host: str) -> Holder:
    """Return this process as it would be on a machine of its own."""
    here = this_process()
    return Holder(
        host=host, boot=f"boot of {host}", namespace=here.namespace,
        pid=here.pid, start_ticks=here.start_ticks,
    )  # fmt: skip


def desk_of(
    storage: Storage,
    record: Record,
    *,
    host: str,
    lease_s: float,
    most_trials: int | None = None,
    patience_s: float = 30.0,
) -> FleetDesk:
    """Return what hands out trials to a machine of this name."""
    return FleetDesk(
        study=SharedStudy(
            storage=SharedStorage(
                storage=storage,
                on_trouble=lambda text, _hint: say("trouble", told=text),
                patience_s=patience_s,
            ),
            name=STUDY,
            holder=identity(host),
            leases=Leases(lease_s, time.monotonic),
            most_trials=most_trials,
        ),
        record=record,
        clock=time.monotonic,
        lease_s=lease_s,
        look_s=0.2,
    )


def table() -> Table:
    """Return how a loader does whose workers decode 250 examples a second each."""
    return Table(
        name="fleet",
        facts=some_facts(),
        scope=a_scope(),
        space=SPACE,
        machine=a_machine(),
        answers={
            config: Answer(
                first_s=0.5,
                batch_s=(config.batch_size or 1) / 250 / max(config.num_workers, 1),
                end_s=0.1,
                own_cpu=1.0,
                peak_bytes=100 << 20,
            )
            for config in SPACE.configs()
        },
    )


def search(asked: Asked) -> None:
    """Search as one machine of the fleet."""
    _write_into(asked.folder)
    os.environ.update(asked.variables)
    storage = Storage.parse(asked.storage, os.environ)
    answers, clock = table(), ReplayClock()
    runner = TakingTime(answers, answers.disturbance(Noise(), 0), clock)
    runner.gate_s, runner.hold = asked.gate_s, asked.folder / "hold"
    stopwatch = Stopwatch(
        runner=runner, facts=answers.facts, scope=answers.scope,
        machine=answers.machine, limit_s=2.0,
        shm_free_bytes=lambda: answers.machine.shm_free_bytes,
    )  # fmt: skip
    configs = list(answers.space.configs())
    # each in an order of its own, as machines with readings of their own would
    random.Random(asked.host).shuffle(configs)  # noqa: S311
    with Record(asked.folder / "study") as record:
        desk = desk_of(
            storage, record, host=asked.host, lease_s=asked.lease_s,
            most_trials=asked.trials,
        )  # fmt: skip
        exploration = Exploration(
            record=record, study=Unheeding(), proposer=InOrder(configs=configs),
            configs=configs, target=Target(share_of_best=0.95),
            most_trials=asked.trials, deadline=float("inf"), limit=float("inf"),
            clock=time.monotonic, desk=desk,
        )  # fmt: skip
        stopped = exploration.run(
            stopwatch, [], on_start=lambda _: None, on_outcome=lambda _: None
        )
        desk.study.storage.close()
        say("stopped", why=stopped, own=len(record.outcomes), done=desk.seen.done)


def _write_into(folder: Path) -> None:
    """Let all that is written from now on go into files."""
    for name, descriptor in (("out", 1), ("err", 2)):
        with (folder / name).open("wb") as file:
            os.dup2(file.fileno(), descriptor)

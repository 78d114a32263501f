"""Nights that never were: machines and datasets of a table, and a workshop of them.

Everything that decides is the real code: the search, the race, the judgement, the
files. Only passes are answered by a table, on a clock of its own.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.errors import AutoloaderError, DatasetError
from autoloader.export.baseline import read_baseline
from autoloader.export.evidence import Evidence, recommend
from autoloader.export.origin import fingerprint_of
from autoloader.export.recommendation import Recommendation, load
from autoloader.export.scope_section import scope_section
from autoloader.retune_values import RetuneRequest, RetuneResult
from autoloader.retuning import retune
from autoloader.search.disturbance import Noise
from autoloader.search.known_outcomes import KnownOutcomes
from autoloader.search.night_race import NightRace, NightReadings
from autoloader.search.replay import Conditions, Setting, finish, study
from autoloader.search.replay_runner import ReplayClock, ReplayRunner
from autoloader.search.simulated import NOTHING, Cost, SimulatedLoader
from autoloader.search.space import SpaceRequest
from autoloader.search.stopwatch import PASS_SHARE, Stopwatch
from autoloader.search.workload import Workload
from autoloader.tune_values import TuneRequest, TuneResult
from autoloader.values.job import Reference
from autoloader.values.outcome import Finding, Verdict
from autoloader.values.scope import SourceSpec
from autoloader.values.target import Target
from autoloader.verifying import NIGHT_SHARE, ROUNDS_SHARE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.search.finale import Result
    from autoloader.search.tables import Table
    from autoloader.values.config import LoaderConfig
    from autoloader.values.fingerprint import Fingerprint
    from autoloader.values.night import Night

BUDGET_S = 180.0

SOURCE = SourceSpec(spec="data.py:train")

NOISE = Noise()
"""Scatter of 5 % a reading, a drift of 3 %, bursts of other load."""

MACHINE_SCATTER = 0.05
"""Of log rates of all configs alike, from night to night."""

CONFIG_SCATTER = 0.01
"""Of log rates of each config for itself, from night to night."""

FIRST_NIGHT = datetime(2026, 11, 1, 2, 0, tzinfo=UTC)

SHARE = Target(share_of_best=0.95)

LOST = Verdict(
    passed=False,
    examples=512,
    of=64_000,
    epochs=2,
    compared="rows",
    findings=(
        Finding(code="missing_ids", count=1, ids=(33,), epoch=0, message="lost: 33"),
    ),
)
"""What the gate says where workers lose an example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What a night finds: hardware, software, storage and data."""

    cores: float = 2.5
    cpu_s: float = 0.004
    """CPU seconds of an example."""
    wait_s: float = 0.0
    """Seconds that an example waits for storage."""
    handover_s: float = 0.0003
    """CPU seconds in which a worker's batch is taken over."""
    slower: float = 1.0
    """By how much all of it is slower, tonight."""
    examples: int = 64_000
    cpu_model: str = "Simulated CPU"
    torch: str = "2.13.0"
    kernel: str = "6.1"
    fails: str | None = None
    """What the dataset fails with in one process; None: it does not."""
    loses_data: bool = False
    """Whether workers lose an example."""

    def table(self) -> Table:
        """Return how each config does, where nothing disturbs it."""
        found = _table(
            self.cores, self.cpu_s, self.wait_s, self.handover_s, self.examples
        )
        machine = replace(found.machine, cpu_model=self.cpu_model, kernel=self.kernel)
        broken = (
            {config: LOST for config in found.answers if config.num_workers}
            if self.loses_data
            else {}
        )
        return replace(found, machine=machine, broken=broken)


@cache
def _table(
    cores: float, cpu_s: float, wait_s: float, handover_s: float, examples: int
) -> Table:
    wait = Cost(mean_s=wait_s) if wait_s else NOTHING
    workload = Workload(
        name="nights",
        about="decodes on few cores; up to four workers",
        loader=SimulatedLoader(
            cores=cores,
            example_cpu=Cost(mean_s=cpu_s),
            example_wait=wait,
            handover_s=handover_s,
        ),
        examples=examples,
        request=SpaceRequest(num_workers=(0, 4), prefetch_factor=(2,)),
    )
    return workload.table(budget_s=BUDGET_S)


@dataclass(slots=True, kw_only=True)
class SimulatedWorkshop:
    """Does a night's work by a table."""

    world: World
    target: Target
    seed: int
    now: datetime
    baseline: Any = None
    """What a night is held against; None: there is no file yet."""
    known: TuneResult | None = None
    """What each tune comes to, worked out before; None: it is worked out."""
    tunes: list[tuple[LoaderConfig, ...]] = field(default_factory=list)
    """What each tune was to try first."""

    def reference(self) -> Reference:
        """Return what one process reads, or raise what it fails with."""
        if self.world.fails is not None:
            raise DatasetError(self.world.fails)
        table = self.world.table()
        return Reference(facts=table.facts, scope=table.scope, folder="", seconds=1.0)

    def fingerprint(self, reference: Reference) -> Fingerprint:
        """Return what is here tonight."""
        scope = scope_section(SOURCE, reference.scope, reference.facts, ())
        return fingerprint_of(
            {
                "dataset": SOURCE.spec,
                "machine": self.world.table().machine.to_dict(),
                "versions": self._versions(),
                "scope": scope,
            }
        )

    def race(self, reference: Reference, past: Sequence[Night]) -> NightReadings:
        """Verify and race what is stored."""
        clock, table = ReplayClock(), self._tonight()
        runner = ReplayRunner(
            table, table.disturbance(NOISE, self.seed), clock, seed=self.seed
        )
        return NightRace(
            stopwatch=Stopwatch(
                runner=runner,
                facts=table.facts,
                scope=reference.scope,
                machine=table.machine,
                limit_s=BUDGET_S * PASS_SHARE,
                shm_free_bytes=lambda: table.machine.shm_free_bytes,
            ),
            record=KnownOutcomes(),
            baseline=self.baseline,
            past=past,
            deadline=BUDGET_S * NIGHT_SHARE,
            least_s=BUDGET_S * ROUNDS_SHARE,
            clock=clock,
            on_phase=_ignore,
            on_round=_ignore,
        ).run()

    def tune(self, first: Sequence[LoaderConfig]) -> TuneResult:
        """Run a study as a tune does."""
        self.tunes.append(tuple(first))
        if self.known is not None:
            return self.known
        ended: list[tuple[Setting, Result]] = []

        def ending(setting: Setting) -> Result:
            ended.append((setting, finish(setting)))
            return ended[0][1]

        table = self._tonight()
        stored = tuple(config for config in first if config in table.answers)
        under = Conditions(
            budget_s=BUDGET_S, seed=self.seed, noise=NOISE, stored=stored
        )
        study(table, self.target, under, ending=ending)
        setting, result = ended[0]
        return TuneResult(
            state=result.choice.state,
            recommendation=self._recommendation(setting, result),
            written=None,
            result=result,
            outcomes=setting.record.outcomes,
            reference=self.reference(),
            stopped_search="settled",
            study=Path("study"),
            seconds=100.0,
            budget_s=BUDGET_S,
        )

    def _tonight(self) -> Table:
        """Return the table with what the night does to all, and to each config."""
        table, draw = self.world.table(), random.Random(self.seed)  # noqa: S311
        for_all = draw.gauss(0.0, MACHINE_SCATTER)
        answers = {}
        for config, answer in table.answers.items():
            own = draw.gauss(0.0, CONFIG_SCATTER)
            slower = self.world.slower * 2.718281828 ** (for_all + own)
            answers[config] = replace(
                answer,
                first_s=answer.first_s * slower,
                batch_s=answer.batch_s * slower,
                end_s=answer.end_s * slower,
                start_s=answer.start_s * slower,
            )
        return replace(table, answers=answers)

    def _recommendation(self, setting: Setting, result: Result) -> Recommendation:
        table = setting.table
        found = recommend(
            Evidence(
                source=SOURCE,
                target=self.target,
                ranks=1,
                machine=table.machine,
                reference=self.reference(),
                space=table.space,
                result=result,
                outcomes=setting.record.outcomes,
                default_config=table.space.default,
                user_config=None,
                study="study",
                seconds=100.0,
                model=setting.strategy.model,
                stopped_search="settled",
                request={"folder": ".", "flags": {"dataset": SOURCE.spec}},
            )
        ).data
        date = (self.now + timedelta(minutes=3)).isoformat()
        return Recommendation(
            {
                **found,
                "versions": self._versions(),
                "study": {**found["study"], "date": date},
            }
        )

    def _versions(self) -> dict[str, str]:
        return {"python": "3.11.7", "torch": self.world.torch}


def _ignore(*_told: object) -> None:
    """Do nothing with what a watcher would show."""


@dataclass(slots=True, kw_only=True)
class Month:
    """A recommendation and the nights over which it is kept.

    The first study is made when the month begins.
    """

    file: Path
    seed: int
    world: World = field(default_factory=World)
    target: Target = SHARE
    number: int = 0
    """Nights so far."""
    known: TuneResult | None = None
    """What its tunes come to, worked out before; None: they are worked out."""
    workshop: SimulatedWorkshop | None = None
    """Of the latest night."""

    def __post_init__(self) -> None:
        """Tune for the first time, where there is no file."""
        if self.file.exists():
            return
        found = self._workshop(self.world, FIRST_NIGHT).tune(()).recommendation
        assert found is not None
        found.write(self.file)

    def night(self, world: World | None = None, **asked: Any) -> RetuneResult:
        """Run the next night, and return what came of it.

        Args:
            world: what it finds; None: what the first study found.
            asked: of the request.

        Raises:
            AutoloaderError: the night ends so.
        """
        self.number += 1
        now = FIRST_NIGHT + timedelta(days=self.number)
        stands = asked.pop("stands", self.file)
        recommendation = load(stands)
        baseline = read_baseline(recommendation, stands)
        workshop = self._workshop(world or self.world, now)
        workshop.baseline = baseline
        self.workshop = workshop
        request = RetuneRequest(
            file=asked.pop("file", self.file),
            recommendation=recommendation,
            baseline=baseline,
            tune=TuneRequest(source=SOURCE, target=self.target, out=self.file),
            **asked,
        )
        machine = workshop.world.table().machine
        return retune(request, machine, workshop, now=now, clock=lambda: 0.0)

    def code(self, world: World | None = None, **asked: Any) -> int:
        """Run the next night, and return the command's exit code."""
        try:
            return self.night(world, **asked).night.exit_code
        except AutoloaderError as exc:
            return exc.exit_code

    def _workshop(self, world: World, now: datetime) -> SimulatedWorkshop:
        return SimulatedWorkshop(
            world=world,
            target=self.target,
            known=self.known,
            seed=1000 * self.seed + self.number,
            now=now,
        )

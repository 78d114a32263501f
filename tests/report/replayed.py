"""Whole studies on disk for reports: replayed, with their recommendation beside them.

Search, race and choice are the real ones; passes are answered by a simulated loader.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from autoloader.export.evidence import Evidence, recommend
from autoloader.export.study_files import STUDIES
from autoloader.measure.intervals import median
from autoloader.measure.throughput import epoch_rate
from autoloader.search.cost_model import CostModel
from autoloader.search.disturbance import Noise
from autoloader.search.finale import Result
from autoloader.search.race import Rules, run_race
from autoloader.search.rates import rates_of
from autoloader.search.record import Record
from autoloader.search.replay import Conditions, Setting, finish, search
from autoloader.search.replay import study as replay_study
from autoloader.search.selection import choose
from autoloader.search.simulated import Cost, SimulatedLoader
from autoloader.search.space import SpaceRequest
from autoloader.search.trials import run_trial
from autoloader.search.workload import Workload
from autoloader.values.ceiling import HotFunction
from autoloader.values.config import LoaderConfig
from autoloader.values.job import Reference
from autoloader.values.outcome import Failure, Finding, Verdict
from autoloader.values.scope import SourceSpec
from autoloader.values.target import Target

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from autoloader.search.exploration import Stop
    from autoloader.search.known_outcomes import KnownOutcomes
    from autoloader.search.tables import Table

MARKUP = "</script><!--<img src=x onerror=alert(1)>&\"'"
"""What a name or a message may hold, and a page must not take for markup."""

SPEC = f"data.py:<b>{MARKUP}</b>"

YOURS = LoaderConfig.canonical(
    num_workers=4, prefetch_factor=4, persistent_workers=True, batch_size=64
)
"""The user's own settings, which crash."""

DECODING = Workload(
    name="decoding",
    about="two and a half cores that decode for 4 ms, some examples for longer",
    loader=SimulatedLoader(
        cores=2.5, example_cpu=Cost(mean_s=0.004, shape="lognormal", tail=0.8)
    ),
    examples=6_400,
    request=SpaceRequest(num_workers=(0, 4), prefetch_factor=(2, 4)),
    baseline=YOURS,
)
"""Seventeen configs, some of which are broken below."""

WIDE = replace(
    DECODING,
    name="wide",
    examples=3_200,
    baseline=None,
    batch_size=(32, 64),
    request=SpaceRequest(num_workers=(0, 19), prefetch_factor=(2, 3, 4, 8)),
)
"""More than three hundred configs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A study on disk."""

    file: Path
    """The recommendation."""
    folder: Path
    """The study's folder."""
    result: Result
    """What the study came to, as the race itself saw it."""


@dataclass(slots=True, kw_only=True)
class _Study:
    """Replays one study into a folder."""

    record: Record
    trials: int | None
    endings: list[Result] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)

    def search(self, setting: Setting) -> Stop:
        """Search as a tune does, or try so many configs, whatever comes of them."""
        setting = self._recorded(setting)
        stop: Stop = "space_exhausted"
        if self.trials is None:
            stop = search(setting)
        else:
            for number, config in enumerate(setting.table.space.configs()):
                if number == self.trials:
                    break
                outcome = run_trial(
                    setting.stopwatch,
                    config,
                    number=number,
                    source="pytorch_default" if number == 0 else "search",
                    memory_bytes=setting.target.memory_bytes,
                    clock=setting.budget.clock,
                )
                setting.record.add(outcome)
        self.stops.append(stop)
        return stop

    def finish(self, setting: Setting) -> Result:
        """Race and choose, and keep what came of it."""
        setting = self._recorded(setting)
        result = finish(setting) if self.trials is None else race_the_fastest(setting)
        self.endings.append(result)
        return result

    def _recorded(self, setting: Setting) -> Setting:
        return replace(setting, record=cast("KnownOutcomes", self.record))


def race_the_fastest(setting: Setting) -> Result:
    """Race the fastest of very many trials, and PyTorch's default; choose of them.

    What a tune takes them for, by all its readings, takes a while to work out.
    """
    rates = {
        config: median(found)
        for config, found in rates_of(setting.record.outcomes).items()
    }
    ranked = sorted(rates, key=rates.__getitem__, reverse=True)

    def read(config: LoaderConfig) -> float | None:
        outcome = setting.record[config]
        assert outcome.verdict is not None
        taken = setting.stopwatch.take(config, verdict=outcome.verdict, purpose="race")
        assert not isinstance(taken, Failure)
        for reading in taken:
            setting.record.add_reading(outcome.number, reading)
        return epoch_rate(taken[-1])

    sizes = setting.table.space.batch_size
    race = run_race(
        read,
        ranked[:5],
        Rules(
            target=setting.target,
            batch_sizes=sizes,
            deadline=setting.budget.end,
            clock=setting.budget.clock,
        ),
        background=[setting.table.space.default],
    )
    standings = race.standings(setting.target)
    choice = choose(standings, memory={}, batch_sizes=sizes)
    known = {item.config: item for item in setting.record.outcomes}
    verdicts = {
        config: known[config].verdict
        for config in (choice.config, choice.best)
        if config is not None
    }
    return Result(
        choice=choice,
        race=race,
        standings=standings,
        verified={config: found for config, found in verdicts.items() if found},
        memory={item.config: item.memory for item in known.values() if item.memory},
    )


def wrong(table: Table) -> dict[LoaderConfig, Verdict | Failure]:
    """Return faults for two of the table's configs, with markup in their messages.

    One is the user's own, where there is one: it is tried first.
    """
    most = max(config.num_workers for config in table.space.configs())
    broken = [config for config in table.space.configs() if config.num_workers == most]
    lost = Finding(
        code="missing_ids", count=2, ids=(5, 7), epoch=0, message=f"lost {MARKUP}"
    )
    refusal = Verdict(
        passed=False, examples=512, of=6400, epochs=2, compared="rows", findings=(lost,)
    )
    crash = Failure(
        kind="worker_exception",
        phase="gate",
        message=f"worker 0 raised KeyError({MARKUP})",
        hint="the traceback is in stderr.txt of the log folder",
        log="trials/0003-gate",
    )
    return {broken[0]: refusal, broken[-1]: crash}


def replay_into(
    folder: Path,
    *,
    workload: Workload = DECODING,
    trials: int | None = None,
    target: Target | None = None,
    spec: str = SPEC,
    seed: int = 0,
) -> Replayed:
    """Replay a study in a working folder.

    Args:
        folder: becomes the working folder of the study.
        workload: what is simulated.
        trials: so many configs are tried, one after the other; None: as a tune does.
        target: what is wanted; None: 95 % of the fastest.
        spec: name of the dataset.
        seed: of noise and search.
    """
    target = target or Target(share_of_best=0.95, memory_bytes=2**34)
    table = workload.table()
    table = replace(table, broken=wrong(table))
    home = folder / STUDIES / "data-study-12345678"
    with Record(home) as record:
        study = _Study(record=record, trials=trials)
        replay_study(
            table,
            target,
            Conditions(
                budget_s=180.0 if trials is None else 3600.0,
                seed=seed,
                noise=Noise(),
                by_events=trials is None,
            ),
            search_by=study.search,
            ending=study.finish,
        )
        outcomes = record.outcomes
    facts = replace(
        table.facts,
        label="1",
        hot=(HotFunction(name=f"decode{MARKUP}", share=0.6, calls_per_example=1.0),),
    )
    _write_state(home, table, spec, facts=facts.to_dict())
    result = study.endings[-1]
    evidence = Evidence(
        source=SourceSpec(spec=spec),
        target=target,
        ranks=1,
        machine=table.machine,
        reference=Reference(
            facts=facts, scope=table.scope, folder=str(home / "reference"), seconds=2.0
        ),
        space=table.space,
        result=result,
        outcomes=outcomes,
        default_config=table.space.default,
        user_config=workload.baseline,
        study=home.name,
        seconds=170.0,
        model=CostModel.of(table.facts, table.scope, table.machine, table.ranks),
        stopped_search=study.stops[-1],
    )
    file = folder / "autoloader.yaml"
    recommend(evidence).write(file)
    return Replayed(file=file, folder=home, result=result)


def _write_state(
    home: Path, table: Table, spec: str, *, facts: Mapping[str, object]
) -> None:
    """Write `study.json`, as a tune has it at its end."""
    state = {
        "schema": 3,
        "key": {
            "source": {"spec": spec, "arguments": []},
            "machine": table.machine.key,
            "software": {"python": "3.12.1", "torch": "2.13.0"},
        },
        "finished": True,
        "spent_s": 170.0,
        "scope": table.scope.to_dict(),
        "facts": facts,
        "space": table.space.to_dict(),
        "memory_bytes": None,
    }
    (home / "study.json").write_text(json.dumps(state), encoding="utf-8")

"""Replay seeded studies on tables whose answer is known; record such tables; tune live.

    python scripts/bench_search.py --replay [--seeds 100] [--tables NAME ...]
        [--noise 0.02 0.05 0.08 0.15] [--targets 95% best*0.8] [--jobs 2]
        [--recorded FOLDER ...] [--strategy module:function ...]
        [--json FILE] [--against FILE]
    python scripts/bench_search.py --record [NAME ...] [--rounds 5] [--into FOLDER]
    python scripts/bench_search.py --live [NAME ...] [--tunes 3] [--into FOLDER]

`--replay`: search, race and choice are the real code; passes are answered by simulated
loaders (autoloader/search/workloads.py) and time goes by on a clock of its own.

    right    the choice truly has 97 % of the target, or rightly nothing was chosen
             (bar: 98 % of studies; with more than 8 % noise: 2 % wrong at most)
    wrong    something was chosen that has less
    open     the study said that it cannot tell, or that nothing meets the target
    written  what is recommended truly has 97 % of the target (the best config,
             where the study is open), or nothing has
    simple   of the choices, at least as simple as the simplest config that truly has
             106 % of the target (bar: 90 %); -: none has as much
    extra    workers beyond those of the simplest config that truly meets the target
    trials   median of configs tried (bar: 14)

A further table counts the choices by the probability of meeting the target that the
study told, and how many of them were right.

`--recorded` replays studies of real data from their folders instead, where each config
was read five times or more: rounds are drawn from the recorded ones, in blocks.

`--record` reads the grid of each study, 33 configs: 0 to 8 workers (of remote 0, 1, 2,
4, 8, 12, 16, 24 and 32), with workers prefetch 2 and 4, kept and not. Each is gated and
weighed once and read five times, in rounds that are shuffled anew; five to eight
minutes a study on two cores. Ten tunes are then replayed on the readings. `--live`
tunes photos, remote and stream three times each, in turns; `bench_peers.py` reads what
they recommend beside the fastest of the grid, in plain loops. Both store what they have
under `studies/NAME/measured`, after each round and each tune, and go on from there;
`render_studies.py` writes the tables.

Two strategies see the same disturbances where they have the same seeds: name both by
`--strategy` (a `replay.Search`), or compare with the file of an earlier run by
`--against`. The exit code is 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from replay_rows import (
    HEAD,
    Case,
    print_against,
    print_growth,
    print_probabilities,
    print_row,
    print_sums,
    row_of,
)
from replay_tables import kept_folder, recorded_table, simulated_table

from autoloader.files import write_whole
from autoloader.search.disturbance import Noise
from autoloader.search.replay import Conditions, Search, search, study
from autoloader.search.tables import Table, Truth
from autoloader.search.workloads import WORKLOADS
from autoloader.values.target import Target
from scripts.studied.search_bench import Measuring, add_flags, run

if TYPE_CHECKING:
    from collections.abc import Iterable

SEEDS_AT_ONCE = 10
"""Studies that a process replays before it is handed others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Some seeds of a case, for one process."""

    case: Case
    table: Table
    seeds: range
    budget_s: float
    drift: float
    by_events: bool


def main() -> int:
    """Run what was asked for; return the exit code."""
    options = _options()
    asked = Measuring.of(options)
    if asked is not None:
        return run(asked)
    begun = time.monotonic()
    cases = [
        Case(table=name, noise=noise, target=target, strategy=strategy)
        for strategy in options.strategy or ["tune"]
        for target in options.targets
        for noise in options.noise
        for name in [*options.simulated, *(path.name for path in options.recorded)]
    ]
    os.environ["OMP_NUM_THREADS"] = "1"  # one study a process is enough for a core
    alone = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=options.jobs, mp_context=alone) as pool:
        making = [
            pool.submit(simulated_table, name, options.budget, options.kept)
            for name in options.simulated
        ]
        making += [pool.submit(recorded_table, folder) for folder in options.recorded]
        tables = {table.name: table for table in (one.result() for one in making)}
        print(f"{len(tables)} tables in {time.monotonic() - begun:.0f} s", flush=True)
        jobs = list(_jobs(cases, tables, options))
        results: dict[Case, list[dict[str, Any]]] = {case: [] for case in cases}
        begun, headed = time.monotonic(), None
        for job, found in zip(jobs, pool.map(_replayed, jobs), strict=True):
            results[job.case] += found
            if len(results[job.case]) == options.seeds:
                if headed != job.case.heading:
                    headed = job.case.heading
                    print(f"\n{headed}\n{HEAD}")
                print_row(job.case, results[job.case])
    studies = sum(map(len, results.values()))
    minutes = (time.monotonic() - begun) / 60
    print(f"\n{studies} studies, {studies / max(minutes, 1e-9):,.0f} a minute")
    rows = [row_of(case, found) for case, found in results.items()]
    print_sums(rows)
    print_probabilities(results)
    print_growth(rows)
    if options.json is not None:
        text = json.dumps(_as_json(options, results), indent=1)
        write_whole(options.json, f"{text}\n")
    if options.against is not None:
        print_against(options.against, results)
    return 0 if all(row["holds"] for row in rows) else 1


def _options() -> argparse.Namespace:
    names = [workload.name for workload in WORKLOADS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replay", action="store_true", help="replay simulated tables")
    parser.add_argument("--seeds", type=int, default=100, help="studies of each row")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--tables", nargs="+", choices=names, metavar="NAME")
    parser.add_argument(
        "--recorded", nargs="+", type=Path, default=[], metavar="FOLDER"
    )
    parser.add_argument("--kept", type=Path, default=kept_folder(), metavar="FOLDER")
    parser.add_argument("--noise", nargs="+", type=float, default=[0.02, 0.08, 0.15])
    parser.add_argument("--drift", type=float, default=0.03)
    parser.add_argument("--targets", nargs="+", default=["95%", "best*0.8"])
    parser.add_argument("--strategy", action="append", metavar="SPEC")
    parser.add_argument("--budget", type=float, default=180.0, metavar="SECONDS")
    parser.add_argument("--by-events", action="store_true", help="no even arrivals")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--against", type=Path, metavar="FILE")
    add_flags(parser)
    options = parser.parse_args()
    if not options.replay and options.record is None and options.live is None:
        parser.error("say what to run: --replay, --record or --live")
    options.simulated = options.tables or ([] if options.recorded else names)
    return options


def _jobs(
    cases: Iterable[Case], tables: dict[str, Table], options: argparse.Namespace
) -> Iterable[Job]:
    end = options.first_seed + options.seeds
    for case in cases:
        for first in range(options.first_seed, end, SEEDS_AT_ONCE):
            yield Job(
                case=case,
                table=tables[case.table],
                seeds=range(first, min(first + SEEDS_AT_ONCE, end)),
                budget_s=options.budget,
                drift=options.drift,
                by_events=options.by_events,
            )


def _replayed(job: Job) -> list[dict[str, Any]]:
    """Replay the studies of a job, in a process of the pool."""
    target = _target(job.case.target, job.table)
    truth = Truth.of(job.table, target)
    searching = search if job.case.strategy == "tune" else _search(job.case.strategy)
    noise = Noise(scatter=job.case.noise, drift=job.drift)
    return [
        study(
            job.table,
            target,
            Conditions(
                budget_s=job.budget_s, seed=seed, noise=noise, by_events=job.by_events
            ),
            truth=truth,
            search_by=searching,
        ).to_dict()
        for seed in job.seeds
    ]


def _target(text: str, table: Table) -> Target:
    """Return the target of one rank: a share, or a rate that is a share of the best."""
    best, times, factor = text.partition("*")
    if best != "best" or not times:
        return Target.parse(text, memory_bytes=table.memory_bytes)
    whole = Target(share_of_best=1.0, memory_bytes=table.memory_bytes)
    rate = Truth.of(table, whole).wanted_examples_per_s * float(factor)
    return Target(examples_per_s=rate, memory_bytes=table.memory_bytes)


def _search(spec: str) -> Search:
    """Return what `module:function` or `file.py:function` names."""
    name, _, attribute = spec.rpartition(":")
    if not name.endswith(".py"):
        found: Search = getattr(importlib.import_module(name), attribute)
        return found
    origin = importlib.util.spec_from_file_location(Path(name).stem, name)
    if origin is None or origin.loader is None:
        sys.exit(f"{name} cannot be imported")
    module = importlib.util.module_from_spec(origin)
    origin.loader.exec_module(module)
    loaded: Search = getattr(module, attribute)
    return loaded


def _as_json(
    options: argparse.Namespace, results: dict[Case, list[dict[str, Any]]]
) -> dict[str, Any]:
    return {
        "seeds": [options.first_seed, options.first_seed + options.seeds],
        "budget_s": options.budget,
        "drift": options.drift,
        "by_events": options.by_events,
        "rows": [row_of(case, found) for case, found in results.items()],
        "studies": [
            {**case.to_dict(), **item}
            for case, found in results.items()
            for item in found
        ],
    }


if __name__ == "__main__":
    sys.exit(main())

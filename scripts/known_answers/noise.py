"""Record what readings of one and the same config scatter like on a machine.

    python scripts/known_answers/noise.py OUT.json [--readings N] [--photos ROOT]

takes readings of one config one after the other and writes their epoch rates in order,
so that races of equal configs can be replayed with the noise of a real machine: its
drifts and bursts included, which an invented distribution would leave out.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from opening import opened

from autoloader.measure.machine import read_machine
from autoloader.measure.planning import plan_pass
from autoloader.measure.throughput import epoch_rate
from autoloader.values.config import LoaderConfig


def record(readings: int) -> dict[str, Any]:
    """Return the rates of one config, reading by reading, and what disturbed them."""
    config = LoaderConfig.canonical(num_workers=2, batch_size=32)
    machine = read_machine()
    with opened("busy", examples=2048) as workload:
        verdict = workload.gate(config)
        known = None
        rates: list[float] = []
        foreign: list[float] = []
        for _ in range(readings + 1):
            plan = plan_pass(
                config,
                facts=workload.reference.facts,
                scope=workload.reference.scope,
                cpus=machine.effective_cpus,
                limit_s=5.0,
                known=known,
            )
            known = workload.time(config, verdict, plan)
            rates.append(round(epoch_rate(known), 2))
            foreign.append(round(known.foreign_cpu + known.stolen_cpu, 3))
    return {
        "workload": "busy: half a millisecond of Python an example",
        "config": config.to_dict(),
        "machine": machine.key,
        "examples_per_s": rates[1:],  # the first one only sizes the others
        "other_cpus": foreign[1:],
    }


def main() -> None:
    """Record and write."""
    parser = argparse.ArgumentParser(description="Record the noise of readings.")
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--readings", type=int, default=400, metavar="N")
    options = parser.parse_args()
    found = record(options.readings)
    options.out.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()

"""Measure what is known already: six answers that measuring must give.

    python scripts/bench_measure.py [--only NAME ...] [--quick]

1. interference  a timed pass reads what a plain loop reads
2. waits         workers that wait deliver in exact proportion
3. epochs        a pass of a second foretells an epoch of 20 s
4. memory        what was built is what is weighed
5. needs         what two workers take foretells what one, four and eight take
6. races, live   equal configs are equal, and 10 % is found: replayed and live

Each answer is a ratio within one run, of readings taken in turns. All of them take
half an hour and more on an idle machine with two CPUs; the exit code is 1 where one
does not hold. Figures of a run stand in autoloader/docs/measuring.md.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import warnings
from pathlib import Path

from autoloader.measure.machine import read_machine

ANSWERS = ("interference", "waits", "epochs", "memory", "needs", "races", "live")


def main() -> int:
    """Run the answers that were asked for; return the exit code."""
    parser = argparse.ArgumentParser(description="Measure what is known already.")
    parser.add_argument("--only", action="append", choices=ANSWERS, metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="few rounds: a smoke test")
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).with_name("known_answers")))
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    machine = read_machine()
    print(f"{machine.cpu_model}, {machine.effective_cpus:g} CPUs, {machine.kernel}")
    holding = True
    for name in options.only or ANSWERS:
        begun = time.monotonic()
        answer = importlib.import_module(name).answer(quick=options.quick)
        answer.print()
        print(f"    ({time.monotonic() - begun:.0f} s)", flush=True)
        holding &= answer.holds
    return 0 if holding else 1


if __name__ == "__main__":
    sys.exit(main())

"""Compare what autoloader recommends with what others recommend, study by study.

    python scripts/bench_peers.py [--study NAME ...] [--tunes N] [--rounds N]
                                  [--budget TIME] [--loadtune PYTHON] [--raw FILE]

Others are loadtune 0.3.0, with its defaults, and three rules by hand: half the cores,
as many as cores, and the fastest of 0, 1, half and all. Everybody is asked `--tunes`
times; then all settings that were recommended are read in turns by a plain loop that
imports none of them (`peers/plain_loop.py`), in interleaved rounds. At the end all are
asked about a dataset that loses an example in workers (`peers/loses.py`).

loadtune lives in an environment of its own; without one it is left out:

    python -m venv .venv-loadtune
    .venv-loadtune/bin/pip install torch==2.13.0 loadtune==0.3.0 pillow

Takes a quarter to half an hour a study on two cores.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from autoloader.files import write_whole
from autoloader.measure.intervals import Interval
from autoloader.measure.machine import read_machine

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[1]
PEERS = Path(__file__).with_name("peers")
sys.path.insert(0, str(PEERS))

from advice import Advice, key_of  # noqa: E402  # found by the line above
from contestants import ask_autoloader, ask_loadtune, ask_rules  # noqa: E402
from reading import PlainLoop, race  # noqa: E402

STUDIES = (
    "photos", "remote", "tokens", "tensors", "frames", "stream", "augment", "skewed",
)  # fmt: skip
BATCH_SIZES = dict(zip(STUDIES, (64, 32, 64, 32, 8, 64, 64, 32), strict=True))
"""Those of the studies' loaders; everybody is given the same."""

LOSES = PEERS / "loses.py"
ERROR = 0.05
"""Share of cases in which an interval may miss the true ratio."""

Rates = dict[str, list[float | None]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, race and print; return the exit code."""
    options = _parser().parse_args(arguments)
    if importlib.util.find_spec("PIL") is None:
        sys.exit("Pillow, which the studies read with, is missing: pip install pillow")
    machine = read_machine()
    print(f"{machine.cpu_model}, {machine.effective_cpus:g} CPUs, {machine.kernel}")
    raw: dict[str, object] = {}

    def keep(name: str, advice: list[Advice], rates: Rates) -> None:
        raw[name] = {"advice": [asdict(item) for item in advice], "rates": rates}
        if options.raw is not None:
            write_whole(options.raw, json.dumps(raw, indent=1) + "\n")

    for name in options.study:
        advice = _ask_all(name, options)
        asked = [item.settings for item in advice if item.settings is not None]
        file = ROOT / "studies" / name / "dataset.py"
        keep(name, advice, {})
        rates = race(file, asked, options.rounds)
        keep(name, advice, rates)
        print("\n".join(table(name, advice, rates)), flush=True)
    if not options.no_wrong_data:
        keep("wrong data", *_ask_about_wrong_data(options))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Compare recommendations.")
    add = parser.add_argument
    add("--study", nargs="+", choices=STUDIES, default=STUDIES, metavar="NAME")
    add("--tunes", type=int, default=3, metavar="N", help="times that all are asked")
    add("--rounds", type=int, default=6, metavar="N", help="of the race")
    add("--budget", default="3m", metavar="TIME", help="of autoloader")
    add(
        "--loadtune", type=Path, metavar="PYTHON",
        default=ROOT / ".venv-loadtune" / "bin" / "python",
        help="of the environment that has it",
    )  # fmt: skip
    add("--raw", type=Path, metavar="FILE", help="write all readings as JSON")
    add("--no-wrong-data", action="store_true", help="leave the last question out")
    return parser


def _ask_all(name: str, options: argparse.Namespace) -> list[Advice]:
    """Return everybody's advice, tune by tune, in the same order each time."""
    folder = ROOT / "studies" / name
    file = folder / "dataset.py"
    found: list[Advice] = []
    for _ in range(options.tunes):
        before = len(found)
        found.append(ask_autoloader([str(folder / "study.yaml")], options.budget))
        if options.loadtune.exists():
            found.append(ask_loadtune(file, options.loadtune))
        found += ask_rules(file, BATCH_SIZES[name])
        for item in found[before:]:
            said = "nothing" if item.settings is None else key_of(item.settings)
            print(f"    {name}: {item.who}: {said} {item.words}", file=sys.stderr)
    return found


def table(name: str, advice: Sequence[Advice], rates: Rates) -> list[str]:
    """Return the lines of a study: what each said, what it delivers, by tune."""
    lines = [
        f"\n{name}: medians of {max(map(len, rates.values()), default=0)} rounds",
        "tune  who                       recommends                       s  examples/s"
        "  autoloader is (95 %)",
    ]
    tunes = _by_tune(advice)
    for number, items in enumerate(tunes, start=1):
        ours = items[0]
        lines += [
            f"{number:4d}  {item.who:24s}  {_said(item):28s}  {item.seconds:5.0f}"
            f"  {_median(item, rates):>10s}  {_ratio(ours, item, rates)}"
            for item in items
        ]
    return [*lines, *_summary(tunes, rates)]


def _by_tune(advice: Sequence[Advice]) -> list[list[Advice]]:
    tunes: list[list[Advice]] = []
    for item in advice:
        if item.who == "autoloader":
            tunes.append([])
        tunes[-1].append(item)
    return tunes


def _said(item: Advice) -> str:
    return item.words[:28] if item.settings is None else key_of(item.settings)


def _rate(item: Advice, rates: Rates) -> float | None:
    """Return the median rate of what somebody recommends; None where there is none."""
    if item.settings is None:
        return None
    found = [rate for rate in rates.get(key_of(item.settings), []) if rate is not None]
    return statistics.median(found) if found else None


def _median(item: Advice, rates: Rates) -> str:
    found = _rate(item, rates)
    return "-" if found is None else f"{found:.0f}"


def _interval(ours: Advice, other: Advice, rates: Rates) -> Interval | None:
    """Return the ratio of two recommendations in the rounds of the race."""
    if ours.settings is None or other.settings is None:
        return None
    pairs = zip(
        rates[key_of(ours.settings)], rates[key_of(other.settings)], strict=True
    )
    ratios = [one / two for one, two in pairs if one is not None and two is not None]
    return Interval.of(ratios, error=ERROR) if ratios else None


def _ratio(ours: Advice, other: Advice, rates: Rates) -> str:
    if ours is other:
        return ours.words
    found = _interval(ours, other, rates)
    if found is None:
        return "-"
    if ours.settings == other.settings:
        return "the same"
    if found.low is None or found.high is None:
        return f"{found.median:.2f} times as fast"
    return f"{found.median:.2f} times as fast ({found.low:.2f}-{found.high:.2f})"


def _summary(tunes: Sequence[Sequence[Advice]], rates: Rates) -> list[str]:
    """Return a line a tune: against the best of the others, and against each peer."""
    lines = []
    for number, items in enumerate(tunes, start=1):
        ours, *others = items
        rated = [item for item in others if _rate(item, rates) is not None]
        if not rated:
            continue
        best = max(rated, key=lambda item: _rate(item, rates) or 0.0)
        found = _interval(ours, best, rates)
        said = "nothing" if found is None else f"{found.median:.3f} of its rate"
        lines.append(f"tune {number}: against the best other ({best.who}): {said}")
    return lines


def _ask_about_wrong_data(options: argparse.Namespace) -> tuple[list[Advice], Rates]:
    """Print who recommends settings with which an example is lost."""
    flags = ["--dataset", f"{LOSES}:loader"]
    advice = [ask_autoloader(flags, options.budget)]
    if options.loadtune.exists():
        advice.append(ask_loadtune(LOSES, options.loadtune))
    advice += ask_rules(LOSES, 32)
    print("\nwrong data: an example is lost in workers")
    print("who                       recommends                    delivers      said")
    with PlainLoop(LOSES) as loop:
        whole = len(set(loop.ids({"batch_size": 32, "num_workers": 0})))
        for item in advice:
            print(_delivered(item, loop, whole), flush=True)
    return advice, {}


def _delivered(item: Advice, loop: PlainLoop, whole: int) -> str:
    delivers = "-"
    if item.settings is not None:
        delivers = f"{len(set(loop.ids(item.settings)))} of {whole}"
    return (
        f"{item.who:24s}  {_said(item):28s}  {delivers:12s}  {item.words or 'nothing'}"
    )


if __name__ == "__main__":
    sys.exit(main())

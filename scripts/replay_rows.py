"""Rows of the search bench: studies that differ in their seeds alone, counted."""

from __future__ import annotations

import contextlib
import json
import math
from collections import Counter
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from autoloader.search.replay import ENOUGH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

BAR_RIGHT, BAR_WRONG, BAR_SIMPLE, BAR_TRIALS = 0.98, 0.02, 0.90, 14
"""Bars of a row: shares of its studies, and the median of trials."""

LOUD = 0.08
"""Noise above which a study may leave more than one in fifty undecided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Studies that differ in their seeds alone."""

    table: str
    noise: float
    """Deviation of the logarithm of a reading."""
    target: str
    """`95%` of the best, or `best*0.8`: that rate, named as such."""
    strategy: str
    """SPEC, or `tune`: what a tune does."""

    @property
    def heading(self) -> str:
        """What it has in common with other tables."""
        return f"{self.strategy}, target {self.target}, noise {self.noise:.0%}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {
            "table": self.table,
            "noise": self.noise,
            "target": self.target,
            "strategy": self.strategy,
        }


def row_of(case: Case, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what a bar needs of the studies of a case."""
    answers = Counter(item["answered"] for item in found)
    count = len(found)
    right = (answers["enough"] + answers["unmeetable"]) / count
    wrong = answers["too_slow"] / count
    simple = [item["is_simple"] for item in found if item["is_simple"] is not None]
    shares = sorted(item["share"] for item in found if item["share"] is not None)
    trials = median(item["trials"] for item in found)
    extra = [
        item["extra_workers"] for item in found if item["extra_workers"] is not None
    ]
    is_simple = fmean(simple) if simple else None
    enough = wrong <= BAR_WRONG if case.noise > LOUD else right >= BAR_RIGHT
    return {
        **case.to_dict(),
        "studies": count,
        "right": right,
        "wrong": wrong,
        "written": fmean(
            item["answered"] == "unmeetable" or (item["written_share"] or 0) >= ENOUGH
            for item in found
        ),
        "open": (answers["undecided"] + answers["not_met"]) / count,
        "simple": is_simple,
        "least_share": shares[0] if shares else None,
        "trials": trials,
        "readings": median(item["readings"] for item in found),
        "most_readings": max(item["readings"] for item in found),
        "rounds": median(item["rounds"] for item in found),
        "configs": found[0]["configs"],
        "seconds": median(item["seconds"] for item in found),
        "most_seconds": max(item["seconds"] for item in found),
        "extra_workers": fmean(extra) if extra else None,
        "holds": enough
        and (is_simple is None or is_simple >= BAR_SIMPLE)
        and trials <= BAR_TRIALS,
    }


HEAD = (
    "table        configs  target    noise   right   wrong    open written  simple"
    "  extra   least  trials  readings  rounds  seconds"
)
"""What stands above the rows."""


def print_row(case: Case, found: Sequence[dict[str, Any]]) -> None:
    """Print one line of the table that `HEAD` heads."""
    row = row_of(case, found)
    least, simple, extra = (
        "-" if row[name] is None else format(row[name], form)
        for name, form in (
            ("least_share", ".2f"),
            ("simple", ".0%"),
            ("extra_workers", "+.1f"),
        )
    )
    print(
        f"{row['table']:12} {row['configs']:7}  {row['target']:8} {row['noise']:6.0%}"
        f" {row['right']:7.0%} {row['wrong']:7.0%} {row['open']:7.0%}"
        f" {row['written']:7.0%} {simple:>7} {extra:>6} {least:>7} {row['trials']:7.0f}"
        f" {row['readings']:9.0f} {row['rounds']:7.0f} {row['seconds']:8.0f}"
        f"{'' if row['holds'] else '  MISSED'}",
        flush=True,
    )


def print_sums(rows: Sequence[dict[str, Any]]) -> None:
    """Print each strategy, target and noise over all its tables."""
    head = ("right", "wrong", "open", "written", "simple", "trials")
    print(f"\n{'all tables':30}" + " ".join(f"{name:>7}" for name in head))
    groups = dict.fromkeys(
        (row["strategy"], row["target"], row["noise"]) for row in rows
    )
    for strategy, target, noise in groups:
        kept = [
            row
            for row in rows
            if (row["strategy"], row["target"], row["noise"])
            == (strategy, target, noise)
        ]
        means = [
            [row[name] for row in kept if row[name] is not None]
            for name in ("right", "wrong", "open", "written", "simple")
        ]
        trials = median(row["trials"] for row in kept)
        missed = sum(not row["holds"] for row in kept)
        shown = " ".join(f"{fmean(each):7.1%}" if each else "      -" for each in means)
        print(
            f"{strategy[-14:]:14} {target:8} {noise:6.0%} {shown} {trials:7.0f}"
            f"   {missed} of {len(kept)} miss a bar"
        )


BANDS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98)
"""Least of the probabilities that are counted together."""


def print_probabilities(results: Mapping[Case, Sequence[dict[str, Any]]]) -> None:
    """Print how often choices were right that were told with a probability.

    Noise by noise: a told 0.9 is to be right in nine of ten studies at least.
    """
    print("\nchoices by the probability that the study told: right of all")
    starts = [f"{least:g}+" for least in BANDS]
    print(" " * 26 + " ".join(f"{start:>11}" for start in starts))
    groups = dict.fromkeys((case.strategy, case.target, case.noise) for case in results)
    for strategy, target, noise in groups:
        told = [
            (item["probability"], item["answered"] == "enough")
            for case, found in results.items()
            if (case.strategy, case.target, case.noise) == (strategy, target, noise)
            for item in found
            if item["probability"] is not None
        ]
        counts = []
        for least, end in zip(BANDS, (*BANDS[1:], math.inf), strict=True):
            kept = [is_right for share, is_right in told if least <= share < end]
            counts.append(f"{sum(kept)}/{len(kept)}" if kept else "-")
        shown = " ".join(f"{count:>11}" for count in counts)
        print(f"{strategy[-10:]:10} {target:8} {noise:6.0%} {shown}")


def print_growth(rows: Sequence[dict[str, Any]]) -> None:
    """Print how readings grow with the number of configs."""
    print("\nreadings against configs: a study's median, by doublings of the configs")
    strategies = dict.fromkeys(row["strategy"] for row in rows)
    for strategy in strategies:
        kept = [row for row in rows if row["strategy"] == strategy]
        xs = [math.log2(row["configs"]) for row in kept]
        ys = [float(row["readings"]) for row in kept]
        spread = sum((x - fmean(xs)) ** 2 for x in xs)
        slope = (
            sum((x - fmean(xs)) * (y - fmean(ys)) for x, y in zip(xs, ys, strict=True))
            / spread
            if spread
            else 0.0
        )
        print(
            f"{strategy}: {min(ys):.0f} to {max(ys):.0f} readings, {slope:+.1f} with "
            f"each doubling; most in one study {max(r['most_readings'] for r in kept)}"
        )


def print_against(path: Path, results: dict[Case, list[dict[str, Any]]]) -> None:
    """Print what became of the same studies in an earlier run."""
    earlier = {
        (item["table"], item["noise"], item["target"], item["seed"]): item
        for item in json.loads(path.read_text())["studies"]
    }
    print(f"\nagainst {path.name}: same table, noise, target and seed")
    changed: Counter[tuple[str, str]] = Counter()
    trials, simple = [], Counter[str]()
    for case, found in results.items():
        for item in found:
            key = (case.table, case.noise, case.target, item["seed"])
            with contextlib.suppress(KeyError):
                before = earlier[key]
                changed[before["answered"], item["answered"]] += 1
                trials.append(item["trials"] - before["trials"])
                simple[f"{before['is_simple']} -> {item['is_simple']}"] += 1
    if not trials:
        print("no study is in both")
        return
    for (before, after), count in sorted(changed.items()):
        print(f"    {count:6} {before} -> {after}")
    for words, count in sorted(simple.items()):
        print(f"    {count:6} simple: {words}")
    print(f"    {fmean(trials):+.1f} trials a study")

"""Gather the evidence behind a choice into the sections of a recommendation.

Pure: results in, plain values out. Every number is worked out of stored readings.
"""

from __future__ import annotations

import importlib.metadata
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from autoloader.export.reading_cautions import reading_cautions, worker_cautions
from autoloader.export.recommendation import SCHEMA, Recommendation
from autoloader.export.scope_section import rates_in_units, scope_section
from autoloader.measure.intervals import Interval, median
from autoloader.measure.throughput import (
    end_s,
    epoch_rate,
    first_batch_s,
    steady_rate,
    wait_percentiles,
    warm_s,
)
from autoloader.search.selection import knob_effects
from autoloader.values.outcome import MemoryReading, Outcome, Reading, Status
from autoloader.values.passwords import LEFT_OUT, with_passwords
from autoloader.values.target import CONFIDENCE, INDIFFERENCE, Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.search.finale import Result
    from autoloader.search.passed_over import PassedOver
    from autoloader.search.space import Space
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import Reference
    from autoloader.values.machine import Machine
    from autoloader.values.scope import SourceSpec

_PACKAGES = ("torch", "optuna", "numpy", "torch-autoloader")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that a finished study knows."""

    source: SourceSpec
    target: Target
    ranks: int
    machine: Machine
    reference: Reference
    space: Space
    result: Result
    outcomes: tuple[Outcome, ...]
    default_config: LoaderConfig
    user_config: LoaderConfig | None
    study: str
    seconds: float
    passed_over: tuple[PassedOver, ...] = ()

    @property
    def chosen(self) -> LoaderConfig:
        """The config that is recommended: the choice, or the best where none meets."""
        return self.result.recommended

    def outcome_of(self, config: LoaderConfig | None) -> Outcome | None:
        """Return the outcome of a config that was measured, else None."""
        return next(
            (
                item
                for item in self.outcomes
                if item.config == config and item.status is Status.MEASURED
            ),
            None,
        )


def recommend(evidence: Evidence) -> Recommendation:
    """Return the recommendation with all its sections."""
    return Recommendation(
        {
            "schema": SCHEMA,
            "dataset": evidence.source.spec,
            "dataloader": _settings(evidence),
            "target": _target(evidence),
            "measured": _measured(evidence),
            "compared": _compared(evidence),
            "knobs": _knobs(evidence),
            "verified": _verified(evidence),
            "cautions": _cautions(evidence),
            "contract": _contract(evidence),
            "needs": _needs(evidence),
            "scope": _scope(evidence),
            "machine": evidence.machine.to_dict(),
            "versions": versions(),
            "study": {
                "name": evidence.study,
                "date": datetime.now(UTC).isoformat(timespec="seconds"),
                "seconds": round(evidence.seconds, 1),
                "trials": len(evidence.outcomes),
                "passed_over": [
                    {"reason": group.reason, "configs": len(group.configs)}
                    for group in evidence.passed_over
                ],
                "space": evidence.space.to_dict(),
            },
        }
    )


def _settings(evidence: Evidence) -> dict[str, Any]:
    """Return what DataLoader takes; beside a batch_sampler it takes no batch size."""
    settings = evidence.chosen.dataloader_kwargs()
    if evidence.reference.facts.batching == "lists":
        del settings["batch_size"]
    return settings


def _contract(evidence: Evidence) -> dict[str, Any] | None:
    """Return what all examples kept; the range of labels is content, and stays out."""
    contract = evidence.reference.contract
    if contract is None:
        return None
    asked = evidence.reference.scope.contract
    rules = contract.rules if asked is None else asked.rules
    return {
        "held": asked is not None,
        "fields": [field.to_dict() for field in contract.fields],
        "equal_sizes": [list(group) for group in contract.equal_sizes],
        "rules": rules.to_dict(),
        "seen": contract.seen,
    }


def versions() -> dict[str, str]:
    """Return the versions that speed depends on; what is not installed is left out."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def race_readings(outcome: Outcome | None) -> list[Reading]:
    """Return the readings that count: those of the race, else those of the search."""
    if outcome is None:
        return []
    raced = [reading for reading in outcome.counted if reading.purpose == "race"]
    return raced or list(outcome.counted)


def _target(evidence: Evidence) -> dict[str, Any]:
    choice, target = evidence.result.choice, evidence.target
    return {
        "asked": target.describe(),
        "examples_per_s": _wanted(evidence),
        "share_of_best": target.share_of_best,
        "memory_bytes": target.memory_bytes,
        "met": choice.state == "met",
        "state": choice.state,
        "reason": choice.reason,
        "confidence": CONFIDENCE,
        "indifference": INDIFFERENCE,
        "ranks": evidence.ranks,
    }


def _wanted(evidence: Evidence) -> float | None:
    if evidence.target.examples_per_s is not None:
        return evidence.target.examples_per_s
    best = race_readings(evidence.outcome_of(evidence.result.choice.best))
    return (
        evidence.target.rate(median([epoch_rate(item) for item in best]))
        if best
        else None
    )


def _measured(evidence: Evidence) -> dict[str, Any]:
    readings = race_readings(evidence.outcome_of(evidence.chosen))
    facts = evidence.reference.facts
    epoch = _interval([epoch_rate(item) for item in readings])
    return {
        "epoch_rate": epoch,
        "steady_rate": _interval([steady_rate(item) for item in readings]),
        "in_units": None if epoch is None else rates_in_units(epoch["median"], facts),
        "first_batch_s": _median_of(readings, first_batch_s),
        "warm_s": _median_of(readings, warm_s),
        "end_s": _median_of(readings, end_s),
        "wait_s": _waits(readings),
        **_memory(evidence.result.memory.get(evidence.chosen)),
        "readings": [epoch_rate(item) for item in readings],
        "other_load": {
            name: max((getattr(item, name) for item in readings), default=None)
            for name in ("foreign_cpu", "stolen_cpu", "throttled_cpu")
        },
    }


def _waits(readings: list[Reading]) -> dict[str, float] | None:
    waits = [found for item in readings if (found := wait_percentiles(item))]
    if not waits:
        return None
    return {
        "p50": median([item.p50_s for item in waits]),
        "p99": median([item.p99_s for item in waits]),
        "max": max(item.max_s for item in waits),
    }


def _memory(memory: MemoryReading | None) -> dict[str, Any]:
    if memory is None:
        return {"peak_memory_bytes": None, "full_queue_was_seen": None}
    return {
        "peak_memory_bytes": memory.peak_bytes,
        "queued_bytes": memory.queued_bytes,
        "pinned_bytes": memory.pinned_bytes,
        "accelerator_bytes": memory.accelerator_bytes,
        "full_queue_was_seen": memory.queue_was_full,
    }


def _median_of(
    readings: list[Reading], value_of: Callable[[Reading], float | None]
) -> float | None:
    """Return the median of what readings tell; None where none tells it."""
    known = [value for item in readings if (value := value_of(item)) is not None]
    return median(known) if known else None


def _interval(rates: list[float]) -> dict[str, Any] | None:
    if not rates:
        return None
    return Interval.of(rates, error=1 - CONFIDENCE).to_dict()


def _compared(evidence: Evidence) -> dict[str, Any]:
    named = {
        "pytorch_default": evidence.default_config,
        "yours": evidence.user_config,
        "fastest": evidence.result.choice.best,
    }
    return {name: compared(evidence, config) for name, config in named.items()}


def compared(evidence: Evidence, config: LoaderConfig | None) -> dict[str, Any] | None:
    """Return a config's readings beside those of the chosen one; None: not measured."""
    outcome = evidence.outcome_of(config)
    if config is None or outcome is None:
        return None
    standings = evidence.result.standings
    relative = (
        standings.relative(config, evidence.chosen) if standings is not None else None
    )
    memory = evidence.result.memory.get(config)
    return {
        "dataloader": config.dataloader_kwargs(),
        "epoch_rate": _interval([epoch_rate(item) for item in race_readings(outcome)]),
        "relative_to_chosen": relative.to_dict() if relative is not None else None,
        "peak_memory_bytes": memory.peak_bytes if memory is not None else None,
    }


def _knobs(evidence: Evidence) -> dict[str, Any]:
    return dict(knob_effects(evidence.outcomes, evidence.chosen))


def _verified(evidence: Evidence) -> dict[str, Any] | None:
    verdict = evidence.result.verified.get(evidence.chosen)
    facts, stream = evidence.reference.facts, evidence.reference.scope.stream
    if verdict is None:
        return None
    is_comparable = stream is None or stream.can_be_compared
    labels = "same" if facts.label is not None else "none named"
    return {
        "examples": verdict.examples,
        "of": verdict.of,
        "epochs": verdict.epochs,
        "ids": "same" if is_comparable else "none twice",
        "labels": labels if is_comparable else "not compared",
        "label": facts.label,
        "compared": verdict.compared,
        "fixed_fields": list(facts.fixed_fields),
        "random_fields": list(facts.random_fields),
    }


def _cautions(evidence: Evidence) -> list[dict[str, Any]]:
    verdict = evidence.result.verified.get(evidence.chosen)
    found = [item.to_dict() for item in verdict.cautions] if verdict is not None else []
    if verdict is not None and verdict.of is None:
        found.append(
            {
                "code": "not_fully_verified",
                "count": 0,
                "message": f"the first {verdict.examples} examples were verified",
                "hint": "the stream was cut there; --examples all reads it to its end",
            }
        )
    elif verdict is not None and verdict.of and verdict.examples < verdict.of:
        found.append(
            {
                "code": "not_fully_verified",
                "count": verdict.of - verdict.examples,
                "message": f"{verdict.examples} of {verdict.of} examples were verified",
                "hint": "--verify all --examples all reads every one",
            }
        )
    found += [_password_caution(name) for name in with_passwords(evidence.source)]
    found += reading_cautions(
        _readings(evidence), evidence.reference.facts, evidence.machine
    )
    found += worker_cautions(
        evidence.chosen.num_workers, evidence.machine, ranks=evidence.ranks
    )
    measured = {
        item.config.num_workers
        for item in evidence.outcomes
        if item.status is Status.MEASURED
    }
    low, high = evidence.space.num_workers
    if len(measured) < min(3, high - low + 1):
        tried = sorted(measured)
        found.append(
            {
                "code": "search_too_short",
                "count": len(evidence.outcomes),
                "message": f"only {_listed(tried)} workers were measured",
                "hint": "a larger --budget tries more",
            }
        )
    if evidence.ranks > 1:
        found.append(
            {
                "code": "ranks_not_measured_together",
                "count": evidence.ranks,
                "message": (
                    f"one of {evidence.ranks} ranks was measured, on its CPUs; "
                    "what ranks share (storage, memory bandwidth) is not shown"
                ),
                "hint": None,
            }
        )
    return found


def _password_caution(name: str) -> dict[str, Any]:
    return {
        "code": "password_left_out",
        "count": 1,
        "message": f"--arg {name} holds a password: {LEFT_OUT} stands in its place",
        "hint": "let the function read it from an environment variable: os.environ",
    }


def _listed(numbers: list[int]) -> str:
    return " and ".join(str(number) for number in numbers)


def _needs(evidence: Evidence) -> dict[str, Any]:
    facts = evidence.reference.facts
    return {
        "cpu_s_per_example": facts.example_cpu_s,
        "wall_s_per_example": facts.example_s,
        "bytes_per_example": facts.example_bytes,
    }


def _scope(evidence: Evidence) -> dict[str, Any]:
    reference = evidence.reference
    return scope_section(
        evidence.source, reference.scope, reference.facts, _readings(evidence)
    )


def _readings(evidence: Evidence) -> list[Reading]:
    """Return all readings of the study."""
    return [item for outcome in evidence.outcomes for item in outcome.readings]

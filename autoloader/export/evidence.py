"""Gather the evidence behind a choice into the sections of a recommendation.

Pure: results in, plain values out. Every number is worked out of stored readings.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from autoloader.export.cautions import all_readings, cautions_of
from autoloader.export.limit_section import limit_section
from autoloader.export.needs_section import needs_section
from autoloader.export.origin import contract_section
from autoloader.export.pin_section import pin_section
from autoloader.export.recommendation import SCHEMA, Recommendation
from autoloader.export.scope_section import rates_in_units, scope_section
from autoloader.export.step_section import step_section
from autoloader.measure.intervals import Interval, median, median_of_known
from autoloader.measure.rank_rates import rank_rates
from autoloader.measure.throughput import (
    end_s,
    epoch_rate,
    first_batch_s,
    steady_rate,
    wait_percentiles,
    warm_s,
)
from autoloader.measure.versions import versions
from autoloader.search.rates import rates_of
from autoloader.search.selection import knob_effects
from autoloader.values.outcome import MemoryReading, Outcome, Reading, Status
from autoloader.values.target import CONFIDENCE, INDIFFERENCE, Target

if TYPE_CHECKING:
    from autoloader.search.cost_model import CostModel
    from autoloader.search.exploration import Stop
    from autoloader.search.finale import Result
    from autoloader.search.passed_over import PassedOver
    from autoloader.search.space import Space
    from autoloader.search.standings import Standings
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import Reference
    from autoloader.values.machine import Machine
    from autoloader.values.scope import SourceSpec
    from autoloader.values.transfer import PinReadings


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
    model: CostModel
    """What the costs of one process foretold."""
    stopped_search: Stop
    passed_over: tuple[PassedOver, ...] = ()
    pinning: PinReadings | None = None
    """What pinning was decided by; None: it was not open."""
    request: dict[str, Any] | None = None
    """What asks for the same study again; None: nobody wrote it down."""

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
            **_pinning(evidence),
            **_step(evidence),
            "verified": _verified(evidence),
            "cautions": cautions_of(evidence),
            "contract": contract_section(evidence.reference),
            "limit": _limit(evidence),
            "needs": _needs(evidence),
            "scope": _scope(evidence),
            **({} if evidence.request is None else {"request": evidence.request}),
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
                "stopped": evidence.stopped_search,
                "untried_faster": evidence.result.untried,
                "race": _race(evidence),
                "model": _model(evidence),
            },
        }
    )


def _model(evidence: Evidence) -> dict[str, Any]:
    """Return what the cost model said, and by which factor readings differed from it.

    It proposes; what is recommended rests on readings.
    """
    model = evidence.model
    return {
        "predicted_examples_per_s": model.examples_per_s(evidence.chosen),
        "ceiling_examples_per_s": model.ceiling_examples_per_s,
        "error": model.error(rates_of(evidence.outcomes)),
    }


def _settings(evidence: Evidence) -> dict[str, Any]:
    """Return what DataLoader takes; beside a batch_sampler it takes no batch size."""
    settings = evidence.chosen.dataloader_kwargs()
    if evidence.reference.facts.batching == "lists":
        del settings["batch_size"]
    return settings


def race_readings(outcome: Outcome | None) -> list[Reading]:
    """Return the readings that count: those of the race, else those of the search."""
    return [] if outcome is None else list(outcome.raced)


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
        "probability": choice.probability,
        "at_least": _at_least(evidence),
        "confidence": CONFIDENCE,
        "indifference": INDIFFERENCE,
        "ranks": evidence.ranks,
    }


def _at_least(evidence: Evidence) -> float | None:
    """Return the share of what is wanted that the choice delivers with confidence.

    None where nothing was chosen, or a training loop was judged instead.
    """
    chosen, standings = evidence.result.choice.config, evidence.result.standings
    if chosen is None or standings is None or standings.target.is_of_step:
        return None
    return standings[chosen].at_least


def _race(evidence: Evidence) -> dict[str, Any] | None:
    """Return how the race went; its rates are in `measured`, and in the study."""
    race = evidence.result.race
    if race is None or not race.rounds:
        return None
    return {
        "rounds": len(race.rounds),
        "configs": len({config for round_ in race.rounds for config in round_}),
        "stopped": race.stopped_because,
        "dropped": len(race.dropped),
        "error": race.error,
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
        "first_batch_s": median_of_known(map(first_batch_s, readings)),
        "warm_s": median_of_known(map(warm_s, readings)),
        "end_s": median_of_known(map(end_s, readings)),
        "wait_s": _waits(readings),
        **_memory(evidence.result.memory.get(evidence.chosen)),
        **_ranks(readings),
        "readings": [epoch_rate(item) for item in readings],
        "other_load": {
            name: max((getattr(item, name) for item in readings), default=None)
            for name in ("foreign_cpu", "stolen_cpu", "throttled_cpu")
        },
    }


def _ranks(readings: list[Reading]) -> dict[str, Any]:
    """Return what each rank reached; nothing where there is one training process."""
    found = rank_rates(readings)
    return {} if found is None else {"ranks": found.to_dict()}


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
        **{
            name: memory.of_all(name)
            for name in ("queued_bytes", "pinned_bytes", "accelerator_bytes")
        },
        "full_queue_was_seen": memory.queue_was_full,
    }


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
        "ratios": _ratios(standings, config, evidence.chosen),
        "peak_memory_bytes": memory.peak_bytes if memory is not None else None,
    }


def _ratios(
    standings: Standings | None, config: LoaderConfig, chosen: LoaderConfig
) -> list[float]:
    """Return a config's rate divided by the chosen one's, in each round that had both.

    What a later night is held against: of a round both met the same machine.
    """
    if standings is None or config == chosen:
        return []
    pairs = ((item.get(config), item.get(chosen)) for item in standings.rounds)
    return [rate / other for rate, other in pairs if rate and other]


def _knobs(evidence: Evidence) -> dict[str, Any]:
    standings = evidence.result.standings
    if standings is None:
        return dict(knob_effects(evidence.outcomes, evidence.chosen))
    return dict(knob_effects(evidence.outcomes, evidence.chosen, standings.relative))


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


def _limit(evidence: Evidence) -> dict[str, Any] | None:
    loops = evidence.result.loops
    step_rate = 0.0 if loops is None else loops.step_examples_per_s
    return limit_section(
        evidence.chosen,
        evidence.outcomes,
        facts=evidence.reference.facts,
        cpus=evidence.machine.effective_cpus / evidence.ranks,
        workers=evidence.space.num_workers,
        machine_cpus=evidence.machine.logical_cpus / evidence.ranks,
        hot=evidence.reference.facts.hot,
        step_s=1 / step_rate if step_rate else None,
    )


def _needs(evidence: Evidence) -> dict[str, Any]:
    return needs_section(
        evidence.chosen,
        race_readings(evidence.outcome_of(evidence.chosen)),
        facts=evidence.reference.facts,
        outcomes=evidence.outcomes,
        memory=evidence.result.memory,
    )


def _pinning(evidence: Evidence) -> dict[str, Any]:
    """Return the section of pinned memory; nothing where it was not open."""
    found = evidence.pinning
    return {} if found is None else {"pinning": pin_section(found)}


def _step(evidence: Evidence) -> dict[str, Any]:
    """Return the section of training loops; nothing where there is no step."""
    loops, choice = evidence.result.loops, evidence.result.choice
    if loops is None:
        return {}
    named = {
        "pytorch_default": evidence.default_config,
        "yours": evidence.user_config,
        "fastest": loops.standings().best,
        "chosen": choice.config,
    }
    rates = {
        item.config: median([epoch_rate(reading) for reading in race_readings(item)])
        / evidence.ranks  # a loop is that of one training process
        for item in evidence.outcomes
        if item.readings
    }
    judged = "fastest" if choice.config is None else "chosen"
    section = step_section(
        loops, named, judged=judged, base="pytorch_default", loader_rates=rates
    )
    return {"step": section}


def _scope(evidence: Evidence) -> dict[str, Any]:
    reference = evidence.reference
    return scope_section(
        evidence.source, reference.scope, reference.facts, all_readings(evidence)
    )

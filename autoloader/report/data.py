"""What people are told of a tune, as one plain value: for the terminal, JSON and HTML.

Pure: a result in, facts and sentences out. No layout, no colour and no file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoloader.report import sentences
from autoloader.report.failed import FailedTrial
from autoloader.report.knob_rows import KnobRow, knob_rows
from autoloader.report.limit_words import advice_words, limit_words
from autoloader.report.rank_words import rank_words
from autoloader.report.rows import ConfigRow, rows_of
from autoloader.report.scope_words import scope_words
from autoloader.report.why import reasons
from autoloader.values.outcome import Status

if TYPE_CHECKING:
    from pathlib import Path

    from autoloader.search.exploration import Stop
    from autoloader.search.passed_over import PassedOver
    from autoloader.search.race import StopReason
    from autoloader.tune_values import State, TuneResult
    from autoloader.values.config import LoaderConfig

SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedCaution:
    """Something worth knowing of the data or the readings."""

    code: str | None
    """Stable name; None where there is none."""
    message: str
    hint: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {"code": self.code, "message": self.message, "hint": self.hint}


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneReport:
    """Everything that is shown at the end of a tune."""

    dataset: str
    """SPEC, as the user wrote it."""
    state: State
    cautions: tuple[ReportedCaution, ...]
    """To be shown first."""
    verdict: str
    """Whether the target is met, by what, and why."""
    bound: str | None
    """What the chosen config delivers at least; None where none is chosen."""
    verification: str
    """What was compared with the reference, and what was not."""
    scope_words: str
    """What the rates are of."""
    rows: tuple[ConfigRow, ...]
    """PyTorch's default, the user's own, the fastest and the chosen config."""
    why: tuple[str, ...]
    """Why the chosen config and no other; empty where none is chosen."""
    knobs: tuple[KnobRow, ...]
    """What each knob does by itself; empty where nothing was found."""
    trials: dict[str, int]
    """Number of trials by fate."""
    failed: tuple[FailedTrial, ...]
    """Trials without a speed, in order."""
    search: str
    """What the search did and why it ended."""
    untried: str | None
    """What was passed over because of what came of others; None: nothing."""
    passed_over: tuple[PassedOver, ...]
    """The same, by reason."""
    race: str | None
    """How the race went; None where there was none."""
    file: str
    """What was written, or why nothing was."""
    ranks: str | None
    """What several ranks reached; None where there is one training process."""
    limit: str | None
    """What limits, and what no setting exceeds; None: nothing was seen."""
    advice: tuple[str, ...]
    """What may help beside the settings."""
    pinning: dict[str, Any] | None
    """Section of the recommendation file; None where pinning was not open."""
    step: dict[str, Any] | None
    """Section of the recommendation file; None where there is no training step."""
    next_step: str | None
    """What to do now."""
    pointer: str | None
    """How to find out what a training takes; None where a rate or a step was named."""
    duration: str
    """How long this run took."""
    seconds: float
    """The same, as a number."""
    chosen: LoaderConfig | None
    """What is recommended; None where the target is not known to be met."""
    target: dict[str, Any] | None
    """Section of the recommendation file; None where nothing was found."""
    knobs_section: dict[str, Any] | None
    """Section of the recommendation file; None where nothing was found."""
    limit_section: dict[str, Any] | None
    """Section of the recommendation file; None where nothing was seen."""
    ranks_section: dict[str, Any] | None
    """The same as in the recommendation file."""
    verified: dict[str, Any] | None
    """Section of the recommendation file; None where nothing was verified."""
    scope: dict[str, Any] | None
    """Section of the recommendation file; None where nothing was found."""
    rounds: int
    """Rounds of the race."""
    race_stopped: StopReason | None
    """Why the race ended; None where there was none."""
    search_stopped: Stop
    """Why the search ended."""
    written: Path | None
    """Recommendation file; None where none was written."""
    study: Path
    """Folder with every outcome."""

    @classmethod
    def of(cls, result: TuneResult) -> TuneReport:
        """Return the report of a result."""
        found = result.recommendation.data if result.recommendation is not None else {}
        race = result.result.race
        failed = (
            FailedTrial.of(outcome)
            for outcome in result.outcomes
            if outcome.status is not Status.MEASURED
        )
        return cls(
            dataset=found.get("dataset", result.reference.facts.name),
            state=result.state,
            cautions=_cautions(found),
            verdict=sentences.verdict(result),
            bound=sentences.bound(result),
            verification=sentences.verification(result),
            scope_words=scope_words(result.reference.scope, result.reference.facts),
            rows=rows_of(result),
            why=reasons(result),
            knobs=_knobs(found, result),
            trials=sentences.counts_of(result.outcomes),
            failed=tuple(failed),
            search=sentences.search(result),
            untried=sentences.untried(result),
            passed_over=result.passed_over,
            race=sentences.race(result),
            file=sentences.file(result),
            ranks=rank_words((found.get("measured") or {}).get("ranks")),
            ranks_section=(found.get("measured") or {}).get("ranks"),
            limit=limit_words(found.get("limit")),
            advice=advice_words(found.get("limit")),
            knobs_section=found.get("knobs"),
            limit_section=found.get("limit"),
            pinning=found.get("pinning"),
            step=found.get("step"),
            next_step=sentences.next_step(result),
            pointer=sentences.pointer(result),
            duration=sentences.duration(result),
            seconds=result.seconds,
            chosen=result.result.choice.config,
            target=found.get("target"),
            verified=found.get("verified"),
            scope=found.get("scope"),
            rounds=0 if race is None else len(race.rounds),
            race_stopped=None if race is None else race.stopped_because,
            search_stopped=result.stopped_search,
            written=result.written,
            study=result.study,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` writes: names are those of the recommendation file."""
        chosen, written = self.chosen, self.written
        return {
            "schema": SCHEMA,
            "dataset": self.dataset,
            "dataloader": None if chosen is None else chosen.dataloader_kwargs(),
            "state": self.state,
            "verdict": self.verdict,
            "target": self.target,
            "cautions": [caution.to_dict() for caution in self.cautions],
            "configs": [row.to_dict() for row in self.rows],
            **({} if self.ranks_section is None else {"ranks": self.ranks_section}),
            "why": list(self.why),
            "knobs": self.knobs_section,
            "verified": self.verified,
            "limit": self.limit_section,
            **({} if self.pinning is None else {"pinning": self.pinning}),
            "step": self.step,
            "scope": self.scope,
            "trials": self.trials,
            "failed": [trial.to_dict() for trial in self.failed],
            "search": {
                "stopped_because": self.search_stopped,
                "passed_over": [group.to_dict() for group in self.passed_over],
            },
            "race": {"rounds": self.rounds, "stopped_because": self.race_stopped},
            "written": None if written is None else str(written),
            "study": str(self.study),
            "seconds": round(self.seconds, 1),
        }


def _knobs(found: dict[str, Any], result: TuneResult) -> tuple[KnobRow, ...]:
    """Return the knobs of what is recommended: the choice, or the fastest config."""
    knobs, study = found.get("knobs"), found.get("study") or {}
    choice = result.result.choice
    subject = choice.config or choice.best
    if knobs is None or subject is None:
        return ()
    failed = [item for item in result.outcomes if item.status is not Status.MEASURED]
    return knob_rows(knobs, study.get("space") or {}, subject, failed)


def _cautions(found: dict[str, Any]) -> tuple[ReportedCaution, ...]:
    return tuple(
        ReportedCaution(
            code=item["code"], message=item["message"], hint=item.get("hint")
        )
        for item in found.get("cautions", ())
    )

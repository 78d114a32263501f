"""What people are told of a study that is over, or stored so far, as one plain value.

Made of a recommendation file, of a study's folder, or of both; what neither tells is
said to be missing. Pure: what was read in, facts and sentences out; no layout. What a
tune says at its end is told in the same words (`report.sentences`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoloader.export.recommendation import Recommendation
    from autoloader.export.study_files import StudyFiles, Taken
    from autoloader.report.data import ReportedCaution
    from autoloader.report.failed import FailedTrial
    from autoloader.report.rows import ConfigRow
    from autoloader.report.study_figures import (
        GateFigures,
        RacedReading,
        RaceFigures,
        TrialFigures,
        WaitCurve,
    )
    from autoloader.values.config import LoaderConfig

SCHEMA = 1

ReportState = Literal["met", "not_met", "undecided", "without_file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What a report is made of."""

    name: str
    """File or folder, as the user named it."""
    recommendation: Recommendation | None
    """The file's; None: a study's folder was named."""
    study: StudyFiles | None
    """The folder's; None: it is not there."""
    missing: str | None = None
    """Why there is no study; None: there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyReport:
    """Everything that is shown of a study."""

    dataset: str
    """SPEC, as the user wrote it."""
    name: str
    """What it was made of, as the user named it."""
    state: ReportState
    """Of the choice; `without_file`: only the study's folder was there."""
    verdict: str
    """Whether the target is met, by what, and why."""
    bound: str | None
    """What the chosen config delivers at least; None: it is not told."""
    use: str | None
    """The line of a training script that uses it; None: nothing is recommended."""
    cautions: tuple[ReportedCaution, ...]
    """To be shown first."""
    missing: tuple[str, ...]
    """What this report lacks, and why."""
    rows: tuple[ConfigRow, ...]
    """PyTorch's default, the user's own, the fastest and the chosen config."""
    trials: tuple[TrialFigures, ...]
    """In order; empty where the study is missing."""
    counts: dict[str, int]
    """Number of trials by fate."""
    failed: tuple[FailedTrial, ...]
    """Trials without a speed, in order."""
    facts: tuple[tuple[str, str], ...]
    """What is said of data, scope, search, race, time and limit, with its label."""
    race: RaceFigures | None
    """Rounds; None where there was none, or it is missing."""
    raced: tuple[RacedReading, ...]
    """Readings of the race, in time; empty where the record does not say when."""
    waits: tuple[WaitCurve, ...]
    """Of each config that has a name."""
    gate: GateFigures
    """What the gate said of all trials."""
    taken: tuple[Taken, ...]
    """Every reading, in the order they were taken."""
    sections: Mapping[str, Any]
    """Sections of the recommendation; empty where there is none."""
    study_state: Mapping[str, Any]
    """What `study.json` of the folder holds, unchecked."""
    config: LoaderConfig | None
    """What is recommended, or stands in the file; None: there is no file."""
    outcomes_file: str | None
    """Where all readings are; None: they are missing."""

    @property
    def is_met(self) -> bool:
        """Whether the target is known to be met."""
        return self.state == "met"

    def fact(self, label: str) -> str | None:
        """Return what is said under a label; None where nothing is."""
        return dict(self.facts).get(label)

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` writes: names are those of the recommendation file."""
        return {
            "schema": SCHEMA,
            "dataset": self.dataset,
            "dataloader": self.sections.get("dataloader"),
            "state": self.state,
            "verdict": self.verdict,
            "bound": self.bound,
            "target": self.sections.get("target"),
            "cautions": [caution.to_dict() for caution in self.cautions],
            "missing": list(self.missing),
            "configs": [row.to_dict() for row in self.rows],
            "facts": [{"label": label, "said": said} for label, said in self.facts],
            "trials": [trial.to_dict() for trial in self.trials],
            "counts": self.counts,
            "failed": [trial.to_dict() for trial in self.failed],
            "race": None if self.race is None else self.race.to_dict(),
            "outcomes": self.outcomes_file,
        }

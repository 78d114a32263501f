"""When trials and readings of a study begin: by the study's own time, and of day.

The study's own time stands still while it is interrupted: a later run goes on with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypedDict


class Begun(TypedDict):
    """Fields of a trial or a reading that tell when it began."""

    begun_s: float | None
    begun_at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One moment of a study."""

    study_s: float
    """Seconds that the study has taken by then, earlier runs of it included."""
    at: datetime
    """Time of day, with its zone."""

    @classmethod
    def now(cls, study_s: float) -> Moment:
        """Return this moment.

        Args:
            study_s: seconds that the study has taken.
        """
        return cls(study_s=study_s, at=datetime.now(UTC))

    def fields(self) -> Begun:
        """Return what a record holds of it."""
        return {
            "begun_s": round(self.study_s, 3),
            "begun_at": self.at.isoformat(timespec="milliseconds"),
        }


NO_MOMENT: Begun = {"begun_s": None, "begun_at": None}
"""What a record holds where nobody keeps the time."""


def begun_now(moment: Moment | None) -> Begun:
    """Return what a record holds of a moment."""
    return NO_MOMENT if moment is None else moment.fields()

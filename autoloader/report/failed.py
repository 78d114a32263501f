"""Why a trial has no speed, in the few words that people are told.

Pure: an outcome in, a value out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import Outcome, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTrial:
    """A trial without a speed, and why."""

    number: int
    """Place in the study, from 0."""
    config: LoaderConfig
    status: Status
    code: str
    """Finding code or failure kind."""
    message: str
    """What was seen."""
    hint: str | None
    """The usual cause, or the way out."""
    log: str | None
    """Folder with what its processes printed; None where there is none."""

    @classmethod
    def of(cls, outcome: Outcome) -> FailedTrial:
        """Return why a trial has no speed; of several findings, the first is told."""
        message, hint, log = "", None, None
        if outcome.failure is not None:
            failure = outcome.failure
            message, hint, log = failure.message, failure.hint, failure.log
        elif outcome.verdict is not None and outcome.verdict.findings:
            first, *others = outcome.verdict.findings
            message, hint = first.message, first.hint
            if others:
                message += f"; also {', '.join(item.code for item in others)}"
        return cls(
            number=outcome.number,
            config=outcome.config,
            status=outcome.status,
            code=code_of(outcome) or outcome.status.value,
            message=message,
            hint=hint,
            log=log,
        )

    @property
    def reason(self) -> str:
        """The code and what was seen, in one line."""
        return f"{self.code}: {self.message}" if self.message else self.code

    @property
    def reason_beside_fate(self) -> str:
        """The same, without a code that says no more than the fate beside it."""
        is_told = self.code == self.status.value and self.message
        return self.message if is_told else self.reason

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {
            "number": self.number,
            "config": self.config.to_dict(),
            "status": self.status.value,
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "log": self.log,
        }


def code_of(outcome: Outcome) -> str | None:
    """Return the finding or failure that ended a trial; None where nothing did."""
    if outcome.failure is not None:
        return outcome.failure.kind
    if outcome.verdict is not None and outcome.verdict.findings:
        return outcome.verdict.findings[0].code
    return None

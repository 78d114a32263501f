"""What the Python API returns: values with their report, as scripts and people read it.

Printed, or shown by a notebook, a result is the report that the command prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

from autoloader.report.console import print_check, print_measure, print_report
from autoloader.report.data import TuneReport
from autoloader.report.measure import MeasureReport

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Literal

    from autoloader.checking import CheckResult
    from autoloader.export.recommendation import Recommendation
    from autoloader.measuring import MeasureResult
    from autoloader.tune_values import State, TuneResult


class _Shown:
    """Shows the report that its `__str__` returns, in a notebook too."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Return the report for a notebook."""
        return f"<pre>{escape(str(self))}</pre>"


@dataclass(frozen=True, slots=True, repr=False)
class Tuned(_Shown):
    """What `autoloader.tune` found."""

    result: TuneResult
    """All of it: outcomes, race, verification."""

    @property
    def state(self) -> State:
        """`met`, `not_met` or `undecided`."""
        return self.result.state

    @property
    def recommendation(self) -> Recommendation | None:
        """The chosen config with its evidence; the fastest one where none is enough."""
        return self.result.recommendation

    @property
    def written(self) -> Path | None:
        """Where the recommendation was written; None: it was not."""
        return self.result.written

    @property
    def report(self) -> TuneReport:
        """What people are told of it."""
        return TuneReport.of(self.result)

    def to_dict(self) -> dict[str, Any]:
        """Return what `autoloader tune --json` writes."""
        return self.report.to_dict()

    def __str__(self) -> str:
        stream = StringIO()
        print_report(self.report, stream)
        return stream.getvalue().rstrip("\n")


@dataclass(frozen=True, slots=True, repr=False)
class Checked(_Shown):
    """What `autoloader.check` found."""

    result: CheckResult
    """All of it: the reference, and what each config delivered."""

    @property
    def passed(self) -> bool:
        """Whether every config delivers what one process reads."""
        return self.result.passed

    def to_dict(self) -> dict[str, Any]:
        """Return what `autoloader check --json` writes."""
        return self.result.to_dict()

    def __str__(self) -> str:
        stream = StringIO()
        print_check(self.to_dict(), stream)
        return stream.getvalue().rstrip("\n")


@dataclass(frozen=True, slots=True, repr=False)
class Compared(_Shown):
    """What `autoloader.measure` found."""

    result: MeasureResult
    """All of it: every config with its readings, and the rounds."""

    @property
    def state(self) -> Literal["settled", "undecided", "failed"]:
        """Whether every pair of configs is told apart, or known to be equal."""
        return self.result.state

    @property
    def report(self) -> MeasureReport:
        """What people are told of it."""
        return MeasureReport.of(self.result)

    def to_dict(self) -> dict[str, Any]:
        """Return what `autoloader measure --json` writes."""
        return self.report.to_dict()

    def __str__(self) -> str:
        stream = StringIO()
        print_measure(self.report, stream)
        return stream.getvalue().rstrip("\n")

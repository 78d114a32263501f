"""Views without a terminal: one line an event, or none at all.

Lines go to a log and are searched there: no colour, no cursor moves, no wrapping.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Self, TextIO

from autoloader.report import sentences
from autoloader.report.cleaning import clean
from autoloader.report.failed import FailedTrial
from autoloader.report.pace import Pace
from autoloader.report.surface import writable
from autoloader.report.unframed import Unframed
from autoloader.search.passed_over import by_reason, in_words
from autoloader.search.rates import rate_of
from autoloader.units import format_rate, format_seconds

if TYPE_CHECKING:
    from autoloader.search.budget import Budget
    from autoloader.search.standings import Round
    from autoloader.search.watcher import Extent
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import PassOrder
    from autoloader.values.machine import Machine
    from autoloader.values.outcome import Outcome
    from autoloader.values.target import Target


class QuietView(Unframed):
    """Shows nothing of a study."""

    def on_phase(
        self, name: str, detail: str, budget: Budget, extent: Extent | None = None
    ) -> None:
        """A phase begins."""

    def on_pass(self, order: PassOrder) -> None:
        """A pass begins."""

    def on_tick(self, stage: str, done: int) -> None:
        """The running pass stands here."""

    def on_trial(self, config: LoaderConfig) -> None:
        """A trial begins."""

    def on_outcome(self, outcome: Outcome) -> None:
        """A trial came to its end."""

    def on_skip(self, config: LoaderConfig, why: str) -> None:
        """A config is not tried."""

    def on_round(self, number: int, rates: Round) -> None:
        """A round of the race came to its end."""

    def on_target(self, target: Target) -> None:
        """It is known what is wanted."""

    def on_caution(self, message: str, hint: str | None) -> None:
        """Something is worth knowing."""


class PlainView(QuietView):
    """Writes one line an event.

    Args:
        stream: where to.
        dataset: SPEC, as the user wrote it.
        target: what is wanted.
        machine: where it runs.
        command: which one it is.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        dataset: str,
        target: Target,
        machine: Machine,
        command: str = "tune",
    ) -> None:
        self._stream = writable(stream)
        self._columns: list[LoaderConfig] = []
        self._skipped: list[tuple[LoaderConfig, str]] = []
        self._pace: Pace | None = None
        self._begin = (
            f"{command}: {dataset}, target {target.describe()}, "
            f"{sentences.resources(machine)}"
        )

    def __enter__(self) -> Self:
        """Write what is about to be done."""
        _write(self._stream, self._begin)
        return self

    def __exit__(self, *_exc: object) -> None:
        """Write what was passed over, where nothing came after it."""
        self._tell_skipped()

    def on_phase(
        self, name: str, detail: str, budget: Budget, extent: Extent | None = None
    ) -> None:
        """Write the phase, what it is about, and the time that is left."""
        self._tell_skipped()
        self._pace = None if extent is None else Pace(extent, budget.clock)
        left = f"{format_seconds(budget.left_s)} left"
        if extent is not None:
            left = "all of them, however long it takes"
        _write(self._stream, f"{name}: {detail} ({left})")

    def on_outcome(self, outcome: Outcome) -> None:
        """Write a trial's rate, or why it has none."""
        rate = rate_of(outcome)
        if rate is None:
            fate = sentences.FATES[outcome.status]
            result = f"{fate}, {FailedTrial.of(outcome).reason_beside_fate}"
        else:
            result = f"{format_rate(rate)} examples/s"
        trial = f"trial {outcome.number + 1}: {outcome.config.describe()}"
        told = ""
        if self._pace is not None:
            self._pace.on_outcome()
            told = f"; {self._pace.describe()}"
        _write(self._stream, f"{trial}: {result}{told}")

    def on_skip(self, config: LoaderConfig, why: str) -> None:
        """Keep it: what is passed over is told together, when the search is over."""
        self._skipped.append((config, why))
        if self._pace is not None:
            self._pace.on_skip()

    def _tell_skipped(self) -> None:
        words = in_words(by_reason(self._skipped))
        self._skipped.clear()
        if words is not None:
            _write(self._stream, f"not tried: {words}")

    def on_round(self, number: int, rates: Round) -> None:
        """Write the rates of a round, always in the order of the first one."""
        self._columns += [config for config in rates if config not in self._columns]
        read = "  ".join(_cell(rates, config) for config in self._columns)
        _write(self._stream, f"round {number}: {read} examples/s")

    def on_target(self, target: Target) -> None:
        """Write what is wanted, once a step was timed."""
        if target.is_of_step:
            _write(self._stream, f"target: {target.describe()}")

    def on_caution(self, message: str, hint: str | None) -> None:
        """Write what is worth knowing."""
        _write(self._stream, f"caution: {message}" + (f" ({hint})" if hint else ""))


class QuietStatus(Unframed):
    """Shows nothing of a check."""

    def on_phase(self, text: str) -> None:
        """The next step begins."""

    def on_tick(self, stage: str, done: int) -> None:
        """The running pass stands here."""


class PlainStatus(QuietStatus):
    """Writes one line a step of a check.

    Args:
        stream: where to.
        command: whose steps they are.
    """

    def __init__(self, stream: TextIO, *, command: str = "check") -> None:
        self._stream, self._command = writable(stream), command

    def on_phase(self, text: str) -> None:
        """Write what is checked now."""
        _write(self._stream, f"{self._command}: {text}")


def _write(stream: TextIO, line: str) -> None:
    """Write a line; a reader that has left does not end what is being done."""
    with contextlib.suppress(BrokenPipeError):
        stream.write(clean(line) + "\n")
        stream.flush()


def _cell(rates: Round, config: LoaderConfig) -> str:
    """Return a rate of a round; `-` where the config did not run in it."""
    if config not in rates:
        return "-"
    rate = rates[config]
    return "failed" if rate is None else format_rate(rate)

"""Views of a measuring that runs: a region on a terminal, lines elsewhere, or nothing.

What is known so far is for people to pass the time with; what it says of any pair is
told in the end (`report.measure`), after looks that were fixed beforehand.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Self, TextIO

from rich.console import Group
from rich.table import Table
from rich.text import Text

from autoloader.measure.intervals import median
from autoloader.report.cleaning import clean
from autoloader.report.failed import FailedTrial
from autoloader.report.region import Framed, region_on
from autoloader.report.sentences import FATES, resources
from autoloader.report.surface import writable
from autoloader.report.unframed import Unframed
from autoloader.search.comparison import LOOKS
from autoloader.search.rates import rate_of
from autoloader.units import counted, format_rate

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

    from autoloader.search.comparison import NamedRound
    from autoloader.search.contenders import Contender
    from autoloader.values.machine import Machine
    from autoloader.values.outcome import Outcome


class QuietMeasure(Unframed):
    """Shows nothing."""

    def on_phase(self, name: str, detail: str) -> None:
        """A phase begins."""

    def on_tick(self, stage: str, done: int) -> None:
        """The running pass stands here."""

    def on_entered(self, contenders: tuple[Contender, ...]) -> None:
        """It is known who is compared."""

    def on_trial(self, contender: Contender) -> None:
        """A config is gated, weighed and read for the first time."""

    def on_outcome(self, contender: Contender, outcome: Outcome) -> None:
        """That came to its end."""

    def on_round(self, number: int, rates: NamedRound) -> None:
        """A round came to its end."""


class PlainMeasure(QuietMeasure):
    """Writes one line an event.

    Args:
        stream: where to.
        dataset: SPEC, as the user wrote it.
        machine: where it runs.
    """

    def __init__(self, stream: TextIO, *, dataset: str, machine: Machine) -> None:
        self._stream = writable(stream)
        self._names: list[str] = []
        self._begin = f"measure: {dataset}, {resources(machine)}"

    def __enter__(self) -> Self:
        """Write what is about to be done."""
        self._write(self._begin)
        return self

    def on_phase(self, name: str, detail: str) -> None:
        """Write the phase and what it is about."""
        self._write(f"{name}: {detail}")

    def on_outcome(self, contender: Contender, outcome: Outcome) -> None:
        """Write a config's first rate, or why it has none."""
        config = f"{contender.name}: {contender.config.describe()}"
        self._write(f"{config}: {_first_words(outcome)}")

    def on_round(self, number: int, rates: NamedRound) -> None:
        """Write the rates of a round, always in the order of the first one."""
        self._names += [name for name in rates if name not in self._names]
        read = "  ".join(
            f"{name} {_rate_words(rates[name])}"
            for name in self._names
            if name in rates
        )
        self._write(f"round {number}: {read} examples/s")

    def _write(self, line: str) -> None:
        with contextlib.suppress(BrokenPipeError):  # a reader that has left
            self._stream.write(clean(line) + "\n")
            self._stream.flush()


class LiveMeasure(Framed, QuietMeasure):
    """Shows the configs in a region that is gone when it is over.

    Args:
        stream: a terminal, or the output of a notebook's cell.
        dataset: SPEC, as the user wrote it.
        machine: where it runs.
        rounds: how many there are to be; None: until each pair is settled.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        dataset: str,
        machine: Machine,
        rounds: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._heading = Text.assemble(
            ("autoloader measure", "strong"),
            f"  {clean(dataset)}\n",
            (clean(f"on {resources(machine)}"), "label"),
            no_wrap=True,
            overflow="ellipsis",
        )
        self._fixed = rounds
        self._phase, self._stage = "", ""
        self._contenders: tuple[Contender, ...] = ()
        self._words: dict[str, str] = {}
        self._rounds: list[NamedRound] = []
        title = f"measure {clean(dataset)}"
        self._region = region_on(stream, self._draw, clock, title=title)

    def on_phase(self, name: str, detail: str) -> None:
        """Show that a phase begins."""
        self._phase, self._stage = f"{name}  {clean(detail)}", ""
        self._region.redraw()

    def on_tick(self, stage: str, done: int) -> None:
        """Show where the running pass stands, unless that was shown a moment ago."""
        self._stage = clean(stage) + (f", {done:,} done" if done else "")
        self._region.tick()

    def on_entered(self, contenders: tuple[Contender, ...]) -> None:
        """Show who is compared."""
        self._contenders = contenders
        self._region.redraw()

    def on_trial(self, contender: Contender) -> None:
        """Show which config is looked at."""
        self.on_phase("config", f"{contender.name}, {contender.config.describe()}")

    def on_outcome(self, contender: Contender, outcome: Outcome) -> None:
        """Show its first rate, or why it has none."""
        self._words[contender.name] = _first_words(outcome)
        self._region.redraw()

    def on_round(self, number: int, rates: NamedRound) -> None:
        """Show the rates so far."""
        del number  # rounds are counted from their rates
        self._rounds.append(rates)
        for name, rate in rates.items():
            read = [found for item in self._rounds if (found := item.get(name))]
            self._words[name] = (
                _rate_words(rate)
                if rate is None
                else f"{format_rate(median(read))} examples/s"
            )
        self._region.redraw()

    def _draw(self) -> RenderableType:
        """Return the whole region; lines are cut rather than wrapped."""
        blank = Text("")
        parts: list[RenderableType] = [blank, self._heading, blank]
        parts.append(_one_line(self._phase))
        if self._contenders:
            parts += [blank, self._table()]
        if self._rounds:
            parts.append(_one_line(self._count(), "label"))
        parts += [blank, _one_line(self._stage or "-", "label")]
        return Group(*parts)

    def _table(self) -> Table:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=True, style="strong")
        grid.add_column()
        grid.add_column(no_wrap=True, max_width=40)
        for item in self._contenders:
            words = self._words.get(item.name, "-")
            grid.add_row(item.name, _one_line(item.config.describe()), _one_line(words))
        return grid

    def _count(self) -> str:
        said = counted(len(self._rounds), "round")
        if self._fixed is not None:
            return f"{said} of {self._fixed}"
        looks = ", ".join(map(str, LOOKS[:-1]))
        return f"{said}; looked at after {looks} or {LOOKS[-1]}"


def _one_line(text: str, style: str = "") -> Text:
    return Text(clean(text), style=style, no_wrap=True, overflow="ellipsis")


def _first_words(outcome: Outcome) -> str:
    """Return the first rate of a config, or why it has none."""
    rate = rate_of(outcome)
    if rate is None:
        return f"{FATES[outcome.status]}, {FailedTrial.of(outcome).reason}"
    return f"{format_rate(rate)} examples/s"


def _rate_words(rate: float | None) -> str:
    return "failed" if rate is None else format_rate(rate)

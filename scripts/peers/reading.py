"""Ask plain loops, and race settings in them. What is raced is said elsewhere."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from scripts.peers.advice import key_of
from scripts.peers.bounded import end, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scripts.peers.advice import Settings

_LOOP = Path(__file__).with_name("plain_loop.py")

WARM_S = TIMED_S = 2.0

LIMIT_S = 300.0
"""Seconds without an answer after which settings count as failed: they hang."""

Rates = dict[str, list[float | None]]
"""Rates by round, under the name of the settings; None: they failed."""


class PlainLoop:
    """A process that built a study's dataset and reads it with the settings it is told.

    One that gives no answer is ended, and the next order begins another.

    Args:
        file: the study's dataset module.
        limit_s: seconds that an order may take.
    """

    def __init__(self, file: Path, limit_s: float = LIMIT_S) -> None:
        self._file = file
        self._limit_s = limit_s
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._end()

    def rate(
        self, settings: Settings, *, warm_s: float = WARM_S, timed_s: float = TIMED_S
    ) -> float | None:
        """Return the examples a second of whole epochs; None where they fail."""
        found: float | None = self._ask(
            kind="rate", settings=settings, warm_s=warm_s, timed_s=timed_s
        )
        return found

    def ids(self, settings: Settings) -> list[int]:
        """Return the ids that one epoch delivers; none where it fails."""
        return self._ask(kind="ids", settings=settings) or []

    def _ask(self, **order: Any) -> Any:
        """Return what the process answers; None where it fails, or says nothing."""
        asked, answer = self._pipes()
        try:
            asked.write(json.dumps(order) + "\n")
            asked.flush()
            ready, _, _ = select.select([answer], [], [], self._limit_s)
            line = answer.readline() if ready else ""
        except BrokenPipeError:
            line = ""
        if not line:
            self._end()
            return None
        return json.loads(line)

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        """Return where to ask and where the answers come, of a process that is there.

        Answers are a line each, and nothing is asked before the last one was read: what
        `select` waits for lies never in the buffer above the pipe.
        """
        if self._process is None:
            pipe = subprocess.PIPE
            self._process = start(
                [sys.executable, _LOOP, self._file], stdin=pipe, stdout=pipe
            )
        if self._process.stdin is None or self._process.stdout is None:
            msg = "the plain loop has no pipes"
            raise RuntimeError(msg)
        return self._process.stdin, self._process.stdout

    def _end(self) -> None:
        if self._process is not None:
            end(self._process)
            self._process = None


def race(
    file: Path,
    settings: Iterable[Settings],
    rounds: int,
    *,
    known: Rates | None = None,
    on_round: Callable[[Rates], None] | None = None,
    warm_s: float = WARM_S,
    timed_s: float = TIMED_S,
) -> Rates:
    """Return the rates of each of the settings by round, under their keys.

    Each round has a process of its own, and reverses the order of the one before.
    Settings that are given twice are read once.

    Args:
        file: the study's dataset module.
        settings: what is read.
        rounds: how many there are to be.
        known: rounds that were read already; of other settings they do not count.
        on_round: called after each round, to store what there is.
        warm_s: seconds for which a loader is read before it is timed.
        timed_s: least seconds of the whole epochs that are timed.
    """
    asked = {key_of(item): item for item in settings}
    rates = rates_to_go_on_with(asked, known or {})
    done = min(map(len, rates.values()), default=rounds)
    for number in range(done, rounds):
        keys = list(asked)
        with PlainLoop(file) as loop:
            read = {
                key: loop.rate(asked[key], warm_s=warm_s, timed_s=timed_s)
                for key in (keys if number % 2 == 0 else keys[::-1])
            }
        for key in keys:
            rates[key].append(read[key])
        shown = ", ".join(
            f"{key}: {'-' if read[key] is None else f'{read[key]:.0f}'}" for key in keys
        )
        print(f"    round {number + 1}: {shown}", file=sys.stderr, flush=True)
        if on_round is not None:
            on_round(rates)
    return rates


def rates_to_go_on_with(keys: Iterable[str], known: Rates) -> Rates:
    """Return the rounds that were read already, where they were of these settings.

    Rounds of others were read at another time, and are compared with nobody.
    """
    wanted = list(keys)
    if set(wanted) != set(known):
        return {key: [] for key in wanted}
    whole = min(map(len, known.values()), default=0)
    return {key: list(known[key][:whole]) for key in wanted}

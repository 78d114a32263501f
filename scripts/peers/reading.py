"""Ask plain loops, and race settings in them. What is raced is said elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from advice import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from advice import Settings

_LOOP = Path(__file__).with_name("plain_loop.py")

WARM_S = TIMED_S = 2.0


class PlainLoop:
    """A process that built a study's dataset and reads it with the settings it is told.

    Args:
        file: the study's dataset module.
    """

    def __init__(self, file: Path) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [sys.executable, _LOOP, file], stdin=pipe, stdout=pipe, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.communicate()

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
        if self._process.stdin is None or self._process.stdout is None:
            msg = "the plain loop has no pipes"
            raise RuntimeError(msg)
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        return json.loads(line) if line else None


def race(
    file: Path, settings: Iterable[Settings], rounds: int
) -> dict[str, list[float | None]]:
    """Return the rates of each of the settings by round, under their keys.

    Each round has a process of its own, and reverses the order of the one before.
    Settings that are given twice are read once.
    """
    known = {key_of(item): item for item in settings}
    rates: dict[str, list[float | None]] = {key: [] for key in known}
    for number in range(rounds):
        keys = list(known)
        with PlainLoop(file) as loop:
            for key in keys if number % 2 == 0 else keys[::-1]:
                rates[key].append(loop.rate(known[key]))
        last = {key: values[-1] for key, values in rates.items()}
        print(f"    round {number + 1}: {last}", file=sys.stderr, flush=True)
    return rates

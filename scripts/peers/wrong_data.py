"""Give everybody a dataset that is wrong in workers, and see who says so.

What is recommended is read for one epoch in a plain loop that counts the ids: an
example that never arrived is lost, one that arrived again is repeated. The two are
counted apart, since as many distinct ids as examples would hide a repeated one.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.peers.contestants import ask_loadtune, ask_rules, run_autoloader, tune
from scripts.peers.reading import PlainLoop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.peers.advice import Advice

LOSES = Path(__file__).with_name("loses.py")
COUNT = 600
"""Examples of the dataset, `loses.COUNT`: that module imports torch."""
BATCH_SIZE = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What somebody said of wrong data, and what their settings deliver of it."""

    advice: Advice
    lost: int | None
    """Examples that never arrive; None: nothing was recommended, or it fails."""
    repeated: int | None
    """Arrivals beyond the first of each example; None as above."""
    check_code: int | None
    """Exit code of their check of the data; None: they have none."""
    named: tuple[int | str, ...]
    """Ids that they name as wrong."""

    @property
    def refuses(self) -> bool:
        """Whether they name what is wrong, and recommend nothing that delivers it."""
        return bool(self.named) and not self.lost and not self.repeated

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, and what follows from them."""
        return {**asdict(self), "refuses": self.refuses}


def ask_about_wrong_data(budget: str, loadtune: Path | None) -> list[Delivered]:
    """Return what everybody says of a dataset that loses and repeats an example.

    Args:
        budget: time of autoloader's tune.
        loadtune: Python of the environment that has it; None: it is not asked.
    """
    flags = ["--dataset", f"{LOSES}:loader"]
    code, named = _checked(flags)
    asked: list[tuple[Advice, int | None, tuple[int | str, ...]]] = [
        (tune(flags, budget).advice, code, named)
    ]
    if loadtune is not None:
        asked.append((ask_loadtune(LOSES, loadtune), None, ()))
    asked += [(item, None, ()) for item in ask_rules(LOSES, BATCH_SIZE)]
    with PlainLoop(LOSES) as loop:
        return [_delivered(*item, loop) for item in asked]


def lost_and_repeated(ids: Sequence[int], count: int) -> tuple[int, int]:
    """Return how many of `count` examples never arrived, and how many arrivals repeat.

    Args:
        ids: what one epoch delivered; an id is a number below `count`.
        count: examples of an epoch.
    """
    arrivals = Counter(ids)
    lost = sum(arrivals[place] == 0 for place in range(count))
    return lost, sum(times - 1 for times in arrivals.values())


def _checked(flags: Sequence[str]) -> tuple[int, tuple[int | str, ...]]:
    """Return the exit code of `autoloader check`, and the ids that it names."""
    with tempfile.TemporaryDirectory() as folder:
        done = run_autoloader(["check", *flags, "--json"], folder)
    try:
        found = json.loads(done.stdout)
    except ValueError:
        return done.returncode, ()
    ids = (name for finding in found["findings"] for name in finding["ids"])
    return done.returncode, tuple(dict.fromkeys(ids))


def _delivered(
    advice: Advice, code: int | None, named: tuple[int | str, ...], loop: PlainLoop
) -> Delivered:
    ids = [] if advice.settings is None else loop.ids(advice.settings)
    lost, repeated = lost_and_repeated(ids, COUNT) if ids else (None, None)
    return Delivered(
        advice=advice, lost=lost, repeated=repeated, check_code=code, named=named
    )

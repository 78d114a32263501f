"""Why the chosen config and no other: what simpler ones lack, what faster ones cost.

Pure: a result in, sentences out, without a full stop. Whether the target is met is the
verdict's (`report.sentences`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.measure.intervals import median
from autoloader.search.rates import rates_of
from autoloader.search.selection import simplicity
from autoloader.search.standings import Judgement
from autoloader.units import counted, format_bytes
from autoloader.values.target import INDIFFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autoloader.measure.intervals import Interval
    from autoloader.search.standings import Standing, Standings
    from autoloader.tune_values import TuneResult
    from autoloader.values.config import LoaderConfig

_TO, _TIMES = "\u2013", "\u00d7"


def reasons(result: TuneResult) -> tuple[str, ...]:
    """Return why this one; empty where nothing was chosen."""
    chosen, standings = result.result.choice.config, result.result.standings
    if chosen is None or standings is None or standings.target.is_of_step:
        return ()  # a training loop was judged then, and is told with the step
    return (
        *_against_simpler(result, standings, chosen),
        *_against_fastest(result, standings, chosen),
    )


def _against_simpler(
    result: TuneResult, standings: Standings, chosen: LoaderConfig
) -> Iterator[str]:
    """Yield what the fastest of the simpler configs lacks.

    One that was raced, and may be enough, is told with the verdict.
    """
    read = rates_of(result.outcomes)
    rates = {item: median(found) for item, found in read.items()}
    limit = simplicity(chosen, ())
    simpler = [item for item in rates if simplicity(item, ()) < limit]
    if not simpler or chosen not in rates:
        yield "nothing simpler was measured"
        return
    best = max(simpler, key=lambda item: rates[item])
    standing = next((item for item in standings.table if item.config == best), None)
    if standing is None:
        yield (
            f"{best.describe()} is simpler, and was "
            f"{rates[best] / rates[chosen]:.2f}{_TIMES} as fast in "
            f"{counted(len(read[best]), 'reading')} of the search"
        )
    elif standing.judgement is Judgement.FAILS:
        yield (
            f"{best.describe()} is simpler and too slow: {_share(standing)} of what is "
            "wanted"
        )


def _against_fastest(
    result: TuneResult, standings: Standings, chosen: LoaderConfig
) -> Iterator[str]:
    best = result.result.choice.best
    if best == chosen or best is None:
        yield "no raced config is faster"
        return
    relative = standings.relative(best, chosen)
    if relative is None:
        return
    said = f"the fastest, {best.describe()}, is {_ratio(relative)} as fast"
    memory = result.result.memory
    if best in memory and chosen in memory:
        more = memory[best].peak_bytes - memory[chosen].peak_bytes
        said += (
            f" and takes {format_bytes(abs(more))} {'more' if more >= 0 else 'less'}"
        )
    yield said


def _share(standing: Standing) -> str:
    """Return a rate as a share of what is wanted, and where it lies."""
    scale = 1 - INDIFFERENCE
    said = f"{standing.ratio * scale:.2f}"
    if standing.ratio_low is None or standing.ratio_high is None:
        return said
    low, high = standing.ratio_low * scale, standing.ratio_high * scale
    return f"{said} ({low:.2f}{_TO}{high:.2f})"


def _ratio(found: Interval) -> str:
    said = f"{found.median:.2f}{_TIMES}"
    if found.low is None or found.high is None:
        return said
    return f"{said} ({found.low:.2f}{_TO}{found.high:.2f})"

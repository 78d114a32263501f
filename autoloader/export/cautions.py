"""Cautions of a recommendation: what a user should know before it is used.

Pure: what a study knows in, plain values out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.export.reading_cautions import reading_cautions, worker_cautions
from autoloader.measure.device_doubts import device_doubts
from autoloader.values.outcome import Status
from autoloader.values.passwords import LEFT_OUT, with_passwords

if TYPE_CHECKING:
    from autoloader.export.evidence import Evidence
    from autoloader.values.device import DeviceSeen
    from autoloader.values.outcome import Reading


UNTRIED = 0.5
"""Probability from which on it is told that the fastest config was perhaps not tried.
In 150 replayed studies (`search.replay`) it was so in 6 of 13 from 0.6 on, and in none
of 137 below."""


def cautions_of(evidence: Evidence) -> list[dict[str, Any]]:
    """Return what to know before the recommendation is used, the data's first."""
    verdict = evidence.result.verified.get(evidence.chosen)
    found = [item.to_dict() for item in verdict.cautions] if verdict is not None else []
    if verdict is not None and verdict.of is None:
        found.append(
            {
                "code": "not_fully_verified",
                "count": 0,
                "message": f"the first {verdict.examples} examples were verified",
                "hint": "the stream was cut there; --examples all reads it to its end",
            }
        )
    elif verdict is not None and verdict.of and verdict.examples < verdict.of:
        found.append(
            {
                "code": "not_fully_verified",
                "count": verdict.of - verdict.examples,
                "message": f"{verdict.examples} of {verdict.of} examples were verified",
                "hint": "--verify all --examples all reads every one",
            }
        )
    found += [_password_caution(name) for name in with_passwords(evidence.source)]
    found += reading_cautions(
        all_readings(evidence), evidence.reference.facts, evidence.machine
    )
    found += [item.to_dict() for item in device_doubts(_devices(evidence))]
    found += worker_cautions(
        evidence.chosen.num_workers, evidence.machine, ranks=evidence.ranks
    )
    found += _short_search(evidence)
    if evidence.ranks > 1 and evidence.result.loops is not None:
        found.append(
            {
                "code": "ranks_not_measured_together",
                "count": evidence.ranks,
                "message": (
                    f"the training step ran in one of {evidence.ranks} ranks, on its "
                    "CPUs; what ranks wait for each other is not shown"
                ),
                "hint": None,
            }
        )
    return found


def _devices(evidence: Evidence) -> list[DeviceSeen | None]:
    """Return what was seen of the accelerator in each pass that used it."""
    loops, pinning = evidence.result.loops, evidence.pinning
    found = [] if loops is None else loops.devices
    if pinning is not None:
        moved = (pinning.plain, pinning.pinned)
        found += [item.loop.device for item in moved if item is not None]
    return found


def all_readings(evidence: Evidence) -> list[Reading]:
    """Return all readings of the study."""
    return [item for outcome in evidence.outcomes for item in outcome.readings]


def _short_search(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the caution of a search that was cut off too early to know the fastest."""
    if evidence.stopped_search not in {"budget", "trials"}:
        return []
    untried = evidence.result.untried
    if untried is not None and untried >= UNTRIED:
        return [
            {
                "code": "search_too_short",
                "count": len(evidence.outcomes),
                "message": (
                    f"with a probability of {untried:.2f} a config that was not tried "
                    "is faster than all that were"
                ),
                "hint": "a larger --budget tries more",
            }
        ]
    low, high = evidence.space.num_workers
    measured = {
        item.config.num_workers
        for item in evidence.outcomes
        if item.status is Status.MEASURED and low <= item.config.num_workers <= high
    }
    if len(measured) >= min(3, high - low + 1):
        return []
    return [
        {
            "code": "search_too_short",
            "count": len(evidence.outcomes),
            "message": (
                f"only {_listed(sorted(measured))} workers were measured"
                if measured
                else "no allowed number of workers was measured"
            ),
            "hint": "a larger --budget tries more",
        }
    ]


def _password_caution(name: str) -> dict[str, Any]:
    return {
        "code": "password_left_out",
        "count": 1,
        "message": f"--arg {name} holds a password: {LEFT_OUT} stands in its place",
        "hint": "let the function read it from an environment variable: os.environ",
    }


def _listed(numbers: list[int]) -> str:
    return " and ".join(str(number) for number in numbers)

"""Say whether random fields are random: from worker to worker, from epoch to epoch.

Pure: digests in, cautions out. A generator that was made before the workers started is
cloned into each of them: all then draw the same numbers, and ordinary epochs do not
show it, since every worker gets other ids. So all workers are given the same ids once,
and what they read must differ.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from autoloader.values.outcome import Finding

Digests = Sequence[int]
"""Digest of each example, all fields, in the order of the ids."""

_CAUSE = (
    "usual cause: a generator of its own (np.random.default_rng, random.Random, "
    "torch.Generator) made before the workers start; make it in worker_init_fn"
)


LEAST_CHANCE = 1e-6
"""Repeats that chance makes more often than this are nobody's fault."""


def judge_randomness(
    by_worker: Mapping[int, Digests],
    epochs: Sequence[Mapping[Any, int]],
    share: float = 1.0,
) -> list[Finding]:
    """Return cautions for random fields that repeat.

    Args:
        by_worker: for each worker what it read of the same ids.
        epochs: for each epoch the digest of each example, by its place in the epoch.
        share: part of the examples that differ when they are read again, 0-1: a flip
            differs in half of them, and a few may well repeat by chance.
    """
    found = []
    fewest = min(map(len, by_worker.values()), default=0)
    twins = _workers_alike(list(by_worker.values()))
    if twins and _is_told(fewest, share):
        found.append(
            Finding(
                code="streams_identical",
                count=twins,
                message=f"{twins} of {len(by_worker)} workers draw the same numbers",
                hint=_CAUSE,
            )
        )
    same = _examples_alike(epochs)
    if same and _is_told(same, share):
        found.append(
            Finding(
                code="epochs_identical",
                count=same,
                epoch=1,
                message=f"all {same} examples are the same in the second epoch",
                hint=_CAUSE,
            )
        )
    return found


def _is_told(examples: int, share: float) -> bool:
    """Whether so many equal examples are no chance."""
    return bool((1 - share) ** examples < LEAST_CHANCE)


def _workers_alike(streams: list[Digests]) -> int:
    """Return how many workers read exactly what another one did."""
    seen: dict[tuple[int, ...], int] = {}
    for stream in streams:
        seen[tuple(stream)] = seen.get(tuple(stream), 0) + 1
    return sum(times for stream, times in seen.items() if times > 1 and stream)


def _examples_alike(epochs: Sequence[Mapping[Any, int]]) -> int:
    """Return how many examples were compared, if all of them are the same; else 0."""
    if len(epochs) < 2:
        return 0
    first, second = epochs[0], epochs[1]
    common = first.keys() & second.keys()
    if not common or any(first[place] != second[place] for place in common):
        return 0
    return len(common)

"""Say whether random fields are random: from worker to worker, from epoch to epoch.

Pure: digests in, cautions out. A generator that was made before the workers started is
cloned into each of them: all then draw the same numbers, and ordinary epochs do not
show it, since every worker gets other ids. So all workers are given the same ids once,
and what they read must differ.
"""

from collections.abc import Mapping, Sequence

from autoloader.values.outcome import Finding

Digests = Sequence[int]
"""Digest of each example, all fields, in the order of the ids."""

_CAUSE = (
    "usual cause: a generator of its own (np.random.default_rng, random.Random, "
    "torch.Generator) made before the workers start; make it in worker_init_fn"
)


def judge_randomness(
    by_worker: Mapping[int, Digests], epochs: Sequence[Mapping[object, int]]
) -> list[Finding]:
    """Return cautions for random fields that repeat.

    Args:
        by_worker: for each worker what it read of the same ids.
        epochs: for each epoch the digest of each example, by its place in the epoch.
    """
    found = []
    twins = _workers_alike(list(by_worker.values()))
    if twins:
        found.append(
            Finding(
                code="streams_identical",
                count=twins,
                message=f"{twins} of {len(by_worker)} workers draw the same numbers",
                hint=_CAUSE,
            )
        )
    same = _examples_alike(epochs)
    if same:
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


def _workers_alike(streams: list[Digests]) -> int:
    """Return how many workers read exactly what another one did."""
    seen: dict[tuple[int, ...], int] = {}
    for stream in streams:
        seen[tuple(stream)] = seen.get(tuple(stream), 0) + 1
    return sum(times for stream, times in seen.items() if times > 1 and stream)


def _examples_alike(epochs: Sequence[Mapping[object, int]]) -> int:
    """Return how many examples were compared, if all of them are the same; else 0."""
    if len(epochs) < 2:
        return 0
    first, second = epochs[0], epochs[1]
    common = first.keys() & second.keys()
    if not common or any(first[place] != second[place] for place in common):
        return 0
    return len(common)

"""Ask a stream what it does in a worker, before any worker reads it.

The process says that it is a worker: whether it then shuffles, or makes other batches,
decides how trials can be compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from autoloader.child.digest import DigestPlan
from autoloader.child.seeding import seed_all
from autoloader.child.stream import (
    StreamLimits,
    StreamPass,
    as_worker,
    ledger_of,
    read_pass,
)
from autoloader.errors import DatasetError

if TYPE_CHECKING:
    from autoloader.child.loader import LoaderParts
    from autoloader.child.stages import StageBoard
    from autoloader.values.scope import ScopeRequest

PROBED_WHOLE = 4096
"""Rows that one process reads, to see whether a worker's are among them."""

PROBED = 32
"""Examples of two workers' shares that are read under two seeds."""


def batches_by_share(parts: LoaderParts, whole: StreamPass, board: StageBoard) -> bool:
    """Whether the stream makes batches of its own, of each worker's share.

    It does where what worker 0 of 2 begins with is no element that one process reads,
    although most of its rows are.
    """
    dataset = parts.dataset
    begin = getattr(parts.loader, "worker_init_fn", None)

    def read(workers: int, examples: int, *, by_rows: bool) -> set[int]:
        limits = StreamLimits(examples=examples, seconds=None, by_rows=by_rows)
        seed = torch.initial_seed()
        with as_worker(dataset, 0, workers, seed, begin):
            found = read_pass(dataset, limits, board, needs_worker=False)
        return set(ledger_of(found, DigestPlan()).fixed.tolist())

    try:
        share = read(2, PROBED, by_rows=False)
        rows = read(2, PROBED, by_rows=True)
        all_rows = read(1, PROBED_WHOLE, by_rows=True)
    except DatasetError:
        return False
    elements = set(ledger_of(whole, DigestPlan()).fixed.tolist())
    return 2 * len(share & elements) < len(share) and 2 * len(rows & all_rows) >= len(
        rows
    )


def keeps_order_as_worker(
    dataset: Any, plan: DigestPlan, board: StageBoard, request: ScopeRequest
) -> bool:
    """Whether a worker's share keeps its order, whatever the worker's seed is.

    Some streams shuffle in workers only, by the seed that they are given there. It is
    asked where a trial may be cut: a whole epoch is compared without its order. A share
    that goes on instead of beginning anew is no shuffled one; trials will show it.
    """
    limits = StreamLimits(examples=PROBED, seconds=request.time_limit_s * 0.05)

    def read(worker: int, seed: int) -> list[int]:
        seed_all(seed)
        with as_worker(dataset, worker, 2, seed):
            found = read_pass(dataset, limits, board, needs_worker=False)
        fixed: list[int] = ledger_of(found, plan).fixed.tolist()
        return fixed

    try:
        for worker in range(2):
            one, other = (read(worker, request.seed + at) for at in range(2))
            if _is_in_place(one, other):
                continue
            if set(one) & set(other) or _is_in_place(one, read(worker, request.seed)):
                return False
    except DatasetError:
        return True  # the trials will say so
    return True


def _is_in_place(one: list[int], other: list[int]) -> bool:
    """Whether two readings, of which one may be longer, mostly agree."""
    pairs = list(zip(one, other, strict=False))
    return 2 * sum(a == b for a, b in pairs) >= len(pairs)

"""The probe: whether a loader comes to its end over a few examples, and nothing more.

What makes a loader fail is narrowed with it, one probe after the other; data is not
compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.child.loader import ListSampler
from autoloader.child.lost_words import keep_lost_words
from autoloader.child.stages import Stage

if TYPE_CHECKING:
    from autoloader.child.context import TrialContext


def probe_pass(context: TrialContext) -> dict[str, Any]:
    """Read the epochs that were ordered; return how many batches came."""
    entries = context.entries()
    sampler = None if entries is None else ListSampler(entries)
    loader = context.build(context.order.config, sampler)
    keep_lost_words()
    board, batches = context.board, 0
    for epoch in range(context.order.epochs):
        board.enter(Stage.STARTING_WORKERS)
        context.calls.begin(epoch)
        for place, _batch in enumerate(loader):
            if place == 0:
                board.enter(Stage.LOADING)
            board.advance()
            batches += 1
    board.enter(Stage.SHUTTING_DOWN)
    del loader
    return {"batches": batches}

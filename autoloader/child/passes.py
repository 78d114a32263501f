"""The passes of a trial, each in a process of its own: which is which, and the share.

The gate's pass is `child.gate`, the timed one `child.timing`, those with the training
step `child.stepping`, the one with the transfer `child.transferring`, the probe
`child.probing`, the one that weighs `child.weighing`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from autoloader.child.ceiling import ceiling_pass
from autoloader.child.gate import gate_pass, note_suspects
from autoloader.child.probing import probe_pass
from autoloader.child.stages import Stage
from autoloader.child.stepping import consumer_pass, step_pass
from autoloader.child.stream import StreamLimits, as_worker, ledger_of, read_pass
from autoloader.child.timing import timed_pass
from autoloader.child.transferring import transfer_pass
from autoloader.child.weighing import memory_pass

if TYPE_CHECKING:
    from autoloader.child.context import TrialContext


def run_pass(context: TrialContext) -> dict[str, Any]:
    """Run the pass that was ordered and return its result as a message.

    Raises:
        RankLost: one of the ranks that it begins with has ended.
    """
    if context.order.kind in {"gate", "probe"}:
        note_suspects(context)
    context.meeting.join()
    match context.order.kind:
        case "ceiling":
            return ceiling_pass(context)
        case "gate":
            return gate_pass(context)
        case "timed":
            return timed_pass(context)
        case "memory":
            return memory_pass(context)
        case "probe":
            return probe_pass(context)
        case "step":
            return step_pass(context)
        case "consumer":
            return consumer_pass(context)
        case "transfer":
            return transfer_pass(context)
        case "share":
            return share_pass(context)
        case other:
            msg = f"no pass is called {other!r}"
            raise ValueError(msg)


def share_pass(context: TrialContext) -> dict[str, Any]:
    """Read what one worker's share of a stream begins with, and write its ledger."""
    order = context.order
    torch.set_num_threads(1)
    context.board.enter(Stage.READING)
    most = (context.most_batches() or 0) * context.size
    limits = StreamLimits(
        examples=max(most, order.examples),
        seconds=None,
        by_rows=context.facts.by_rows,
    )
    dataset = context.parts.dataset
    begin = getattr(context.parts.loader, "worker_init_fn", None)
    workers, seed = order.config.num_workers, context.scope.seed
    context.calls.begin(order.share_epoch)
    with as_worker(dataset, order.share, workers, seed, begin):
        found = read_pass(dataset, limits, context.board, needs_worker=False)
    ledger_of(found, context.plan()).write(Path(order.logs))
    return {"examples": len(found)}

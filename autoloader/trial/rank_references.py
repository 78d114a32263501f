"""Read the reference of all ranks, and what each of them has to read of it.

A list is dealt out by PyTorch's own sampler when it is read (`child.sharing`). How a
stream is shared is its own affair: it is read once more for each rank, alone, and the
shares are held against the whole before any trial.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from autoloader.audit.ledger import ReferenceLedger, ScopeList
from autoloader.audit.ranks import judge_stream_shares
from autoloader.audit.reference_files import rank_folder, ranks_folder
from autoloader.errors import AutoloaderError, DatasetError
from autoloader.files import refusals_named
from autoloader.trial.ranked import RankedRunner, free_port
from autoloader.trial.reference import read_reference as read_alone
from autoloader.trial.runner import ProcessRunner
from autoloader.values.ranks import RankPlace, scope_of_rank, share_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from autoloader.trial.child import Tick
    from autoloader.values.job import Reference, ReferenceOrder
    from autoloader.values.scope import ScopeRequest, SourceSpec

_OF_A_LIST = ("scope.json", "scope_ids.npy", "scope_places.npy")
"""What of a reference a rank has of its own."""

_LOGS = ("stage", "stdout.txt", "stderr.txt")


def read_reference(
    order: ReferenceOrder,
    *,
    logs: Path,
    tmp: Path,
    hang_after_s: float | None = None,
    on_tick: Tick | None = None,
) -> Reference:
    """Return what one process reads, and what each rank has of it where there are some.

    Args:
        order: what is read.
        logs: where processes print.
        tmp: short path that becomes their TMPDIR.
        hang_after_s: what the user says; None: nothing.
        on_tick: told stage and count.

    Raises:
        UsageError: the SPEC names no dataset, or a flag does not fit it.
        DatasetError: the dataset fails by itself, or a stream is not shared by ranks.
        StoredFileError: the disk refuses what is to be kept of it.
    """
    how: dict[str, Any] = {
        "tmp": tmp,
        "hang_after_s": hang_after_s,
        "on_tick": on_tick,
    }
    if order.ranks == 1:
        return read_alone(order, logs=logs, **how)
    begun, port = time.monotonic(), free_port()
    alone = RankPlace(rank=0, ranks=1, port=port)
    whole = read_alone(order, logs=logs, place=alone, **how)
    if whole.scope.stream is None:
        found = tuple(_of_list(whole, order, rank) for rank in range(order.ranks))
    else:
        shutil.rmtree(ranks_folder(Path(order.folder)), ignore_errors=True)
        found = tuple(
            _of_stream(
                whole, order, RankPlace(rank=at, ranks=order.ranks, port=port), how
            )
            for at in range(order.ranks)
        )
        _check_shares(whole, found)
    return replace(whole, of_ranks=found, seconds=time.monotonic() - begun)


def runner_of(
    source: SourceSpec, reference: Reference, **others: Any
) -> ProcessRunner | RankedRunner:
    """Return what runs passes: of one training process, or of all ranks at once.

    Args:
        source: the user's SPEC.
        reference: what is right.
        others: as `ProcessRunner` takes them.
    """
    if reference.of_ranks:
        return RankedRunner(source, reference, **others)
    return ProcessRunner(source, reference, **others)


def _of_list(whole: Reference, order: ReferenceOrder, rank: int) -> Reference:
    """Return the reference of a rank, which has its own list and all ledgers."""
    folder = rank_folder(Path(order.folder), rank)
    with refusals_named(folder):
        for path in Path(order.folder).iterdir():
            kept = (*_OF_A_LIST, *_LOGS, ranks_folder(Path(order.folder)).name)
            if path.name not in kept:
                (folder / path.name).symlink_to(Path("..", "..", path.name))
    listed = ScopeList.read(folder)
    scope = scope_of_rank(
        whole.scope,
        order.ranks,
        examples=len(listed.places),
        distinct=len(np.unique(np.asarray(listed.places))),
    )
    return replace(whole, scope=scope, folder=str(folder), cautions=())


def _of_stream(
    whole: Reference, order: ReferenceOrder, place: RankPlace, how: Mapping[str, Any]
) -> Reference:
    """Read what one rank has of a stream, in a process that is told which it is."""
    folder = rank_folder(Path(order.folder), place.rank)
    with refusals_named(folder):
        folder.mkdir(parents=True, mode=0o700)
    share = replace(
        order,
        folder=str(folder),
        request=_request_of_rank(order.request, whole, place.ranks),
        profiled=False,
        ranks=1,
    )
    try:
        return read_alone(share, logs=folder, place=place, **how)
    except AutoloaderError as exc:
        exc.put_before(f"rank {place.rank}")
        raise


def _request_of_rank(
    request: ScopeRequest, whole: Reference, ranks: int
) -> ScopeRequest:
    scope, epoch = whole.scope, request.epoch_examples
    is_complete = scope.stream is not None and scope.stream.is_complete
    return replace(
        request,
        examples="all" if is_complete else share_of(scope.examples, ranks),
        epoch_examples=None if epoch is None else share_of(epoch, ranks),
    )


def _check_shares(whole: Reference, shares: tuple[Reference, ...]) -> None:
    """Refuse a stream of which ranks do not read different parts, and all of it.

    Raises:
        DatasetError: examples come to several ranks, or to none.
    """
    stream = whole.scope.stream
    found = judge_stream_shares(
        _digests(whole),
        [_digests(item) for item in shares],
        is_whole=stream is not None and stream.is_complete,
    )
    if found is not None:
        raise DatasetError(found.sentence, hint=found.hint)


def _digests(reference: Reference) -> NDArray[np.uint64]:
    """Return what tells examples apart: the id that the user named, else content."""
    ledger = ReferenceLedger.read(Path(reference.folder))
    return ledger.fixed if ledger.id is None else ledger.id

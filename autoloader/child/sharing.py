"""Deal the scope's list out to ranks, by PyTorch's own DistributedSampler.

What one process reads is all of it: a sampler of the user's that deals out already is
set to one replica first. Which examples the scope has is `child.choosing`'s.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from torch.utils.data import DistributedSampler

from autoloader.audit.ledger import ScopeList
from autoloader.audit.reference_files import make_folder, rank_folder, ranks_folder
from autoloader.audit.scope_list import compact
from autoloader.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autoloader.child.loader import LoaderParts


def make_whole(parts: LoaderParts) -> None:
    """Let samplers of the user's loader yield what all ranks read together.

    Raises:
        UsageError: a sampler deals out to ranks, and is none of PyTorch's.
    """
    for sampler in _samplers(parts):
        if isinstance(sampler, DistributedSampler):
            sampler.num_replicas, sampler.rank = 1, 0
            sampler.num_samples = sampler.total_size = len(sampler.dataset)  # type: ignore[arg-type]  # torch: Dataset, which need not be Sized
        elif (replicas := getattr(sampler, "num_replicas", 1)) not in {None, 1}:
            name = type(sampler).__name__
            msg = f"{name} deals examples out to {replicas} ranks by itself"
            hint = (
                "with --ranks it has to yield all of them where WORLD_SIZE is 1, as "
                f"DistributedSampler does: {name}(..., num_replicas=1, rank=0)"
            )
            raise UsageError(msg, hint=hint)


def leaves_out_rest(parts: LoaderParts) -> bool:
    """Whether the user's DistributedSampler drops what does not go round."""
    return any(
        isinstance(sampler, DistributedSampler) and sampler.drop_last
        for sampler in _samplers(parts)
    )


def write_shares(folder: Path, listed: ScopeList, ranks: int, *, drops: bool) -> None:
    """Write the list of each rank beside the scope's.

    Batches that a sampler of the user's own made are dealt out whole.

    Args:
        folder: that the reference writes.
        listed: what all ranks read together.
        ranks: how many there are.
        drops: whether what does not go round is left out; else some come twice.

    Raises:
        UsageError: a rank would have nothing.
        StoredFileError: the disk refuses.
    """
    shutil.rmtree(ranks_folder(folder), ignore_errors=True)
    make_folder(ranks_folder(folder))
    for rank in range(ranks):
        share = _share(listed, rank, ranks, drops=drops)
        if not len(share.places):
            what = "examples" if listed.cuts is None else "batches"
            have = len(listed.places if listed.cuts is None else listed.cuts)
            msg = f"{ranks} ranks have nothing to share: there are {have} {what}"
            raise UsageError(msg, hint="raise --examples, or lower --ranks")
        make_folder(rank_folder(folder, rank))
        share.write(rank_folder(folder, rank))


def _share(listed: ScopeList, rank: int, ranks: int, *, drops: bool) -> ScopeList:
    """Return the list of one rank, over the same table of ids."""
    if listed.cuts is None:
        dealt = _dealt(len(listed.places), rank, ranks, drops=drops)
        return ScopeList(listed.ids, compact(listed.places_at(dealt)))
    whole = listed.batches(len(listed.places))
    batches = [whole[at] for at in _dealt(len(whole), rank, ranks, drops=drops)]
    entries = [entry for batch in batches for entry in batch]
    cuts = [len(batch) for batch in batches]
    return ScopeList(listed.ids, compact(listed.places_at(entries)), cuts)


def _dealt(count: int, rank: int, ranks: int, *, drops: bool) -> list[int]:
    """Return which of `count` a rank is given by PyTorch."""
    if drops and count < ranks:
        return []
    order: Any = range(count)
    return list(
        DistributedSampler(
            order, num_replicas=ranks, rank=rank, shuffle=False, drop_last=drops
        )
    )


def _samplers(parts: LoaderParts) -> Iterator[Any]:
    """Yield what may deal out: sampler, batch sampler, and what that one wraps."""
    loader = parts.loader
    if loader is None or parts.is_iterable:
        return
    found = (
        loader.sampler,
        loader.batch_sampler,
        getattr(loader.batch_sampler, "sampler", None),
    )
    yield from {id(item): item for item in found if item is not None}.values()

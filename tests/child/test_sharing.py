"""The scope's list is dealt out by PyTorch, and what a rank has is written."""

from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    Sampler,
    SequentialSampler,
)

from autoloader.audit.ledger import ScopeList
from autoloader.audit.reference_files import rank_folder
from autoloader.child.loader import LoaderParts
from autoloader.child.sharing import leaves_out_rest, make_whole, write_shares
from autoloader.errors import UsageError
from tests.datasets import Honest, Stream


class DealsOut(Sampler[int]):
    """Knows ranks, and is none of PyTorch's samplers."""

    def __init__(self, num_replicas: int) -> None:
        self.num_replicas = num_replicas

    def __iter__(self) -> Any:
        """Return the indices of one rank."""
        return iter(range(0, 100, self.num_replicas))


def shares(folder: Path, ranks: int) -> list[list[Any]]:
    """Return the ids of each rank."""
    lists = [ScopeList.read(rank_folder(folder, rank)) for rank in range(ranks)]
    return [found.indices(range(len(found.places))) for found in lists]


def test_entries_are_dealt_out_in_turns_and_padded(tmp_path: Path) -> None:
    """Each rank has equally many: the first entries come twice."""
    write_shares(tmp_path, ScopeList.of([9, 8, 7, 6, 5]), 2, drops=False)

    assert shares(tmp_path, 2) == [[9, 7, 5], [8, 6, 9]]


def test_what_does_not_go_round_can_be_left_out(tmp_path: Path) -> None:
    """As DistributedSampler(drop_last=True) does; an earlier deal is forgotten."""
    write_shares(tmp_path, ScopeList.of([9, 8, 7, 6, 5]), 3, drops=False)

    write_shares(tmp_path, ScopeList.of([9, 8, 7, 6, 5]), 2, drops=True)

    assert shares(tmp_path, 2) == [[9, 7], [8, 6]]
    assert not rank_folder(tmp_path, 2).exists()


def test_lists_of_a_batch_sampler_are_dealt_out_whole(tmp_path: Path) -> None:
    """With their lengths."""
    listed = ScopeList.of([1, 2, 3, 4, 5], [2, 2, 1])

    write_shares(tmp_path, listed, 2, drops=False)

    assert shares(tmp_path, 2) == [[1, 2, 5], [3, 4, 1, 2]]
    assert ScopeList.read(rank_folder(tmp_path, 0)).cuts == [2, 1]


def test_more_ranks_than_there_is_to_share_are_refused(tmp_path: Path) -> None:
    """Where nothing may come twice."""
    with pytest.raises(UsageError) as caught:
        write_shares(tmp_path, ScopeList.of([1, 2]), 4, drops=True)

    assert caught.value.message == (
        "4 ranks have nothing to share: there are 2 examples"
    )
    assert caught.value.hint == "raise --examples, or lower --ranks"


@pytest.mark.parametrize("is_inside", [False, True])
def test_a_distributed_sampler_yields_all_to_one_process(is_inside: bool) -> None:
    """Whatever rank it was made for, and inside of a batch sampler too."""
    dataset = Honest()
    sampler: Any = DistributedSampler(
        dataset, num_replicas=4, rank=3, shuffle=False, drop_last=True
    )
    loader: DataLoader[Any] = (
        DataLoader(dataset, batch_sampler=BatchSampler(sampler, 8, drop_last=False))
        if is_inside
        else DataLoader(dataset, sampler=sampler)
    )
    parts = LoaderParts.of(loader)

    make_whole(parts)

    assert list(sampler) == list(range(len(dataset)))
    assert leaves_out_rest(parts)


def test_a_sampler_that_deals_out_by_itself_is_refused() -> None:
    """What one process must read cannot be told from it."""
    with pytest.raises(UsageError) as caught:
        make_whole(LoaderParts.of(DataLoader(Honest(), sampler=DealsOut(4))))

    assert caught.value.message == "DealsOut deals examples out to 4 ranks by itself"
    assert caught.value.hint == (
        "with --ranks it has to yield all of them where WORLD_SIZE is 1, as "
        "DistributedSampler does: DealsOut(..., num_replicas=1, rank=0)"
    )


def test_samplers_that_know_nothing_of_ranks_stay_as_they_are() -> None:
    """And one that has a single replica; a stream has none."""
    plain = LoaderParts.of(DataLoader(Honest(), sampler=SequentialSampler(Honest())))

    for parts in (
        plain,
        LoaderParts.of(Honest()),
        LoaderParts.of(DataLoader(Stream())),
        LoaderParts.of(DataLoader(Honest(), sampler=DealsOut(1))),
    ):
        make_whole(parts)
        assert not leaves_out_rest(parts)

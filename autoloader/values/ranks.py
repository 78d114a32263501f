"""Which of several training processes of one machine a process is.

PyTorch calls them ranks. What launchers tell a rank stands in its environment; here is
what children are told, by the same names. Starts no process.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from autoloader.values.scope import Scope

RANKED = "AUTOLOADER_RANKED"
"""Is set in children that stand for ranks: they have a process group."""

OF_LAUNCHERS = (
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "ROLE_NAME",
    "ROLE_RANK",
    "ROLE_WORLD_SIZE",
)
"""What a launcher such as `torchrun` sets in each process that it starts."""

OF_ELASTIC = "TORCHELASTIC_"
"""How all else begins that `torchrun` sets for itself."""

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPlace:
    """One training process among those of its machine."""

    rank: int
    """Its number, from 0."""
    ranks: int
    """How many there are."""
    port: int
    """What `MASTER_PORT` says; a group of the user's own may use it."""

    def environment(self) -> dict[str, str]:
        """Return the variables that a launcher sets, for this rank."""
        return {
            "RANK": str(self.rank),
            "LOCAL_RANK": str(self.rank),
            "WORLD_SIZE": str(self.ranks),
            "LOCAL_WORLD_SIZE": str(self.ranks),
            "MASTER_ADDR": LOOPBACK,
            "MASTER_PORT": str(self.port),
            RANKED: "1",
        }

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "RankPlace | None":
        """Return the place of this child; None where it stands for no rank."""
        if RANKED not in environment:
            return None
        return cls(
            rank=int(environment["RANK"]),
            ranks=int(environment["WORLD_SIZE"]),
            port=int(environment["MASTER_PORT"]),
        )


def share_of(count: int, ranks: int) -> int:
    """Return how many of `count` a rank has, where all have equally many."""
    return -(-count // ranks)


def scope_of_rank(scope: Scope, ranks: int, *, examples: int, distinct: int) -> Scope:
    """Return the scope of one rank of a list that is dealt out.

    Args:
        scope: of all ranks together.
        ranks: how many there are.
        examples: entries of its share.
        distinct: different ids among them.
    """
    of, epoch = scope.of, scope.epoch_examples
    if examples == scope.examples:
        return scope
    whole = scope.examples == of
    return replace(
        scope,
        examples=examples,
        distinct=distinct,
        of=None if of is None else examples if whole else share_of(of, ranks),
        epoch_examples=_epoch_of_rank(scope, ranks, examples, epoch),
    )


def _epoch_of_rank(
    scope: Scope, ranks: int, examples: int, epoch: int | None
) -> int | None:
    """Return the length of a rank's epoch: its share, where the scope is the epoch."""
    if epoch is None:
        return None
    return examples if epoch == scope.examples else share_of(epoch, ranks)

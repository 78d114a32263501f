"""Watch random fields in a gate pass: keep digests by epoch, and probe the workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.child.recorder import record

if TYPE_CHECKING:
    from torch.utils.data import DataLoader

    from autoloader.child.digest import DigestPlan
    from autoloader.child.recorder import Carried

KEPT = 512
"""Examples an epoch whose digests are kept for comparison with the next."""


class RandomnessWatch:
    """Keeps what tells whether random fields repeat."""

    def __init__(self) -> None:
        self._epochs: dict[int, dict[str, int]] = {}

    def note(self, carried: Carried) -> None:
        """Keep the digests of a batch's examples, up to a bound."""
        kept = self._epochs.setdefault(carried.epoch, {})
        for slot, example in enumerate(carried.examples):
            if len(kept) < KEPT:
                kept[f"{carried.place}/{slot}"] = example.full

    def to_dict(self, by_worker: dict[int, list[int]]) -> dict[str, Any]:
        """Return what was kept, as a message.

        Args:
            by_worker: what each worker read of the same ids.
        """
        return {
            "by_worker": [[worker, digests] for worker, digests in by_worker.items()],
            "epochs": [self._epochs[epoch] for epoch in sorted(self._epochs)],
        }


def probe_workers(loader: DataLoader[Any], plan: DigestPlan) -> dict[int, list[int]]:
    """Return the digests that each worker reads of the same ids.

    Args:
        loader: a fresh one, since kept workers have drawn different amounts already,
            over an index list in which each worker finds the same batches.
        plan: which fields are random.
    """
    record(loader, plan)
    found: dict[int, list[int]] = {}
    for carried in loader:
        digests = [example.full for example in carried.examples]
        found.setdefault(carried.worker, []).extend(digests)
    return found

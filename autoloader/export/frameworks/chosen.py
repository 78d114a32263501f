"""What was chosen, as each framework's module is handed it: settings, and their scope.

Read from a recommendation, whose evidence nobody has checked: what is not there, or is
something else, is taken as not known. How a framework calls things is not told here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

if TYPE_CHECKING:
    from autoloader.export.recommendation import Recommendation


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The settings of a recommendation, and what decides how they are handed on."""

    dataset: str
    """SPEC of the dataset that was tuned."""
    num_workers: int
    """Worker processes of a loader; 0 loads in the training process."""
    prefetch_factor: int | None
    """Batches that each worker prepares ahead; None without workers."""
    pin_memory: bool
    """Whether batches are copied to page-locked memory."""
    persistent_workers: bool
    """Whether workers are kept from epoch to epoch."""
    batch_size: int | None
    """Examples a batch of one training process; None where `batching` is another."""
    batching: Literal["size", "lists", "single"]
    """How the tuned loader made its batches: of a size; as lists by a batch_sampler of
    the user's own; or not at all, since the dataset makes them."""
    is_batch_size_searched: bool
    """Whether other batch sizes were allowed. One that was not is the user's own."""
    is_stream: bool
    """Whether it is an IterableDataset."""
    ranks: int
    """Training processes of a node that share it, by which the target was divided."""
    is_met: bool
    """Whether the target was shown to be met."""
    asked: str | None
    """The target in words; None where the file does not tell."""

    @classmethod
    def of(cls, recommendation: Recommendation) -> Self:
        """Return what a recommendation says."""
        config, settings = recommendation.config, recommendation.settings
        if "batch_size" not in settings:
            batching: Literal["size", "lists", "single"] = "lists"
        else:
            batching = "single" if config.batch_size is None else "size"
        data = recommendation.data
        sizes = _at(data, "study", "space", "batch_size")
        asked = _at(data, "target", "asked")
        return cls(
            dataset=data["dataset"],
            num_workers=config.num_workers,
            prefetch_factor=config.prefetch_factor,
            pin_memory=config.pin_memory,
            persistent_workers=config.persistent_workers,
            batch_size=config.batch_size,
            batching=batching,
            is_batch_size_searched=isinstance(sizes, list) and len(sizes) > 1,
            is_stream=_at(data, "scope", "stream") is not None,
            ranks=data["target"].get("ranks", 1),
            is_met=recommendation.is_met,
            asked=asked if isinstance(asked, str) else None,
        )

    def dataloader_kwargs(self) -> dict[str, Any]:
        """Return what `DataLoader` takes; beside a batch_sampler it takes no size.

        Where there are no workers, what needs some is left out.
        """
        size = {} if self.batching == "lists" else {"batch_size": self.batch_size}
        return {**size, **self.worker_kwargs()}

    def worker_kwargs(self) -> dict[str, Any]:
        """Return the same without the batch size."""
        kwargs: dict[str, Any] = {"num_workers": self.num_workers}
        if self.num_workers:
            kwargs["prefetch_factor"] = self.prefetch_factor
        kwargs["pin_memory"] = self.pin_memory
        if self.num_workers:
            kwargs["persistent_workers"] = self.persistent_workers
        return kwargs


def _at(data: object, *path: str) -> Any:
    """Return what stands at a path of nested mappings; None where nothing does."""
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data

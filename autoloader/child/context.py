"""What a pass works on: its order, the dataset, the scope, and loaders over them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.audit.epoch_order import in_order, orders_of_pass
from autoloader.audit.ledger import ScopeList
from autoloader.child.digest import DigestPlan
from autoloader.child.loader import ListSampler
from autoloader.child.pickling import unpicklable_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch.utils.data import DataLoader

    from autoloader.child.epochs import EpochCalls
    from autoloader.child.loader import LoaderParts
    from autoloader.child.meeting import Meeting
    from autoloader.child.stages import StageBoard
    from autoloader.child.stepping import NamedStep
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import PassOrder
    from autoloader.values.scope import DatasetFacts, Scope


@dataclass(frozen=True, slots=True)
class TrialContext:
    """What a pass works on."""

    order: PassOrder
    parts: LoaderParts
    facts: DatasetFacts
    scope: Scope
    board: StageBoard
    host_pid: int | None
    """Process that shares its pages with the trial; None where it was not forked."""
    calls: EpochCalls
    """What training calls before each epoch."""
    threads_of_imports: int
    """Threads that a process has once the user's module is imported."""
    meeting: Meeting
    """Where all ranks wait for each other; one that is alone never waits."""
    step: NamedStep | None = None
    """The training step; None: there is none."""

    @property
    def size(self) -> int:
        """Examples a batch; 1 where the dataset makes batches itself."""
        return self.order.config.batch_size or 1

    def loader(self, indices: Sequence[Any] | None) -> DataLoader[Any]:
        """Return a loader over these indices; a stream has none."""
        sampler = None if indices is None else ListSampler(indices)
        return self.build(self.order.config, sampler)

    def build(
        self, config: LoaderConfig, sampler: ListSampler | None
    ) -> DataLoader[Any]:
        """Return a loader of another config, its workers started as was asked for."""
        method = self.scope.start_method
        return self.parts.build(config, sampler, start_method=method)

    def unpicklable(self) -> tuple[str, str] | None:
        """Return what cannot be sent to spawned workers; None where nothing is sent."""
        if self.facts.start_method == "fork":
            return None
        loader = self.parts.loader
        sent = {
            "dataset": self.parts.dataset,
            "collate_fn": getattr(loader, "collate_fn", None),
            "worker_init_fn": getattr(loader, "worker_init_fn", None),
        }
        for name, value in sent.items():
            found = unpicklable_path(value, name)
            if found is not None:
                return found
        return None

    def entries(self) -> list[Any] | None:
        """Return the indices that one epoch of a gate or memory pass reads.

        None for a stream, which is read from its start.
        """
        if self.scope.stream is not None:
            return None
        listed = ScopeList.read(Path(self.order.reference))
        if self.order.places is not None:
            return self._at(listed, self.order.places)
        if listed.cuts is not None:
            return self._fed(listed, listed.batches(self.order.examples))
        positions = self.scope.gate_positions(self.size, self.order.examples)
        return listed.indices(positions)

    def _at(self, listed: ScopeList, places: Sequence[int]) -> list[Any]:
        """Return what the user's kind of loader is fed of these places of the list."""
        if listed.cuts is None:
            return listed.indices(places)
        wanted = set(places)
        cut = [
            [place for place in batch if place in wanted]
            for batch in listed.batches(len(listed.places))
        ]
        return self._fed(listed, [batch for batch in cut if batch])

    def lists(self, entries: Sequence[Any] | None) -> list[Sequence[Any]]:
        """Return an epoch's index lists; none for streams and single examples."""
        if entries is None or self.facts.batching == "single":
            return []
        if self.facts.batching == "lists":
            return list(entries)
        size = self.size
        cut = [entries[at : at + size] for at in range(0, len(entries), size)]
        if self.scope.drop_last and len(cut[-1]) < size:
            cut.pop()
        return cut

    def epochs(self, entries: Sequence[Any]) -> Iterator[list[Any]]:
        """Yield what each epoch of a gate pass reads, of the entries of the first."""
        is_listed = self.facts.batching == "lists"
        if self.facts.batching == "single":
            lengths = [1] * len(entries)
        else:
            lengths = [len(batch) for batch in self.lists(entries)]
        flat = [index for batch in entries for index in batch] if is_listed else entries
        for order in orders_of_pass(lengths, self.order, self.scope, self.facts):
            found = in_order(flat, order)
            if is_listed:
                left = iter(found)
                yield [list(islice(left, length)) for length in lengths]
            else:
                yield found

    def epoch(self) -> list[Any] | None:
        """Return what a whole epoch is fed; None for a stream.

        That is the scope's list; of one that is a part of an epoch, the list repeated
        until it is as long as one.
        """
        length = self.scope.epoch_examples
        if self.scope.stream is not None or length is None:
            return None
        if self.facts.batching == "lists":
            length = max(1, round(length / self.facts.batch_examples))
        return self._repeated(length)

    def cycled(self, count: int) -> list[Any] | None:
        """Return `count` batches of the scope's list, repeated; None for a stream."""
        if self.scope.stream is not None:
            return None
        return self._repeated(count * self.size)

    def _repeated(self, count: int) -> list[Any]:
        """Return as many entries of what the loader is fed, from the first on."""
        listed = ScopeList.read(Path(self.order.reference))
        if listed.cuts is None:
            entries = listed.indices(range(len(listed.places)))
        else:
            entries = self._fed(listed, listed.batches(len(listed.places)))
        return (entries * -(-count // len(entries)))[:count]

    def _fed(self, listed: ScopeList, batches: list[list[int]]) -> list[Any]:
        """Return what the user's kind of loader is fed: lists, or single indices."""
        if self.facts.batching == "lists":
            return [listed.indices(batch) for batch in batches]
        return [index for batch in batches for index in listed.indices(batch)]

    def most_batches(self) -> int | None:
        """Return after how many batches an epoch of a stream is cut.

        None for a map-style dataset, which ends with its list. A stream that is known
        to its end is cut too, far behind it: workers that do not share it never end.
        """
        stream = self.scope.stream
        if stream is None:
            return None
        wanted = min(self.order.examples, self.scope.examples)
        size = self.size
        if self.facts.by_rows:
            size = max(1, int(self.facts.batch_examples))
        batches = -(-wanted // size)
        if stream.is_complete and self.order.examples >= self.scope.examples:
            workers = max(1, self.order.config.num_workers)
            return (batches + workers) * (workers + 1)
        return batches

    def plan(self) -> DigestPlan:
        """Return which fields count as what, as the reference found them."""
        return DigestPlan(
            random=frozenset(self.facts.random_fields),
            free_shapes=frozenset(self.facts.free_shapes),
            label=self.facts.label,
            id=self.facts.id,
            by_rows=self.facts.by_rows,
        )

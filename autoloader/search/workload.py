"""One simulated situation: a dataset, a machine, and what a user says of the space.

Turned into a table it can be replayed; the situations themselves are listed in
`search.workloads`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoloader.search.budget import REFERENCE_SHARE
from autoloader.search.simulated_answers import simulated_answers
from autoloader.search.space import Space, SpaceRequest
from autoloader.search.tables import Table
from autoloader.values.machine import Accelerator, Machine
from autoloader.values.scope import DatasetFacts, FieldFacts, Scope
from autoloader.values.target import MEMORY_SHARE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoloader.search.simulated import SimulatedLoader
    from autoloader.search.tables import Answer
    from autoloader.values.config import LoaderConfig

IMPORT_S = 3.0
"""Seconds of the reference before its first example: processes start and import."""

REREAD = 1.25
"""Times that the reference reads an example, on average."""

MEMORY_OF_A_CORE = 4 * 2**30
"""Bytes of memory that a simulated machine has for each core."""

_GPU = Accelerator(
    name="Simulated GPU", kind="cuda", memory_bytes=2**36, driver="simulated"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One simulated situation."""

    name: str
    """What its table is called."""
    about: str
    """What a search must find out about it."""
    loader: SimulatedLoader
    """What things cost; its cores are those of one rank."""
    examples: int
    """Length of an epoch."""
    batch_size: tuple[int, ...] = (64,)
    """Batch sizes that may be tried."""
    request: SpaceRequest = field(default_factory=SpaceRequest)
    """What else the user says of the space."""
    ranks: int = 1
    """Training processes on the machine."""
    memory_bytes: int | None = None
    """Memory budget of a rank; None: a share of the machine's."""
    baseline: LoaderConfig | None = None
    """The user's own settings."""
    has_accelerator: bool = False
    """Whether there is an accelerator, so that memory can be pinned."""

    def table(
        self,
        *,
        budget_s: float = 180.0,
        known: Mapping[LoaderConfig, Answer] | None = None,
    ) -> Table:
        """Return the table of all configs, simulated.

        Args:
            budget_s: of the studies, whose reference takes its share of it.
            known: answers of this workload that were simulated before.
        """
        machine, facts = self._machine(), self._facts()
        scope = self._scope(budget_s)
        space = Space.of(
            self._space_request(),
            facts=facts,
            scope=scope,
            machine=machine,
            ranks=self.ranks,
        )
        configs = dict.fromkeys(space.configs())
        if self.baseline is not None:
            configs.setdefault(self.baseline)
        answers = dict(known or {})
        if not answers.keys() >= configs.keys():
            answers |= simulated_answers(self.loader, configs, facts=facts, scope=scope)
        limit = int(machine.memory_available_bytes * MEMORY_SHARE) // self.ranks
        return Table(
            name=self.name,
            facts=facts,
            scope=scope,
            space=space,
            machine=machine,
            ranks=self.ranks,
            memory_bytes=self.memory_bytes or limit,
            reference_s=IMPORT_S + scope.examples * self.loader.example_s() * REREAD,
            answers={config: answers[config] for config in configs},
            loader=self.loader,
        )

    def _space_request(self) -> SpaceRequest:
        asked = self.request
        return SpaceRequest(
            num_workers=asked.num_workers,
            prefetch_factor=asked.prefetch_factor,
            pin_memory=asked.pin_memory,
            persistent_workers=asked.persistent_workers,
            batch_size=self.batch_size,
        )

    def _scope(self, budget_s: float) -> Scope:
        """Return as much as the reference reads in its share of the budget."""
        left_s = max(budget_s * REFERENCE_SHARE - IMPORT_S, 1.0)
        readable = int(left_s / (self.loader.example_s() * REREAD))
        examples = min(self.examples, max(readable, 2 * max(self.batch_size)))
        return Scope(
            examples=examples,
            distinct=examples,
            of=self.examples,
            epoch_examples=self.examples,
            order="shuffled",
            seed=0,
            transforms="fixed",
            drop_last=False,
        )

    def _facts(self) -> DatasetFacts:
        loader = self.loader
        pixels = FieldFacts(
            path="0",
            type="tensor",
            dtype="uint8",
            shape=(loader.example_bytes,),
            random=False,
        )
        return DatasetFacts(
            kind="map",
            name=self.name,
            length=self.examples,
            fields=(pixels,),
            label=None,
            baseline=None if self.baseline is None else self.baseline.to_dict(),
            batching="size",
            batch_examples=1.0,
            example_s=loader.example_s(),
            example_cpu_s=loader.example_cpu.mean_s,
            example_bytes=loader.example_bytes,
            tensors=1,
            start_method="fork",
            accelerator="cuda" if self.has_accelerator else None,
        )

    def _machine(self) -> Machine:
        cpus = self.loader.cores * self.ranks
        whole = max(1, -(-int(cpus * 100) // 100))
        memory = int(whole * MEMORY_OF_A_CORE)
        return Machine(
            cpu_model="Simulated CPU",
            logical_cpus=whole,
            affinity_cpus=whole,
            quota_cpus=None if cpus == whole else cpus,
            effective_cpus=min(float(whole), cpus),
            memory_total_bytes=memory,
            memory_limit_bytes=memory,
            memory_available_bytes=memory,
            shm_total_bytes=memory // 2,
            shm_free_bytes=memory // 2,
            open_files_limit=65_536,
            accelerators=(_GPU,) * self.ranks if self.has_accelerator else (),
            accelerator_note=None if self.has_accelerator else "none is simulated",
            system="Linux x86_64",
            kernel="6.1",
            python="3.11.7",
        )

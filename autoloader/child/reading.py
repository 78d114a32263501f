"""Read examples of a map-style dataset one at a time, and keep what they are and cost.

Tells fixed fields from random ones, and what changes that must not. Which examples are
read is `child.choosing`'s; what the findings mean is `child.reference`'s.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from autoloader.audit.contract_inference import ContractBuilder
from autoloader.audit.contract_watch import ContractWatch
from autoloader.audit.ledger import ReferenceLedger, SignatureTable
from autoloader.child.digest import DigestPlan, Leaf, leaves, name_of
from autoloader.child.labels import find_label, whole_number_at
from autoloader.child.seeding import seed_all
from autoloader.child.stages import Stage, StageBoard
from autoloader.errors import DatasetError
from autoloader.values.scope import FieldFacts, ScopeRequest

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from autoloader.audit.contract import Kinds
    from autoloader.child.access import AccessWatch
    from autoloader.child.assembly import Assembly
    from autoloader.child.epochs import EpochCalls
    from autoloader.child.units import UnitCounter

PROBED = 64
"""Examples read again under other seeds, to tell random fields from fixed ones."""

ROUNDS = 6
"""Readings of each example, at most, that tell whether it changes now and then."""

MOST_REREAD = 1024
"""Examples that are read so often."""

REREAD_SHARE = 0.05
"""Part of the reference's time that these readings may take."""

KEPT_BYTES = 256 << 20
"""Most bytes of whole examples that are kept, to put a batch together of them."""

COST_PROBE = 8
"""Examples whose cost decides how large the scope can be; the first is left out."""

UNSTABLE = (
    "the usual cause is a transform that edits a cached example in place; "
    "work on a copy"
)
"""Hint for an example that changes from reading to reading."""


def kinds_of(found: Sequence[Leaf]) -> Kinds:
    """Return what an example is made of, without content."""
    return tuple(
        (name_of(leaf.path), leaf.type, leaf.dtype, leaf.shape) for leaf in found
    )


def check_stable(
    random_names: Collection[str], label: str | None, transforms: str
) -> None:
    """Refuse fields that change between readings and must not.

    Raises:
        DatasetError: the label changes, or a field where the user says that none does.
    """
    if label is not None and any(
        name == label or name.startswith(f"{label}.") for name in random_names
    ):
        msg = f"reference_unstable: the label {label!r} changes between readings"
        raise DatasetError(msg, hint="name the true label with --label PATH")
    if random_names and transforms == "fixed":
        names = ", ".join(sorted(random_names)) or "the example"
        msg = f"reference_unstable: {names} changes between readings"
        raise DatasetError(msg, hint="--transforms random allows it")


@dataclass
class Reader:
    """Reads examples one at a time and keeps what they cost."""

    dataset: Any
    request: ScopeRequest
    board: StageBoard
    calls: EpochCalls
    assembly: Assembly
    """Is told what examples are made of."""
    access: AccessWatch
    """Is told when all examples are read."""
    units: UnitCounter
    """Counts in each example."""
    watches: list[ContractWatch] = field(default_factory=list)
    """What each reading of the scope said of the contract; empty without one."""
    label: str | None = None
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    kept: list[tuple[Any, Any]] = field(default_factory=list)
    """Id and example of a few, to put a batch together of."""
    builder: ContractBuilder = field(default_factory=ContractBuilder)
    """What all examples are made of."""
    shapes: dict[str, _Shape] = field(default_factory=dict)
    bytes_total: int = 0
    tensors: int = 0
    pairs: int = 0
    differing: int = 0

    def read(self, index: Any) -> Any:
        """Return one example, its cost noted.

        Raises:
            DatasetError: reading it raises.
        """
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            example = self.dataset[index]
        except Exception as exc:
            msg = (
                f"the dataset fails in one process: dataset[{index!r}] raises "
                f"{type(exc).__name__}: {exc}"
            )
            hint = "no DataLoader setting mends that; fix or leave out this example"
            if isinstance(exc, KeyError) and isinstance(index, int):
                hint = (
                    "it was asked by number, as PyTorch's own samplers do; a dataset "
                    "with other keys needs a sampler that yields them"
                )
            raise DatasetError(msg, hint=hint) from exc
        self.seconds.append(time.perf_counter() - wall)
        self.cpu_seconds.append(time.process_time() - cpu)
        self.board.advance()
        return example

    def probe_cost(self, drawn: Sequence[Any]) -> float:
        """Return the mean seconds of a few examples, the first (warm-up) left out."""
        self.board.enter(Stage.READING)
        seed_all(self.request.seed)
        for index in drawn[: COST_PROBE + 1]:
            self.read(index)
        taken = self.seconds[1:] or self.seconds
        cost_s = sum(taken) / len(taken)
        self._forget_cost()
        return cost_s

    def find_plan(self, ids: Sequence[Any], *, epochs: int) -> DigestPlan:
        """Read a part twice under different seeds; what differs is random.

        Args:
            ids: of the scope.
            epochs: how many epochs may have other content.

        Raises:
            DatasetError: the label or the structure changes, or `transforms` is fixed.
        """
        self.board.enter(Stage.READING_AGAIN)
        step = max(1, len(ids) // PROBED)
        part = [*ids[::step][: PROBED - 1], ids[-1]]
        random_names: set[str] = set()
        free_shapes: set[str] = set()
        for epoch in range(epochs):
            self.calls.begin_alone(epoch)
            self._compare(part, random_names, free_shapes, is_first=epoch == 0)
        if self.request.transforms != "fixed":
            self.calls.begin_alone(0)
            self._compare_more(ids, random_names, free_shapes)
        check_stable(random_names, self.label, self.request.transforms)
        self._forget_cost()
        return DigestPlan(
            random=frozenset(random_names),
            free_shapes=frozenset(free_shapes & random_names),
            label=self.label,
        )

    def _compare(
        self,
        part: Sequence[Any],
        random_names: set[str],
        free_shapes: set[str],
        *,
        is_first: bool,
    ) -> None:
        """Read some examples twice, and add what differs to the two sets."""
        seed_all(self.request.seed)
        first = [self._keep(index, self.read(index), is_first) for index in part]
        seed_all(self.request.seed + 1)
        second = [leaves(self.read(index)) for index in part]
        if is_first:
            whole = next((found for found in first if not _is_none(found)), first[0])
            self.label = find_label(whole, self.request.label)
            self.builder = ContractBuilder(self.label)
        for index, one, other in zip(part, first, second, strict=True):
            if [leaf.path for leaf in one] != [leaf.path for leaf in other]:
                msg = (
                    f"reference_unstable: example {index!r} has other fields each time"
                )
                raise DatasetError(msg, hint=UNSTABLE)
            self._note_pair(one, other, random_names, free_shapes)

    def _compare_more(
        self, ids: Sequence[Any], random_names: set[str], free_shapes: set[str]
    ) -> None:
        """Read on, round after round, as long as it is cheap: some change rarely."""
        listed = ids[:MOST_REREAD]
        deadline = time.monotonic() + REREAD_SHARE * self.request.time_limit_s
        known: list[list[Leaf]] = []
        for number in range(ROUNDS):
            seed_all(self.request.seed + 3 + number)
            for place, index in enumerate(listed):
                if time.monotonic() > deadline:
                    return
                found = leaves(self.read(index))
                if not number:
                    known.append(found)
                elif len(found) == len(known[place]):
                    self._note_pair(known[place], found, random_names, free_shapes)

    def _note_pair(
        self,
        one: Sequence[Leaf],
        other: Sequence[Leaf],
        random_names: set[str],
        free_shapes: set[str],
    ) -> None:
        """Add what differs between two readings of an example to the two sets."""
        differs = False
        for leaf, again in zip(one, other, strict=True):
            if leaf.shape != again.shape:
                free_shapes.add(name_of(leaf.path))
            if leaf.digest != again.digest:
                random_names.add(name_of(leaf.path))
                differs = True
        self.pairs += 1
        self.differing += differs

    @property
    def random_share(self) -> float:
        """Part of the pairs of readings that differed, 0-1."""
        return self.differing / max(1, self.pairs)

    def _keep(self, index: Any, example: Any, is_first: bool) -> list[Leaf]:
        """Return the leaves of an example; keep it whole where there is room."""
        found = leaves(example)
        if is_first:
            self.bytes_total += sum(leaf.size for leaf in found)
            if self.bytes_total <= KEPT_BYTES or len(self.kept) < 2:
                self.kept.append((index, example))
        return found

    def read_all(
        self, ids: Sequence[Any], plan: DigestPlan, *, epoch: int
    ) -> ReferenceLedger:
        """Read every id once, and a part once more at the end.

        Args:
            ids: of the scope.
            plan: which fields are random.
            epoch: whose content is read; the first one tells what examples cost.

        Raises:
            DatasetError: a fixed field changed from the first to the last reading.
        """
        self.calls.begin_alone(epoch)
        self.board.enter(Stage.READING)
        seed_all(self.request.seed)
        self.bytes_total = 0
        if self.request.contract is not None:
            self.watches.append(ContractWatch(self.request.contract))
        table = SignatureTable()
        count = len(ids)
        fixed, label = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
        signature = np.zeros(count, np.int64)
        taken = len(self.seconds)
        if not epoch:
            self.access.begin_pass()
        for place, index in enumerate(ids):
            example = self.read(index)
            found = leaves(example)
            self._note(index, example, found, epoch)
            digest = plan.digest_leaves(found)
            fixed[place], label[place] = digest.fixed, digest.label
            signature[place] = table.place(digest.signature)
        if not epoch:
            self.access.end_pass()
        self._read_again(ids, plan, fixed)
        if epoch:
            del self.seconds[taken:], self.cpu_seconds[taken:]
        return ReferenceLedger(fixed, label, signature, table.signatures)

    def _read_again(self, ids: Sequence[Any], plan: DigestPlan, fixed: Any) -> None:
        self.board.enter(Stage.READING_AGAIN)
        seed_all(self.request.seed + 2)
        chosen = random.Random(self.request.seed)  # noqa: S311  # a spread, no secret
        places = chosen.sample(range(len(ids)), min(PROBED // 4, len(ids)))
        kept = len(self.seconds)
        for place in places:
            digest = plan.digest(self.read(ids[place]))
            if digest.fixed != int(fixed[place]):
                msg = (
                    f"reference_unstable: example {ids[place]!r} changed from one "
                    "reading to the next in one process"
                )
                raise DatasetError(msg, hint=UNSTABLE)
        del self.seconds[kept:], self.cpu_seconds[kept:]

    def _note(self, index: Any, example: Any, found: list[Leaf], epoch: int) -> None:
        """Keep what an example is made of, and hold it against the contract."""
        kinds = kinds_of(found)
        label = None if self.label is None else whole_number_at(example, self.label)
        if self.watches:
            self.watches[-1].note(index, kinds, label)
        if epoch == 0:
            self.builder.note(index, kinds, label)
            self.assembly.note(index, kinds)
            self.units.count(index, example)
            self.access.look()
        self.bytes_total += sum(leaf.size for leaf in found)
        self.tensors = max(
            self.tensors, sum(leaf.type in {"tensor", "array"} for leaf in found)
        )
        for leaf in found:
            name = name_of(leaf.path)
            shape = self.shapes.setdefault(
                name, _Shape(leaf.type, leaf.dtype, leaf.shape)
            )
            shape.widen(leaf)

    def _forget_cost(self) -> None:
        self.seconds.clear()
        self.cpu_seconds.clear()

    def fields(self, plan: DigestPlan) -> tuple[FieldFacts, ...]:
        """Return the fields of an example, as all that was read have them."""
        return tuple(
            FieldFacts(
                path=name,
                type=shape.type,
                dtype=shape.dtype,
                shape=shape.shape,
                random=name in plan.random,
            )
            for name, shape in self.shapes.items()
        )


def _is_none(found: Sequence[Leaf]) -> bool:
    """Whether the example is None as a whole, and tells nothing of the others."""
    return len(found) == 1 and not found[0].path and found[0].type == "none"


@dataclass
class _Shape:
    """Type and shape of a field over all examples; None where a size varies."""

    type: str
    dtype: str | None
    shape: tuple[int | None, ...] | None

    def widen(self, leaf: Leaf) -> None:
        if leaf.type != self.type:
            self.type = "varies"
        if leaf.dtype != self.dtype:
            self.dtype = "varies"
        if self.shape is not None:
            if leaf.shape is None or len(leaf.shape) != len(self.shape):
                self.shape = None
            elif leaf.shape != self.shape:
                pairs = zip(self.shape, leaf.shape, strict=True)
                self.shape = tuple(a if a == b else None for a, b in pairs)

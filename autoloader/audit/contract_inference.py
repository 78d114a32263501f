"""Work out a contract from the examples that one process read.

Pure: what each example is made of goes in, a contract comes out. Two questions: what do
all examples keep (`build`), and what do most of them keep (`majority`), so that the few
others can be named where they cannot be put into one batch. Nothing is held here
(`audit.contract`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.audit.contract import (
    BY_OTHERS,
    ContractCheck,
    Kinds,
    is_none,
)
from autoloader.audit.contract_majority import GREAT_MAJORITY, common_fields
from autoloader.audit.contract_spread import Spread
from autoloader.audit.contract_watch import Breaches, others_finding
from autoloader.values.contract import (
    Contract,
    ContractField,
    ContractLabel,
    Padding,
    Rules,
)
from autoloader.values.outcome import MAX_IDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from autoloader.values.outcome import Finding

MOST_LEAVES = 100_000
"""Fields, over all different kinds, that are kept with their sizes (about 30 MB); later
kinds are kept by type and number of dimensions, and then not at all."""


class _Group:
    """Examples that are made of the same."""

    __slots__ = ("count", "has_label", "high", "ids", "is_whole", "low")

    def __init__(self, *, has_label: bool) -> None:
        self.count = 0
        self.ids: list[int | str] = []
        self.has_label = has_label
        self.is_whole = True
        self.low: int | None = None
        self.high: int | None = None

    def note(self, example_id: int | str, value: int | None) -> None:
        self.count += 1
        if len(self.ids) < MAX_IDS:
            self.ids.append(example_id)
        if value is None:
            self.is_whole = self.is_whole and not self.has_label
        elif self.low is None or self.high is None:
            self.low = self.high = value
        elif value < self.low:
            self.low = value
        elif value > self.high:
            self.high = value


class ContractBuilder:
    """Gathers what examples are made of: a look-up an example, and few kinds kept.

    Args:
        label: path of the label; None where none is named.
    """

    def __init__(self, label: str | None = None) -> None:
        self._label = label
        self._groups: dict[Kinds, _Group] = {}
        self._rest = _Group(has_label=label is not None)
        self._spread = Spread()
        self._leaves = 0

    @property
    def seen(self) -> int:
        """Examples noted."""
        return sum(group.count for group in self._all())

    def note(
        self, example_id: int | str, kinds: Kinds, label_value: int | None = None
    ) -> None:
        """Note one example.

        Args:
            example_id: its id.
            kinds: name, type, dtype and shape of each of its fields.
            label_value: its label; None where that is no whole number.
        """
        group = self._groups.get(kinds)
        if group is None:
            group = self._enter(kinds)
        group.note(example_id, label_value)

    def _enter(self, kinds: Kinds) -> _Group:
        """Return the group of a kind that is not kept yet, or no longer."""
        if not is_none(kinds):  # it tells nothing of what the others are made of
            self._spread.widen(kinds)
        if self._leaves >= MOST_LEAVES:
            kinds = _without_sizes(kinds)
            if kinds in self._groups:
                return self._groups[kinds]
            if self._leaves >= 2 * MOST_LEAVES:
                return self._rest
        self._leaves += len(kinds)
        has_label = any(
            name == self._label and type_ != "none" for name, type_, _, _ in kinds
        )
        self._groups[kinds] = _Group(has_label=has_label)
        return self._groups[kinds]

    def _all(self) -> Iterable[_Group]:
        return (*self._groups.values(), self._rest)

    def build(
        self,
        *,
        examples: int | None = None,
        of: int | None = None,
        random: frozenset[str] = frozenset(),
        padding: Sequence[Padding] = (),
        rules: Rules | None = None,
    ) -> Contract:
        """Return what all noted examples keep: what varies is free.

        An example that is None as a whole counts as seen and tells nothing; it breaks
        the contract that the others make.

        Args:
            examples: examples of the dataset; None: not declared.
            of: examples that there are, seen or not; None: not known.
            random: names of fields that change from reading to reading.
            padding: what `audit.padding` found in batches.
            rules: how strictly it is to be held; None: as by default.
        """
        fields = self._spread.fields(random)
        if not fields and any(map(is_none, self._groups)):
            fields = (ContractField(path="", type="none"),)
        return Contract(
            examples=examples,
            fields=fields,
            label=self._label_of(fields, self._all()),
            equal_sizes=self._spread.equal_sizes(),
            padding=_known(padding, fields),
            rules=rules or Rules(),
            seen=self.seen,
            of=of,
        )

    def _label_of(
        self, fields: Sequence[ContractField], groups: Iterable[_Group]
    ) -> ContractLabel | None:
        path = self._label
        if path is None or not any(
            field.path == path or field.path.startswith(f"{path}.") for field in fields
        ):
            return None
        groups = [group for group in groups if group.count]
        lows = [group.low for group in groups if group.low is not None]
        highs = [group.high for group in groups if group.high is not None]
        if not lows or not all(group.is_whole for group in groups):
            return ContractLabel(path=path)
        return ContractLabel(path=path, low=min(lows), high=max(highs))

    def majority(self, share: float = GREAT_MAJORITY) -> Contract:
        """Return what most of the noted examples keep, field by field.

        A type, dtype, number of dimensions or size that fewer than `share` of the
        examples have in common is left free. So many must have a field for it to be
        missed, fewer than the rest for it to be odd; between, it is optional.

        Args:
            share: least part of the examples, 0-1; 0 takes whatever is commonest.
        """
        counts = {kinds: group.count for kinds, group in self._groups.items()}
        return Contract(fields=common_fields(counts, share), seen=self.seen)

    def deviations(self, share: float = GREAT_MAJORITY) -> Finding | None:
        """Return the examples that are made otherwise than most, and how.

        Worth saying only where a batch cannot be assembled of them; a dataset whose
        collate_fn takes differing sizes is right as it is.

        Args:
            share: as for `majority`; 0 where something must differ.

        Returns:
            None where nothing deviates, or no shape, type or field is common enough.
        """
        check = ContractCheck(self.majority(share), BY_OTHERS)
        found = Breaches()
        for kinds, group in self._groups.items():
            words = check.violations(kinds, None)
            if words:
                found.add(words, group.ids, group.count)
        return others_finding(found, self.seen)


def _without_sizes(kinds: Kinds) -> Kinds:
    return tuple(
        (name, type_, dtype, None if shape is None else (None,) * len(shape))
        for name, type_, dtype, shape in kinds
    )


def _known(
    padding: Sequence[Padding], fields: Sequence[ContractField]
) -> tuple[Padding, ...]:
    """Return the paddings whose field has the axis in every example."""
    axes = {field.path: len(field.shape or ()) for field in fields}
    return tuple(item for item in padding if item.axis < axes.get(item.of, 0))

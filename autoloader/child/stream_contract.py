"""The contract of a stream: what its examples are made of, and whether they keep it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.audit.contract_inference import ContractBuilder
from autoloader.audit.contract_watch import ContractWatch, count_finding
from autoloader.child.assembly import Assembly
from autoloader.child.reading import kinds_of
from autoloader.errors import DatasetError

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.child.digest import DigestPlan
    from autoloader.child.stream import StreamPass
    from autoloader.values.contract import Contract
    from autoloader.values.outcome import Finding
    from autoloader.values.scope import ScopeRequest


def hold_stream(
    found: StreamPass,
    plan: DigestPlan,
    request: ScopeRequest,
    declared: int | None,
    *,
    collate: Callable[[Any], Any] | None,
    is_collated: bool,
) -> tuple[Contract, list[Finding]]:
    """Return the contract that a stream's examples make, and cautions.

    Args:
        found: the pass that is the reference.
        plan: which fields are random.
        request: with the contract that is to be kept, if any.
        declared: what `len(dataset)` says; None: nothing.
        collate: the user's collate_fn; None: PyTorch's.
        is_collated: whether batches of several examples are made by it.

    Raises:
        DatasetError: the stream breaks its contract, and its rules refuse that.
    """
    builder = ContractBuilder(plan.label)
    assembly = Assembly(collate)
    held = request.contract
    watch = None if held is None else ContractWatch(held)
    for place, example_id in enumerate(found.ids):
        kinds = kinds_of(found.leaves(place))
        builder.note(example_id, kinds)
        if is_collated:
            assembly.note(example_id, kinds)
        if watch is not None:
            watch.note(example_id, kinds, None)
    odd = assembly.odd()
    if odd is not None:
        raise DatasetError(odd.sentence, hint=odd.hint)
    known = len(found) if found.is_complete else None
    contract = builder.build(examples=declared, of=known, random=plan.random)
    if held is None or watch is None:
        return contract, []
    count = count_finding(held, known)
    broken = watch.finding()
    if broken is not None and held.rules.incomplete == "allow":
        return contract, [broken]
    for finding in (count, broken):
        if finding is not None:
            raise DatasetError(finding.sentence, hint=finding.hint)
    return contract, []

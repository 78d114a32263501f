"""Say what a recommendation was measured on and of: from its sections, or here and now.

Both come from the same sections, so that what was written and what is found tonight are
compared as like with like. What differs is told by `values.fingerprint`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from autoloader.export.scope_section import scope_section
from autoloader.measure.versions import versions
from autoloader.values.decode import value_of
from autoloader.values.fingerprint import Fingerprint
from autoloader.values.machine import Machine

if TYPE_CHECKING:
    from autoloader.values.job import Reference
    from autoloader.values.scope import SourceSpec

_SHAPED = ("type", "dtype", "shape")
"""What of a field makes it another one; of a random one all but its shape."""


def contract_section(reference: Reference) -> dict[str, Any] | None:
    """Return what all examples kept; the range of labels is content, and stays out."""
    contract = reference.contract
    if contract is None:
        return None
    asked = reference.scope.contract
    rules = contract.rules if asked is None else asked.rules
    return {
        "held": asked is not None,
        "fields": [field.to_dict() for field in contract.fields],
        "equal_sizes": [list(group) for group in contract.equal_sizes],
        "rules": rules.to_dict(),
        "seen": contract.seen,
    }


def fingerprint_now(
    source: SourceSpec, machine: Machine, reference: Reference
) -> Fingerprint:
    """Return what is here now: machine and software, and the data as it was read."""
    return fingerprint_of(
        {
            "dataset": source.spec,
            "machine": machine.to_dict(),
            "versions": versions(),
            "scope": scope_section(source, reference.scope, reference.facts, ()),
            "contract": contract_section(reference),
        }
    )


def fingerprint_of(sections: Mapping[str, Any]) -> Fingerprint:
    """Return what a recommendation's sections say that it was measured on and of.

    What they do not say, or say in another form, is not known.

    Raises:
        StoredFileError: there is no machine in them.
    """
    scope = _mapping(sections.get("scope"))
    length = scope.get("length")
    start_method = scope.get("start_method")
    found = _mapping(sections.get("versions")).items()
    return Fingerprint(
        machine=value_of(Machine, sections["machine"], place="machine"),
        versions={str(name): str(version) for name, version in found},
        start_method=start_method if isinstance(start_method, str) else None,
        storage=_storage(scope.get("access")),
        dataset=str(sections.get("dataset")),
        length=length if isinstance(length, int) else None,
        contract=_contract(sections.get("contract")),
    )


def _storage(access: object) -> tuple[str, ...] | None:
    found = _mapping(access)
    if "source" not in found:
        return None
    types = found.get("file_systems")
    return (str(found["source"]), *map(str, types if isinstance(types, list) else ()))


def _contract(section: object) -> dict[str, str] | None:
    """Return each field in words, and the rules where a contract was held."""
    found = _mapping(section)
    fields = found.get("fields")
    if not isinstance(fields, list):
        return None
    told = {str(item.get("path")): _field(item) for item in map(_mapping, fields)}
    if found.get("held") is True:
        rules = _mapping(found.get("rules"))
        told["rules"] = ", ".join(f"{name} {value}" for name, value in rules.items())
    return told


def _field(field: Mapping[str, Any]) -> str:
    """Return `tensor float32 [3, None, 32]`."""
    names = _SHAPED[:-1] if field.get("random") is True else _SHAPED
    known = [field[name] for name in names if field.get(name) is not None]
    return " ".join(map(str, known))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}

"""Turn dicts that were read from disk or a pipe back into frozen values.

Every `from_dict` of `values` goes through `fields_of`: an unknown or missing key is an
error that names the key, never a silent default. `Any` stops here.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from autoloader.errors import StoredFileError, did_you_mean


def fields_of(kind: type[Any], data: object) -> dict[str, Any]:
    """Return the mapping as keyword arguments for the dataclass `kind`.

    Raises:
        StoredFileError: `data` is no mapping, has a key that `kind` does not know, or
            lacks one that `kind` requires.
    """
    name = kind.__name__
    if not isinstance(data, Mapping):
        msg = f"{name} must be a mapping, got {type(data).__name__}"
        raise StoredFileError(msg)
    known = {field.name: field for field in dataclasses.fields(kind)}
    for key in data:
        if key not in known:
            msg = f"{name} has no field {key!r}"
            raise StoredFileError(msg, hint=did_you_mean(str(key), known))
    for field in known.values():
        required = (
            field.default is dataclasses.MISSING
            and field.default_factory is dataclasses.MISSING
        )
        if required and field.name not in data:
            msg = f"{name} lacks the field {field.name!r}"
            raise StoredFileError(msg)
    return {str(key): value for key, value in data.items()}


def plain(value: object) -> Any:
    """Return a frozen value as dicts, lists and scalars, ready for JSON or YAML."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, str):
        return str(value)
    return value

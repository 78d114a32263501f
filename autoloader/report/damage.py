"""Say which section of a stored file cannot be told of, where one is damaged.

A recommendation is checked when it is loaded as far as it is used; its evidence is for
people, who may have edited it.
"""

import contextlib
from collections.abc import Iterator

from autoloader.errors import StoredFileError

_DAMAGED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a section raises that is not as this version writes it."""


@contextlib.contextmanager
def damage_named(section: str, path: str) -> Iterator[None]:
    """Say which section of which file cannot be used, where that shows within.

    Raises:
        StoredFileError: instead of what a section raises that lacks something, or has
            another type.
    """
    try:
        yield
    except StoredFileError as exc:
        if exc.message.startswith(path):
            raise
        msg = f"{path}: {exc.message}"
        raise StoredFileError(msg, hint=exc.hint) from exc
    except _DAMAGED as exc:
        said = f"it lacks {exc}" if isinstance(exc, KeyError) else str(exc)
        msg = f"the section {section!r} of {path} cannot be used: {said}"
        hint = "it was changed, or written by another version: tune again"
        raise StoredFileError(msg, hint=hint) from exc

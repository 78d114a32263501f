"""A view that puts nothing up before its work and takes nothing away afterwards."""

from __future__ import annotations

from typing import Self


class Unframed:
    """A context without a beginning or an end."""

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_exc: object) -> None:
        """End."""

"""One point of the space: the DataLoader settings that a trial is about.

Holds no ranges (`search.space`) and builds no loader (`child.loader`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from autoloader.errors import UsageError, did_you_mean
from autoloader.values.decode import fields_of

DEFAULT_PREFETCH = 2
"""What PyTorch takes for prefetch_factor where there are workers."""

_KNOBS = (
    "num_workers",
    "prefetch_factor",
    "pin_memory",
    "persistent_workers",
    "batch_size",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderConfig:
    """Settings under PyTorch's own names, always in canonical form.

    Without workers there is nothing to prefetch or to keep, so `prefetch_factor` must
    be None and `persistent_workers` False there: two equal loaders are equal configs.
    """

    num_workers: int
    """Worker processes; 0 loads in the training process."""
    prefetch_factor: int | None = None
    """Batches that each worker prepares ahead; None without workers."""
    pin_memory: bool = False
    """Whether batches are copied to page-locked memory."""
    persistent_workers: bool = False
    """Whether workers are kept from epoch to epoch."""
    batch_size: int | None
    """Examples a batch; None where the dataset or a batch_sampler makes batches."""

    def __post_init__(self) -> None:
        """Check each setting by the rules that DataLoader itself has."""
        _check_int("num_workers", self.num_workers, 0)
        if self.batch_size is not None:
            _check_int("batch_size", self.batch_size, 1)
        if self.num_workers == 0:
            if self.prefetch_factor is not None:
                msg = (
                    f"prefetch_factor needs num_workers of at least 1, got "
                    f"prefetch_factor={self.prefetch_factor} with num_workers=0"
                )
                raise UsageError(msg)
            if self.persistent_workers:
                msg = "persistent_workers needs num_workers of at least 1, got 0"
                raise UsageError(msg)
        else:
            _check_int("prefetch_factor", self.prefetch_factor, 1)

    @classmethod
    def canonical(
        cls,
        *,
        num_workers: int,
        batch_size: int | None,
        prefetch_factor: int | None = None,
        pin_memory: bool = False,
        persistent_workers: bool = False,
    ) -> LoaderConfig:
        """Return the config, with what means nothing at 0 workers left out."""
        if num_workers == 0:
            return cls(num_workers=0, pin_memory=pin_memory, batch_size=batch_size)
        return cls(
            num_workers=num_workers,
            prefetch_factor=prefetch_factor or DEFAULT_PREFETCH,
            pin_memory=pin_memory,
            persistent_workers=persistent_workers,
            batch_size=batch_size,
        )

    @classmethod
    def parse(cls, text: str, *, batch_size: int | None) -> LoaderConfig:
        """Read `num_workers=4,prefetch_factor=2`.

        Args:
            text: settings joined by commas, under PyTorch's names.
            batch_size: what holds where the text names none.

        Raises:
            UsageError: an unknown name, a value of the wrong type, or a rule broken.
        """
        found: dict[str, Any] = {"num_workers": 0, "batch_size": batch_size}
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if name not in _KNOBS or not equals:
                msg = f"a config is name=value with names {', '.join(_KNOBS)}, got {part!r}"
                raise UsageError(msg, hint=did_you_mean(name, _KNOBS))
            found[name] = _parse_value(name, value)
        if found["num_workers"] and found.get("prefetch_factor") is None:
            found["prefetch_factor"] = DEFAULT_PREFETCH
        return cls(**found)

    @classmethod
    def from_dict(cls, data: object) -> LoaderConfig:
        """Return the config that `to_dict` or `dataloader_kwargs` wrote.

        Raises:
            StoredFileError: an unknown or missing key.
            UsageError: a value that DataLoader would refuse.
        """
        return cls(**fields_of(cls, data))

    def to_dict(self) -> dict[str, Any]:
        """Return all five settings, None included."""
        return {name: getattr(self, name) for name in _KNOBS}

    def dataloader_kwargs(self) -> dict[str, Any]:
        """Return what `DataLoader(dataset, **kwargs)` takes as it stands."""
        kwargs: dict[str, Any] = {
            "batch_size": self.batch_size,
            "num_workers": self.num_workers,
            "pin_memory": self.pin_memory,
            "persistent_workers": self.persistent_workers,
        }
        if self.prefetch_factor is not None:
            kwargs["prefetch_factor"] = self.prefetch_factor
        return kwargs

    def describe(self) -> str:
        """Return one short line for people: `2 workers, prefetch 2, kept, batch 64`."""
        workers = f"{self.num_workers} worker{'' if self.num_workers == 1 else 's'}"
        parts = [workers]
        if self.prefetch_factor is not None:
            parts.append(f"prefetch {self.prefetch_factor}")
        if self.persistent_workers:
            parts.append("kept")
        if self.pin_memory:
            parts.append("pinned")
        if self.batch_size is not None:
            parts.append(f"batch {self.batch_size}")
        return ", ".join(parts)


def _check_int(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        msg = f"{name} must be a whole number of at least {least}, got {value!r}"
        raise UsageError(msg)


def _parse_value(name: str, text: str) -> int | bool | None:
    lowered = text.lower()
    if lowered in {"none", "null"} and name in {"prefetch_factor", "batch_size"}:
        return None
    if name in {"pin_memory", "persistent_workers"}:
        if lowered in {"true", "yes", "1"}:
            return True
        if lowered in {"false", "no", "0"}:
            return False
        msg = f"{name} must be yes or no, got {text!r}"
        raise UsageError(msg)
    try:
        return int(text)
    except ValueError:
        msg = f"{name} must be a whole number, got {text!r}"
        raise UsageError(msg) from None

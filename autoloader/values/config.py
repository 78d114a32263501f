"""One point of the space: the DataLoader settings that a trial is about.

Holds no ranges (`search.space`) and builds no loader (`child.loader`).
"""

from dataclasses import dataclass
from operator import index
from typing import Any, Self, SupportsIndex

from autoloader.errors import UsageError, did_you_mean
from autoloader.units import counted
from autoloader.values.decode import shown, value_of

DEFAULT_PREFETCH = 2
"""What PyTorch takes for prefetch_factor where there are workers."""

MOST = 2**31 - 1
"""Largest setting: more is a slip, and beyond what any system counts with."""

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
        _check_bool("pin_memory", self.pin_memory)
        _check_bool("persistent_workers", self.persistent_workers)
        if self.batch_size is not None:
            _check_int("batch_size", self.batch_size, 1)
        if self.num_workers == 0:
            if self.prefetch_factor is not None:
                msg = (
                    f"prefetch_factor needs num_workers of at least 1, got "
                    f"prefetch_factor={shown(self.prefetch_factor)} with num_workers=0"
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
        num_workers: SupportsIndex,
        batch_size: SupportsIndex | None = None,
        prefetch_factor: SupportsIndex | None = None,
        pin_memory: bool = False,
        persistent_workers: bool = False,
    ) -> Self:
        """Return the config, with what means nothing at 0 workers left out.

        Args:
            num_workers: any kind of whole number, numpy's included.
            batch_size: as above.
            prefetch_factor: as above; None takes PyTorch's default.
            pin_memory: as it stands.
            persistent_workers: as it stands.

        Raises:
            UsageError: a value that DataLoader would refuse.
        """
        workers = _plain_int(num_workers)
        if workers == 0:
            prefetch_factor, persistent_workers = None, False
        elif prefetch_factor is None:
            prefetch_factor = DEFAULT_PREFETCH
        return cls(
            num_workers=workers,
            prefetch_factor=_plain_int(prefetch_factor),
            pin_memory=pin_memory,
            persistent_workers=persistent_workers,
            batch_size=_plain_int(batch_size),
        )

    @classmethod
    def parse(cls, text: str, *, batch_size: int | None) -> Self:
        """Read `num_workers=4,prefetch_factor=2`.

        Args:
            text: settings joined by commas, under PyTorch's names.
            batch_size: what holds where the text names none.

        Raises:
            UsageError: an unknown name, a name given twice, a value of the wrong type,
                or a rule broken.
        """
        named: dict[str, Any] = {}
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if name not in _KNOBS or not equals:
                known = ", ".join(_KNOBS)
                msg = f"a config is name=value with names {known}, got {shown(part)}"
                raise UsageError(msg, hint=did_you_mean(name, _KNOBS))
            if name in named:
                msg = f"a config names each setting once, got {name} twice"
                raise UsageError(msg)
            named[name] = _parse_value(name, value)
        found = {"num_workers": 0, "batch_size": batch_size, **named}
        if found["num_workers"] and found.get("prefetch_factor") is None:
            found["prefetch_factor"] = DEFAULT_PREFETCH
        return cls(**found)

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Return the config that `to_dict` or `dataloader_kwargs` wrote.

        Raises:
            StoredFileError: an unknown or missing key, or a value that DataLoader would
                refuse.
        """
        return value_of(cls, data)

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
        parts = [counted(self.num_workers, "worker")]
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
        msg = f"{name} must be a whole number of at least {least}, got {shown(value)}"
        raise UsageError(msg)
    if value > MOST:
        msg = f"{name} must be at most {MOST}, got {shown(value)}"
        raise UsageError(msg)


def _check_bool(name: str, value: object) -> None:
    if not isinstance(value, bool):
        msg = f"{name} must be True or False, got {shown(value)}"
        raise UsageError(msg)


def _plain_int(value: Any) -> Any:
    """Return a whole number of any kind as an int; anything else as it stands."""
    if type(value) is int:  # quicker by far, and configs are made by hundreds
        return value
    is_whole = isinstance(value, SupportsIndex) and not isinstance(value, bool)
    return index(value) if is_whole else value


def _parse_value(name: str, text: str) -> int | bool | None:
    lowered = text.lower()
    if lowered in {"none", "null"} and name in {"prefetch_factor", "batch_size"}:
        return None
    if name in {"pin_memory", "persistent_workers"}:
        if lowered in {"true", "yes", "1"}:
            return True
        if lowered in {"false", "no", "0"}:
            return False
        msg = f"{name} must be yes or no, got {shown(text)}"
        raise UsageError(msg)
    try:
        return int(text)
    except ValueError:
        msg = f"{name} must be a whole number, got {shown(text)}"
        raise UsageError(msg) from None

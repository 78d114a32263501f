"""Keyword arguments of the Python API, with their types.

They are the flags of the commands, under the same names, and mean the same
(`autoloader tune --help`). None stands for what holds without the flag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeAlias, TypedDict

if TYPE_CHECKING:
    from autoloader.export.recommendation import Recommendation

Counts: TypeAlias = SupportsIndex | Iterable[SupportsIndex] | str
"""`64`, `[32, 64]` or `"32,64"`."""

Range: TypeAlias = SupportsIndex | range | str
"""`4`, `range(0, 9)` or `"0:8"`: the last two are 0 to 8."""

Duration: TypeAlias = float | str
"""Seconds, or `"3m"`."""

Size: TypeAlias = float | str
"""Bytes, or `"8GiB"`."""

YesNo: TypeAlias = bool | Literal["yes", "no", "search"]
"""Whether it is so, or is to be searched."""

File: TypeAlias = str | PathLike[str]

Settings: TypeAlias = "str | PathLike[str] | Mapping[str, Any] | Recommendation"
"""Of one loader: `"num_workers=4"`, `{"num_workers": 4}`, a file, or a recommendation
that was loaded."""


class _DatasetOptions(TypedDict, total=False):
    """What all that read a dataset have in common."""

    arg: Mapping[str, Any] | None
    """Arguments for the function or class that gives the dataset."""
    examples: SupportsIndex | Literal["all"] | None
    """Examples that reference and trials share."""
    seed: SupportsIndex | None
    """Of the order, and of random fields."""
    order: Literal["shuffled", "as-is"] | None
    """None: a Dataset is shuffled, a DataLoader keeps its sampler."""
    transforms: Literal["auto", "fixed", "random"] | None
    """`fixed`: a field that changes between readings is a fault."""
    start_method: Literal["fork", "forkserver", "spawn"] | None
    """How workers are started; None: as by the loader, else as by this process."""
    label: str | None
    """Where the label is in an example."""
    id: str | None
    """Where a stream's id is in an example."""
    contract: File | None
    """What every example must be."""
    on_epoch: str | None
    """SPEC of a function, called with dataset and epoch before each epoch."""
    epoch_examples: SupportsIndex | None
    """Length of a real epoch, where it is not `len()`."""
    ranks: SupportsIndex | None
    """Training processes on this machine, which read at once."""
    isolation: Literal["auto", "fork", "fresh"] | None
    """How processes of trials are made."""
    strict: bool | None
    """Whether cautions refuse as well."""
    allow: str | Iterable[str] | None
    """Codes of findings that are taken as cautions."""
    hang_after: Duration | None
    """Time without progress after which a loader counts as hung."""
    quiet: bool | None
    """Whether no progress is told."""


class CheckOptions(_DatasetOptions, total=False):
    """Keyword arguments of `autoloader.check`."""

    config: Settings | Iterable[Settings] | None
    """What is checked; None: 2 workers, kept from epoch to epoch and not."""
    batch_size: SupportsIndex | None
    """Examples a batch, where a config names none."""
    write_contract: File | None
    """File for what all examples keep, once the check has passed."""


class _TimedOptions(_DatasetOptions, total=False):
    """What all that tell rates have in common."""

    cache: Literal["warm", "cold"] | None
    """State of the page cache at each timed pass."""
    unit: Mapping[str, str | Callable[[Any], Any]] | Iterable[str] | None
    """Functions, or their SPECs, that count something of an example, by its name."""
    step: str | Callable[..., Any] | None
    """The training step, a class of such, or its SPEC: called with each batch."""
    memory: Size | None
    """Most that processes may take."""
    budget: Duration | None
    """Wall time."""


class MeasureOptions(_TimedOptions, total=False):
    """Keyword arguments of `autoloader.measure`."""

    config: Settings | Iterable[Settings] | None
    """What is compared, the baseline first."""
    batch_size: SupportsIndex | None
    """Examples a batch, where a config names none."""
    rounds: SupportsIndex | None
    """Number of rounds; None: until each pair is settled."""


class TuneOptions(_TimedOptions, total=False):
    """Keyword arguments of `autoloader.tune`."""

    target: float | str | None
    """Examples a second of the whole machine, a share of the fastest config (`"95%"`,
    the default), or `"step"`."""
    batch_size: Counts | None
    """What is fixed, or searched."""
    num_workers: Range | None
    """What is searched."""
    prefetch_factor: Counts | None
    """What is searched."""
    pin_memory: YesNo | None
    """Whether it is so, or is to be searched."""
    persistent_workers: YesNo | None
    """Whether it is so, or is to be searched."""
    trials: SupportsIndex | None
    """Most trials, in a fleet those of all machines; None: by the budget."""
    storage: File | None
    """What a fleet shares: a URL of PostgreSQL, the path of a journal, `env:NAME`."""
    exhaustive: bool | None
    """Whether every setting is tried."""
    verify: SupportsIndex | Literal["all"] | None
    """Examples of the final verification."""
    resume: bool | None
    """Whether an interrupted study is gone on with, as it is anyway."""
    fresh: bool | None
    """Whether it is begun anew."""
    out: File | None
    """File of the recommendation; None: `autoloader.yaml`."""
    best_effort: bool | None
    """Whether the best config is written even if it does not meet the target."""

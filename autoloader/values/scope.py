"""Which examples, in which order: what all trials of a study have in common.

The index list itself may hold millions of entries and lives in a file beside the
reference (`audit.ledger`); this value says how it was drawn.
"""

from dataclasses import dataclass
from typing import Any, Literal

from autoloader.values.ceiling import HotFunction
from autoloader.values.config import LoaderConfig
from autoloader.values.contract import Contract, Padding
from autoloader.values.decode import Stored

Order = Literal["shuffled", "as-is"]
Transforms = Literal["auto", "fixed", "random"]
Cache = Literal["warm", "cold"]

GATE_EXAMPLES = 512
"""Examples an epoch that a trial is gated on during the search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveObject(Stored):
    """An object of the user's process as it is handed to each child: pickled, in files.

    The files are read by their owner only, and gone when all is done.
    """

    file: str
    """What is unpickled: the object, and behind it what `__main__` defines of it."""
    size_bytes: int
    """Size of that file."""
    signature: str
    """Digest of it, without what differs from process to process."""
    modules: tuple[str, ...] = ()
    """Modules that it needs, which are imported before it is read."""
    search_path: tuple[str, ...] = ()
    """Where the user's process looks for modules."""
    start_method: str | None = None
    """How the user's process starts workers, where it says; None: as Python does."""
    main_file: str | None = None
    """What `__main__` defines of it, by itself, for workers that are spawned; None:
    nothing, or they could not import it in the user's process either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveFunction(Stored):
    """A function of the user's process, such as the training step."""

    flag: str
    """What it is given for: `--step`, `--unit tokens`."""
    live: LiveObject | None = None
    """As it is handed to each child; None: it was not handed over yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec(Stored):
    """Where the dataset comes from, as the user wrote it."""

    spec: str
    """`module:attribute` or `path/file.py:attribute`; the name of a live object."""
    arguments: tuple[tuple[str, Any], ...] = ()
    """Keyword arguments for a callable attribute, as `--arg key=value` gave them."""
    live: LiveObject | None = None
    """The object itself, given to the Python API; None: the SPEC names it."""
    functions: tuple[LiveFunction, ...] = ()
    """Functions given to the Python API beside it, in place of their SPECs."""

    @property
    def is_live(self) -> bool:
        """Whether anything was handed over that no command could name."""
        return self.live is not None or bool(self.functions)

    def function(self, flag: str) -> LiveFunction | None:
        """Return the function that was given in place of a SPEC; None: none was."""
        return next((item for item in self.functions if item.flag == flag), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitSpec(Stored):
    """A unit beyond examples and bytes, as `--unit tokens=module:count` names it."""

    name: str
    """What is counted, such as `tokens`."""
    spec: str
    """`module:function` or `file.py:function`: takes one example, returns a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeRequest(Stored):
    """How the scope is to be drawn: the user's flags, before anything was read."""

    examples: int | Literal["all"] | None = None
    """Examples in the scope; None: as many as `time_limit_s` allows."""
    seed: int = 0
    """Seed of the order and of the reference's random fields."""
    order: Order | None = None
    """None: a bare dataset is shuffled, a DataLoader keeps its own sampler."""
    transforms: Transforms = "auto"
    """`fixed`: fields that change between readings are a fault of the dataset."""
    label: str | None = None
    """Path of the label in an example; None: looked for."""
    id: str | None = None
    """Path of a stream's id in an example; None: examples are told apart by content."""
    epoch_examples: int | None = None
    """Examples of a real epoch; None: what the sampler yields."""
    start_method: str | None = None
    """fork, forkserver or spawn; None: the loader's own, else Python's default."""
    on_epoch: str | None = None
    """SPEC of a function that is called with dataset and epoch before each epoch."""
    contract: Contract | None = None
    """What every example must be; None: what is the same in one process and in workers
    is right."""
    cache: Cache | None = None
    """State of the page cache at a timed pass; None: warm, but cold where the data is
    larger than the memory."""
    units: tuple[UnitSpec, ...] = ()
    """What is counted beside examples and bytes."""
    time_limit_s: float = 36.0
    """Seconds the reference may take where `examples` is None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFacts:
    """What the reference found out about a stream."""

    is_complete: bool
    """Whether the reference holds all of it; else it was cut."""
    keeps_order: bool
    """Whether every pass has the same order."""
    needs_worker: bool
    """Whether it can only be read where get_worker_info() answers."""
    declared: int | None
    """What `len(dataset)` says; None: it says nothing."""

    @property
    def can_be_compared(self) -> bool:
        """Whether passes can be compared by content: cut and shuffled ones cannot."""
        return self.is_complete or self.keeps_order


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope(Stored):
    """The examples that reference, gate and timed pass share."""

    examples: int
    """Entries of the index list, repeats by the sampler included."""
    distinct: int
    """Different ids among them."""
    of: int | None
    """Entries that the user's own sampler, or the stream, yields for one epoch; None: a
    stream that was cut."""
    epoch_examples: int | None
    """Examples of the user's real epoch; None: not known, as rates of epochs then."""
    order: str
    """`shuffled`, `sequential`, or the class of the user's sampler."""
    seed: int
    """Seed the list was drawn with."""
    transforms: str
    """`fixed`, or `random` where a field changes between readings."""
    drop_last: bool
    """Whether an incomplete last batch is left out."""
    cache: Cache = "warm"
    """State of the page cache at a timed pass: warm, since the reference has read
    everything; or cold, the files being dropped from it before each."""
    stream: StreamFacts | None = None
    """None for a map-style dataset."""
    start_method: str | None = None
    """How workers are started, where the user says so; None: as the loader does."""
    on_epoch: str | None = None
    """SPEC of a function that is called with dataset and epoch before each epoch."""
    contract: Contract | None = None
    """What every example was held to; None: there was no contract."""
    epochs_differ: bool = False
    """Whether the second epoch has a reference of its own (`set_epoch`, `on_epoch`)."""

    def gate_positions(self, batch_size: int, wanted: int) -> list[int]:
        """Return the places in the scope's list that one gate epoch reads.

        The last batch has the size that it has in the user's real epoch, so that what
        happens to an incomplete one is seen, unless the scope is smaller than one whole
        and one last batch; first and last entry always belong to it.

        Args:
            batch_size: examples a batch of the trial.
            wanted: about how many examples to read; all of an epoch where it is not
                less, and where the scope is one.
        """
        if self.of is None or self.epoch_examples is None:
            msg = "a stream has no positions: it is read from its start"
            raise ValueError(msg)
        is_epoch = self.examples >= min(self.of, self.epoch_examples)
        tail = self.epoch_examples % batch_size
        full = max(1, (min(wanted, self.examples) - tail) // batch_size) * batch_size
        count = max(full + tail, 2)
        if count > self.examples or (is_epoch and wanted >= self.examples):
            return list(range(self.examples))
        return [*range(count - 1), self.examples - 1]


UNPINNED = frozenset({"mps"})
"""Accelerators for which DataLoader leaves memory as it is, `pin_memory` or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldFacts(Stored):
    """One field (leaf) of an example, as the reference saw it."""

    path: str
    """Place in the example: `0`, `image`, `meta.key`; empty where it is the example."""
    type: str
    """`tensor`, `array`, `int`, `float`, `bool`, `str`, `bytes`, `none` or a class."""
    dtype: str | None
    """Element type of tensors, arrays and numbers."""
    shape: tuple[int | None, ...] | None
    """Sizes; None in place of a size that varies; None where there is no shape."""
    random: bool
    """Whether it differs when the same example is read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitFacts(Stored):
    """How much of a unit an example has."""

    name: str
    """What is counted, such as `tokens`."""
    per_example: float
    """Mean over the scope's list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessFacts(Stored):
    """Where the examples come from, as seen while the reference read them."""

    source: Literal["memory", "local", "network"]
    """`memory`: no file or connection was seen in use; `local`: files on this machine;
    `network`: connections, or files of a network file system."""
    files: int
    """Different files that were opened for reading, the user's own code left out."""
    file_systems: tuple[str, ...]
    """Types of the file systems that they lie on, such as `ext4`."""
    connections: int
    """Connections that were opened or held."""
    read_bytes_per_example: float | None
    """Bytes that read calls returned; mapped files are not in it; None: not told."""
    storage_bytes_per_example: float | None
    """Bytes of them that came from storage at the first reading; None: not told."""
    decoding: Literal["inside", "outside", "none_seen"]
    """Whether what is stored becomes tensors inside the dataset, or after the loader:
    examples are then bytes as they were read; `none_seen`: nothing was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetFacts(Stored):
    """What the reference found out about the dataset and its loader."""

    kind: Literal["map", "iterable"]
    """Whether examples are fetched by index or streamed."""
    name: str
    """Class of the dataset."""
    length: int | None
    """What `len(dataset)` says; None: a stream that says nothing."""
    fields: tuple[FieldFacts, ...]
    """Fields of an example."""
    label: str | None
    """Path of the label; None where none was named or found."""
    id: str | None = None
    """Path of a stream's id; None where none was named."""
    baseline: dict[str, Any] | None
    """Settings of the user's DataLoader; None for a bare dataset."""
    batching: Literal["size", "lists", "single"]
    """How batches are made: of a size that can be varied; as lists by the user's own
    batch_sampler; or not at all (batch_size=None)."""
    batch_examples: float
    """Mean examples of a batch where its size cannot be varied; 1 where it can."""
    example_s: float
    """Mean seconds to read one example in one process."""
    example_cpu_s: float
    """Mean CPU seconds of it, all threads."""
    example_bytes: int
    """Mean bytes of an example's tensors, arrays and strings."""
    tensors: int
    """Tensors in an example: each needs a descriptor when a batch is handed over."""
    start_method: str
    """How workers are started: fork, forkserver or spawn."""
    by_rows: bool = False
    """Whether it is a stream that makes its own batches (batch_size=None), of which the
    rows count as examples."""
    free_shapes: tuple[str, ...] = ()
    """Random fields whose shape differs from reading to reading as well."""
    padding: tuple[Padding, ...] = ()
    """Masks of a batch that must tell how long its examples are, by the contract."""
    left_out: tuple[int | str, ...] = ()
    """Ids of incomplete examples that a loader may leave out, by the contract."""
    needs_worker: bool = False
    """Whether it can only be read where get_worker_info() answers."""
    access: AccessFacts | None = None
    """Where the examples come from; None where it was not looked at."""
    units: tuple[UnitFacts, ...] = ()
    """What is counted beside examples and bytes."""
    collated_example_bytes: float | None = None
    """Bytes that an example has in a collated batch; None where none was collated."""
    hot: tuple[HotFunction, ...] = ()
    """Functions that carry the time of reading, the heaviest first; empty: none were
    looked for."""
    random_share: float = 1.0
    """Part of the examples that differ when they are read again, where any does."""
    own_class: bool = False
    """Whether trials read a loader of the class that the user's own is of, and that
    makes its batches in its own way."""
    accelerator: str | None = None
    """Type of the accelerator that PyTorch finds, such as `cuda`; None: none."""

    @property
    def own_config(self) -> LoaderConfig | None:
        """Settings of the user's own DataLoader; None: there is none."""
        return None if self.baseline is None else LoaderConfig.from_dict(self.baseline)

    @property
    def can_pin(self) -> bool:
        """Whether there is an accelerator for which PyTorch pins memory."""
        return self.accelerator is not None and self.accelerator not in UNPINNED

    @property
    def random_fields(self) -> tuple[str, ...]:
        """Paths of the fields that differ from reading to reading."""
        return tuple(field.path for field in self.fields if field.random)

    @property
    def fixed_fields(self) -> tuple[str, ...]:
        """Paths of the fields that every reading of an example has in common."""
        return tuple(field.path for field in self.fields if not field.random)

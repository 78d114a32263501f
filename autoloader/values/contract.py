"""The contract: what every config must deliver, whoever wrote it down.

Only the values and what contradicts itself in them. How a contract is inferred and held
stands in `audit.contract_inference` and `audit.contract`, its file in
`export.contract_file`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from autoloader.errors import did_you_mean
from autoloader.values.decode import Stored

Axes = Literal["channels_first", "channels_last"]

Shape = tuple[int | None, ...]
"""Sizes; None in place of a free one."""

VARIES = "varies"
"""Stands for a type or dtype that differs from example to example."""

_SIZE = re.compile(r"(.*)\[([0-9]+)\]", re.DOTALL)


def size_name(path: str, axis: int) -> str:
    """Return how a contract names one size of a field: `input_ids[0]`."""
    return f"{path}[{axis}]"


def parse_size(name: str) -> tuple[str, int]:
    """Return field and axis that a name such as `input_ids[0]` means.

    Raises:
        ValueError: it is no such name.
    """
    found = _SIZE.fullmatch(name)
    if found is None:
        msg = f"a size must be written FIELD[axis], such as input_ids[0], got {name!r}"
        raise ValueError(msg)
    return found[1], int(found[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractField(Stored):
    """One field (leaf) that an example must have."""

    path: str
    """Place in the example: `0`, `image`, `meta.key`; empty where it is the example."""
    type: str
    """`tensor`, `array`, `int`, `str`, ... or a class; `varies`: not held."""
    dtype: str | None = None
    """Element type; None or `varies`: not held."""
    shape: Shape | None = None
    """Sizes, None in place of a free one; None: there is none, or it is not held."""
    axes: Axes | None = None
    """Where an image has its channels; None: it is no image, or not held."""
    random: bool = False
    """Whether it differs when the same example is read again."""
    optional: bool = False
    """Whether an example may lack it, or have None there."""

    def __post_init__(self) -> None:
        """Check that the sizes can be sizes, and have room for the axes."""
        shape = self.shape
        least = min((size for size in shape or () if size is not None), default=0)
        if least < 0:
            msg = f"a size of {self.path!r} must be at least 0, got {least}"
            raise ValueError(msg)
        if self.axes is not None and (shape is None or len(shape) not in {3, 4}):
            many = "none" if shape is None else len(shape)
            msg = f"{self.axes} needs a shape of 3 or 4 sizes, {self.path!r} has {many}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractLabel(Stored):
    """The training target, and the values that it may take."""

    path: str
    """Where it is in the example: a field, or what fields lie under."""
    low: int | None = None
    """Least label; None where labels are no whole numbers, or not held."""
    high: int | None = None
    """Greatest label; None where labels are no whole numbers, or not held."""

    def __post_init__(self) -> None:
        """Check that low and high are a range, or neither is given."""
        if (self.low is None) != (self.high is None):
            msg = "a label has both low and high, or neither"
            raise ValueError(msg)
        if self.low is not None and self.high is not None and self.low > self.high:
            msg = f"low must be at most high, got {self.low} and {self.high}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Padding(Stored):
    """How a mask of a batch tells its examples from what fills them up.

    Row r of the mask has exactly as many true entries as example r is long, and they
    come first.
    """

    mask: str
    """Field of the batch."""
    of: str
    """Field of an example whose length the mask tells."""
    axis: int = 0
    """Axis of that field, from 0."""

    def __post_init__(self) -> None:
        """Check the axis."""
        if self.axis < 0:
            msg = f"axis must be at least 0, got {self.axis}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules(Stored):
    """How strictly a contract is held."""

    shapes: Literal["fixed", "free"] = "fixed"
    """`fixed`: sizes are those of the contract; `free`: only how many there are."""
    incomplete: Literal["refuse", "allow"] = "refuse"
    """What an example that breaks the contract does: it refuses the dataset, or is
    named as a caution."""
    filtered: bool = False
    """Whether a loader may leave out such examples (no others); False: none is ever
    left out."""

    def __post_init__(self) -> None:
        """Check that what may be left out is not refused before."""
        if self.filtered and self.incomplete == "refuse":
            msg = "filtered: true needs incomplete: allow, got incomplete: refuse"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract(Stored):
    """What every config must deliver."""

    examples: int | None = None
    """Examples of the dataset; None: not declared."""
    fields: tuple[ContractField, ...] = ()
    """Fields of an example, no others; empty: fields are not held."""
    label: ContractLabel | None = None
    """The training target; None: none named."""
    equal_sizes: tuple[tuple[str, ...], ...] = ()
    """Sizes such as `input_ids[0]` that are equal within each example, by group."""
    padding: tuple[Padding, ...] = ()
    """Masks of a batch that tell how long each example is."""
    rules: Rules = Rules()
    """How strictly all this is held."""
    seen: int = 0
    """Examples that it was inferred from; 0 where it was written by hand."""
    of: int | None = None
    """Examples that there were; None: not known."""

    def __post_init__(self) -> None:
        """Check the counts, and that each part names fields that there are."""
        for name, count in (("examples", self.examples), ("seen", self.seen)):
            if count is not None and count < 0:
                msg = f"{name} must be at least 0, got {count}"
                raise ValueError(msg)
        paths = [field.path for field in self.fields]
        for path, count in Counter(paths).items():
            if count > 1:
                msg = f"the field {path!r} is named twice"
                raise ValueError(msg)
        if self.label is not None:
            under = f"{self.label.path}."
            if not any(path.startswith(under) for path in paths):
                self._check_named("label", self.label.path)
        for group in self.equal_sizes:
            if len(group) < 2:
                msg = f"equal_sizes needs two sizes or more, got {list(group)}"
                raise ValueError(msg)
            for name in group:
                self._check_size("equal_sizes", *parse_size(name))
        for item in self.padding:
            self._check_size("padding", item.of, item.axis)

    def _check_named(self, section: str, path: str) -> ContractField | None:
        """Return the field that a section names; None where fields are not held."""
        if not self.fields:
            return None
        found = next((field for field in self.fields if field.path == path), None)
        if found is None:
            known = [field.path for field in self.fields]
            close = did_you_mean(path, known)
            way = close or f"fields are {', '.join(map(repr, known[:10]))}"
            msg = f"{section} names {path!r}, which is no field; {way}"
            raise ValueError(msg)
        return found

    def _check_size(self, section: str, path: str, axis: int) -> None:
        field = self._check_named(section, path)
        shape = None if field is None else field.shape
        if shape is not None and axis >= len(shape):
            msg = f"{section} names axis {axis} of {path!r}, which has {len(shape)}"
            raise ValueError(msg)

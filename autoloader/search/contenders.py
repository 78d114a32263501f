"""Say which configs are compared, and the letters that they go by.

Pure: what the user named and what the reference found in, contenders out. Files are
read by `export.config_file`.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from autoloader.errors import UsageError
from autoloader.values.config import LoaderConfig
from autoloader.values.decode import Stored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.values.scope import DatasetFacts, Scope

Source = Literal["given", "yours", "pytorch_default"]

DEFAULT_BATCH = 32
"""Batch size for a bare dataset where none is named."""

MOST_CONFIGS = len(string.ascii_uppercase)
"""Configs that one run compares: each goes by a letter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender(Stored):
    """One of the configs that are compared."""

    name: str
    """Letter that it goes by: equal configs have different ones."""
    number: int
    """Place among the outcomes, from 0."""
    source: str
    """`given`, `yours` (the DataLoader's own settings) or `pytorch_default`."""
    config: LoaderConfig


def contenders_of(
    texts: Sequence[str], *, batch_size: int | None, facts: DatasetFacts, scope: Scope
) -> tuple[Contender, ...]:
    """Return who is compared, the baseline first.

    One given config is compared with the DataLoader's own settings, or with PyTorch's
    default where there are none; the DataLoader's own settings with the default where
    none is given.

    Args:
        texts: given configs, such as `num_workers=4,prefetch_factor=2`.
        batch_size: examples a batch where a text names none; None: the DataLoader's
            own, else `DEFAULT_BATCH`.
        facts: of the dataset and its loader.
        scope: what is read.

    Raises:
        UsageError: there is nothing to compare, or a config cannot be.
    """
    size = _batch_size(batch_size, facts, scope)
    given = [LoaderConfig.parse(text, batch_size=size) for text in texts]
    _check_sizes(given, batch_size, facts)
    own = facts.own_config
    found: list[tuple[LoaderConfig, Source]] = [(config, "given") for config in given]
    if not found and own is not None:
        found = [(own, "yours")]
    if not found:
        msg = "there is nothing to compare: no --config, and the dataset has no loader"
        raise UsageError(msg, hint="--config num_workers=2 --config num_workers=4")
    if len(found) == 1:
        found.insert(0, _rival(found[0][0], own if given else None))
    return tuple(
        Contender(name=letter, number=number, source=source, config=config)
        for number, (letter, (config, source)) in enumerate(
            zip(string.ascii_uppercase, found, strict=False)
        )
    )


def _rival(
    config: LoaderConfig, own: LoaderConfig | None
) -> tuple[LoaderConfig, Source]:
    """Return what a single config is compared with."""
    default = LoaderConfig(num_workers=0, batch_size=config.batch_size)
    rival: tuple[LoaderConfig, Source] = (
        (default, "pytorch_default") if own is None else (own, "yours")
    )
    if rival[0] == config:
        which = "PyTorch's default" if own is None else "what the DataLoader has"
        msg = f"there is nothing to compare: {config.describe()} is {which}"
        hint = "add another --config, or name it twice to see how much readings scatter"
        raise UsageError(msg, hint=hint)
    return rival


def _batch_size(asked: int | None, facts: DatasetFacts, scope: Scope) -> int | None:
    if facts.batching != "size":
        return None
    own: int | None = (facts.baseline or {}).get("batch_size")
    whole = scope.epoch_examples or DEFAULT_BATCH
    return asked or own or min(DEFAULT_BATCH, whole)


def _check_sizes(
    given: Sequence[LoaderConfig], asked: int | None, facts: DatasetFacts
) -> None:
    """Refuse a batch size where the loader has none.

    Raises:
        UsageError: one is named.
    """
    named = [asked, *(config.batch_size for config in given)]
    size = next((size for size in named if size is not None), None)
    if facts.batching != "size" and size is not None:
        maker = "batch_sampler" if facts.batching == "lists" else "dataset"
        msg = f"batch_size cannot be set: the {maker} makes the batches, got {size}"
        raise UsageError(msg, hint="leave batch_size out")

"""A framework and the text that its users paste: what the modules beside this fill in.

Text layout and what is said of every framework alike stand here; keys, and what a
framework cannot express, in its own module.
"""

from __future__ import annotations

import shlex
import textwrap
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from autoloader.errors import UsageError, did_you_mean
from autoloader.export.yaml_text import visible, yaml_text
from autoloader.units import counted
from autoloader.values.config import LoaderConfig
from autoloader.values.decode import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from autoloader.export.frameworks.chosen import Chosen

Language = Literal["python", "yaml", "shell"]

WIDTH = 88
"""Columns of a comment."""

_SETTINGS = tuple(item.name for item in fields(LoaderConfig))

_BATCHES = {
    "lists": "the tuned loader has a batch_sampler of its own, and {title} cannot be "
    "handed one: the settings hold for that loader",
    "single": "the tuned dataset makes its batches itself (batch_size=None), and "
    "{title} makes them of single examples: the settings hold for that dataset",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """Settings as one framework takes them."""

    to: str
    """Name of the framework."""
    language: Language
    """What the text is."""
    text: str
    """The settings, ready to be pasted, with what to know of them as comments."""
    settings: dict[str, Any]
    """The same by the framework's own keys, nested as they are there."""
    warnings: tuple[str, ...]
    """What the framework cannot express, or does otherwise; comments of the text."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {
            "to": self.to,
            "language": self.language,
            "text": self.text,
            "settings": self.settings,
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """Names that are the user's own, not the framework's."""

    class_path: str | None = None
    """Dotted path of the class that takes the settings; None: not named."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What its arguments are called, by PyTorch's names; others are called the same."""

    def __post_init__(self) -> None:
        """Check that each name can be one."""
        path = self.class_path
        if path is not None and not _is_dotted(path):
            msg = f"--class is a dotted path such as data.Photos, got {shown(path)}"
            raise UsageError(msg)
        for setting, name in self.names.items():
            if setting not in _SETTINGS:
                msg = f"--rename knows no setting {shown(setting)}"
                hint = did_you_mean(setting, _SETTINGS) or ", ".join(_SETTINGS)
                raise UsageError(msg, hint=hint)
            if not name.isidentifier():
                msg = f"an argument's name is needed for --rename, got {shown(name)}"
                raise UsageError(msg, hint="--rename num_workers=workers")

    def renamed(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings under the user's names.

        Raises:
            UsageError: two settings would have one name.
        """
        found = {self.names.get(name, name): value for name, value in settings.items()}
        if len(found) < len(settings):
            names = [self.names.get(name, name) for name in settings]
            twice = next(name for name in names if names.count(name) > 1)
            msg = f"--rename gives two settings the name {twice!r}"
            raise UsageError(msg)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSize:
    """How a framework calls the batch size, and whose examples it counts."""

    name: str
    """Its key in full."""
    counts: Literal["process", "device", "run"]
    """Those of one training process, of one accelerator, or of all together."""
    is_needed: bool = False
    """Whether it is written where it was not searched as well: what is written makes a
    loader, whose default would be another."""

    def value(self, chosen: Chosen) -> int | None:
        """Return it as the framework counts; None where batches are not of a size."""
        if chosen.batch_size is None:
            return None
        return chosen.batch_size * (chosen.ranks if self.counts == "run" else 1)

    def written(self, chosen: Chosen) -> int | None:
        """Return what is written; None: what the user has stays.

        Another batch size trains differently. It is written where the study was allowed
        to choose it, or where there is no loader without.
        """
        is_meant = self.is_needed or chosen.is_batch_size_searched
        return self.value(chosen) if is_meant else None

    def setting(self, chosen: Chosen, key: str | None = None) -> dict[str, Any]:
        """Return what is written as a setting; empty where what the user has stays.

        Args:
            chosen: what was chosen.
            key: its key among the framework's settings; None: its name.
        """
        value = self.written(chosen)
        return {} if value is None else {key or self.name: value}

    def sentence(self, chosen: Chosen, name: str | None = None) -> str | None:
        """Return what it means; None where batches are not of a size.

        Args:
            chosen: what was chosen.
            name: what the user calls it; None: as the framework does.
        """
        value = self.value(chosen)
        if value is None:
            return None
        meaning = {
            "process": "examples of one training process (rank)",
            "device": "examples of one device",
            "run": f"examples of all ranks together: {chosen.batch_size} x "
            f"{counted(chosen.ranks, 'rank')} of one node",
        }[self.counts]
        called = name or self.name
        if self.written(chosen) is None:
            return (
                f"keep {called} at {value} ({meaning}): the settings were measured "
                "with it, and no other was searched"
            )
        searched = "; another batch size trains differently"
        return f"{called} counts {meaning}" + (
            searched if chosen.is_batch_size_searched else ""
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a framework's module makes of the settings."""

    settings: dict[str, Any]
    body: str
    """The text without comments."""
    notes: tuple[str, ...] = ()
    """What to know of it, which is no fault."""
    warnings: tuple[str, ...] = ()
    """What the framework cannot express, or does otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """Something that people train with, and how it is told the settings."""

    name: str
    """As `--to` has it."""
    title: str
    """As sentences have it."""
    since: str
    """Least version whose keys these are."""
    use: str
    """Where the text goes."""
    language: Language
    batch_size: BatchSize
    takes_any_batches: bool = False
    """Whether a batch_sampler, or a dataset that makes batches, can be handed on."""
    takes_names: bool = False
    """Whether class and arguments are the user's own (`Naming`)."""
    draft: Callable[[Chosen, Naming], Draft]
    """Makes the framework's settings of what was chosen."""

    def export(self, chosen: Chosen, naming: Naming | None = None) -> Export:
        """Return the settings as this framework takes them.

        Args:
            chosen: what was chosen.
            naming: the user's own names; None: there are none.

        Raises:
            UsageError: there are, and the framework's names are its own.
        """
        naming = Naming() if naming is None else naming
        if not self.takes_names and naming != Naming():
            msg = f"{self.title} has names of its own: --class and --rename do not fit"
            raise UsageError(msg, hint="they fit --to lightning and --to hydra")
        draft = self.draft(chosen, naming)
        warnings = (*self._warnings(chosen), *draft.warnings)
        renamed = naming.names.get(self.batch_size.name)
        said = (
            f"DataLoader settings of {chosen.dataset}, found by autoloader",
            f"{self.since} or newer: {self.use}",
            self.batch_size.sentence(chosen, renamed),
            *draft.notes,
            *(f"warning: {item}" for item in warnings),
        )
        head = "".join(_comment(item) for item in said if item is not None)
        return Export(
            to=self.name,
            language=self.language,
            text=f"{head}{draft.body.rstrip()}\n",
            settings=draft.settings,
            warnings=warnings,
        )

    def _warnings(self, chosen: Chosen) -> list[str]:
        """Return what is to be known of the choice, whichever framework takes it."""
        found = []
        if not chosen.is_met:
            asked = "" if chosen.asked is None else f" ({chosen.asked})"
            found.append(
                f"the target{asked} was not met: these are the best settings that were "
                "found, and they are too slow"
            )
        words = _BATCHES.get(chosen.batching)
        if words is not None and not self.takes_any_batches:
            found.append(words.format(title=self.title))
        return found


def fixed(chosen: Chosen, title: str, **values: int | bool) -> tuple[str, ...]:
    """Return which settings a framework does not let be set, where that matters.

    Args:
        chosen: what was chosen.
        title: of the framework.
        values: what the framework has at all times, by PyTorch's names. What needs
            workers is no loss where there are none.
    """
    lost = []
    for name, value in values.items():
        wanted = getattr(chosen, name)
        is_moot = name != "pin_memory" and not chosen.num_workers
        if wanted != value and not is_moot:
            lost.append(
                f"{name}={wanted} cannot be set: {title} has {name}={value} at all "
                "times, which was not what was measured"
            )
    return tuple(lost)


def python_call(
    name: str, settings: Mapping[str, Any], first: tuple[str, ...] = ()
) -> str:
    """Return a call in Python, one keyword argument a line.

    Args:
        name: what is called.
        settings: plain values by name.
        first: arguments before them, as they stand.
    """
    arguments = [*first, *(f"{key}={value!r}" for key, value in settings.items())]
    return "\n".join([f"{name}(", *(f"    {item}," for item in arguments), ")"])


def loader_call(chosen: Chosen, kind: str) -> str:
    """Return the line that makes a loader of class `kind`; dataset is the user's."""
    own = ("batch_sampler=batch_sampler",) if chosen.batching == "lists" else ()
    return python_call(
        f"loader = {kind}", chosen.dataloader_kwargs(), ("dataset", *own)
    )


def yaml_block(settings: Mapping[str, Any]) -> str:
    """Return nested settings as block YAML."""
    return yaml_text(dict(settings), width=WIDTH)


def flags(settings: Mapping[str, Any]) -> str:
    """Return settings as flags of a command line; a switch that is off is left out."""
    words: list[str] = []
    for name, value in settings.items():
        flag = f"--{name.replace('_', '-')}"
        if value is not False:
            words += [flag] if value is True else [flag, str(value)]
    return shlex.join(words)


def _comment(text: str) -> str:
    """Return a sentence as comment lines; nothing in it can end the comment."""
    lines = textwrap.wrap(
        visible(text),
        WIDTH,
        initial_indent="# ",
        subsequent_indent="#   ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "".join(f"{line}\n" for line in lines)


def _is_dotted(path: str) -> bool:
    return all(part.isidentifier() for part in path.split("."))

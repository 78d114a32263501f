"""The recommendation: settings first, evidence below, readable without this package.

`DataLoader(dataset, **yaml["dataloader"])` works as it stands. Read by `safe_load`
only; nothing in a file is ever executed.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.errors import (
    AutoloaderError,
    StoredFileError,
    UsageError,
    did_you_mean,
)
from autoloader.export.plain_yaml import plain_yaml
from autoloader.export.yaml_text import TextDumper, visible, yaml_text
from autoloader.files import write_whole
from autoloader.values.config import DEFAULT_PREFETCH, LoaderConfig
from autoloader.values.decode import shown, value_of
from autoloader.values.machine import Machine
from autoloader.values.text_file import read_text

if TYPE_CHECKING:
    import yaml
    from torch.utils.data import DataLoader

SCHEMA = 1

_SECTIONS = (
    "schema", "dataset", "dataloader", "target", "measured", "compared", "knobs",
    "pinning", "step", "verified", "cautions", "limit", "needs", "scope", "request",
    "contract",
    "machine", "versions", "study",
)  # fmt: skip

_REQUIRED = ("schema", "dataset", "dataloader", "target", "machine")

_HEAD = """\
# DataLoader settings found by autoloader, with the evidence they rest on.
# Use:  DataLoader(dataset, **yaml.safe_load(open({name}))["dataloader"])
# or:   autoloader.load({name}).dataloader(dataset)
"""


class OtherMachineWarning(UserWarning):
    """A recommendation is used where it was not measured: hardware, or local ranks."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A chosen config with its evidence, as it is written to YAML."""

    data: dict[str, Any]
    """All sections by name, plain values only."""

    @property
    def config(self) -> LoaderConfig:
        """The chosen config."""
        return _config_of(self.data["dataloader"])

    @property
    def settings(self) -> dict[str, Any]:
        """Keyword arguments for `DataLoader`, as they were found, as a fresh dict."""
        return dict(self.data["dataloader"])

    @property
    def is_met(self) -> bool:
        """Whether the target was shown to be met."""
        return bool(self.data["target"]["met"])

    def kwargs(self, to: str = "torch") -> dict[str, Any]:
        """Return the settings under a framework's own keys, as a fresh dict.

        Values that the framework refuses together, and None where it means nothing, are
        left out.

        Args:
            to: name of the framework, as for `autoloader export --to`.

        Raises:
            UsageError: there is no such framework.
        """
        from autoloader.export.frameworks import export_to  # all of them

        return export_to(self, to).settings

    def dataloader(self, dataset: Any, **overrides: Any) -> DataLoader[Any]:
        """Return a `DataLoader` over `dataset` with the recommended settings.

        Args:
            dataset: any dataset; the evidence holds for the one that was tuned.
            overrides: further or other arguments of `DataLoader`, such as `shuffle`.
        """
        from autoloader.export.frameworks.torch import build

        self.warn_if_elsewhere()
        return build(dataset, {**self.settings, **overrides})

    def warn_if_elsewhere(self) -> None:
        """Warn where this machine, or the number of its ranks, was not measured."""
        from autoloader.measure.machine import read_machine  # psutil

        here, measured = read_machine(), Machine.from_dict(self.data["machine"])
        if here.key != measured.key:
            text = (
                f"the settings were measured on {measured.key}, "
                f"this machine is {here.key}; {self._again()} here"
            )
            warnings.warn(text, OtherMachineWarning, stacklevel=3)
        ranks = os.environ.get("LOCAL_WORLD_SIZE")
        known = self.data["target"].get("ranks", 1)
        if ranks is not None and ranks != str(known):
            text = (
                f"the settings were measured for ranks={known}, "
                f"LOCAL_WORLD_SIZE is {ranks}; {self._again(ranks)}"
            )
            warnings.warn(text, OtherMachineWarning, stacklevel=3)

    def _again(self, ranks: str | None = None) -> str:
        """Return how to tune again; what has no SPEC was given to the Python API."""
        dataset = self.data["dataset"]
        if ":" not in dataset:
            more = "" if ranks is None else f", ranks={ranks}"
            return f"run `autoloader.tune(dataset{more})`"
        more = "" if ranks is None else f" --ranks {ranks}"
        return f"run `autoloader tune --dataset {dataset}{more}`"

    def write(self, path: Path) -> None:
        """Write the file at once, or leave what stands there untouched."""
        write_whole(path, self.to_yaml(path.name))

    def to_yaml(self, name: str = "autoloader.yaml") -> str:
        """Return the file's text."""
        head = _HEAD.format(name=json.dumps(name, ensure_ascii=False))
        return visible(head) + yaml_text(self.data, _Dumper, width=100)


def load(path: str | Path) -> Recommendation:
    """Return the recommendation in a file, or the one of this hardware in a folder.

    Raises:
        UsageError: there is no such file, or the folder has none for this machine.
        StoredFileError: it is damaged, of another schema, or no recommendation.
    """
    if not _is_folder(path):
        return _load_file(path)
    from autoloader.measure.machine import read_machine  # psutil

    return _load_file(file_for(Path(path), read_machine()))


def file_for(folder: Path, machine: Machine) -> Path:
    """Return the file of a folder that holds a machine's kind of hardware.

    The one that is named for it, else one whose machine it is.

    Raises:
        UsageError: there is none; says which there are, and the nearest.
    """
    named = folder / machine.file_name
    if named.is_file():
        return named
    there = recommendations_in(folder)
    for path, other in there.items():
        if other.key == machine.key:
            return path
    if not there:
        raise _nothing_at(folder)
    kinds = ", ".join(sorted({other.key for other in there.values()}))
    msg = f"{folder} has no recommendation for this machine, {machine.key}; it has "
    path = nearest_in(there, machine)
    hint = (
        f"nearest is {path.name}; `autoloader retune {folder}` or `autoloader tune "
        f"--dataset SPEC --out {folder}/` adds one of this machine's own"
    )
    raise UsageError(msg + kinds, hint=hint)


def recommendations_in(folder: Path) -> dict[Path, Machine]:
    """Return the recommendations of a folder with where they were measured.

    Files of others are left out, and so are damaged ones.
    """
    found: dict[Path, Machine] = {}
    for path in sorted(folder.glob("*.yaml")):
        with contextlib.suppress(AutoloaderError):
            found[path] = Machine.from_dict(_load_file(path).data["machine"])
    return found


def nearest_in(there: Mapping[Path, Machine], machine: Machine) -> Path:
    """Return the recommendation whose hardware is most like a machine's.

    By accelerators, then the CPU model, then how many times as many CPUs it has.
    """

    def distance(path: Path) -> tuple[bool, bool, float]:
        other = there[path]
        devices = [[item.name for item in one.accelerators] for one in (other, machine)]
        ratio = math.log(other.effective_cpus / machine.effective_cpus)
        return devices[0] != devices[1], other.cpu_model != machine.cpu_model, ratio**2

    return min(there, key=distance)


def _is_folder(path: str | Path) -> bool:
    try:
        return Path(path).is_dir()
    except OSError:  # a name that is too long, say
        return False


def _nothing_at(path: str | Path) -> UsageError:
    msg = f"there is no recommendation at {path}"
    return UsageError(msg, hint="`autoloader tune --dataset SPEC` writes one")


def _load_file(path: str | Path) -> Recommendation:
    """Return the recommendation in a file; errors are those of `load`."""
    try:
        data = plain_yaml(read_text(Path(path)), called=str(path))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as exc:
        raise _nothing_at(path) from exc
    except OSError as exc:
        msg = f"{path} cannot be read: {exc.strerror}"
        raise StoredFileError(msg) from exc
    except ValueError as exc:
        raise StoredFileError(str(exc)) from exc
    return Recommendation(_checked(data, path))


def _checked(data: object, path: str | Path) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        kind = type(data).__name__
        msg = f"{path} is no recommendation: a mapping is needed, not {kind}"
        raise StoredFileError(msg)
    if "schema" in data and data["schema"] != SCHEMA:
        msg = f"{path} has schema {shown(data['schema'])}, this version reads {SCHEMA}"
        raise StoredFileError(msg, hint="upgrade the package, or tune again")
    missing = next((name for name in _REQUIRED if name not in data), None)
    if missing is not None:
        msg = f"{path} is no recommendation: it lacks {missing!r}"
        raise StoredFileError(msg)
    unknown = next((name for name in data if name not in _SECTIONS), None)
    if unknown is not None:
        msg = f"{path} has an unknown section {shown(unknown)}"
        raise StoredFileError(msg, hint=did_you_mean(str(unknown), _SECTIONS))
    try:
        _check_used(data)
    except StoredFileError as exc:
        msg = f"{path}: {exc.message}"
        raise StoredFileError(msg, hint=exc.hint) from exc
    return {str(name): value for name, value in data.items()}


def _check_used(data: Mapping[str, Any]) -> None:
    """Check what is used of a file; the evidence is for people, and told as it is.

    Raises:
        StoredFileError: a value is missing, or of another type; says where.
    """
    if not isinstance(data["dataset"], str):
        msg = f"dataset must be str, got {shown(data['dataset'])}"
        raise StoredFileError(msg)
    target = data["target"]
    if not isinstance(target, Mapping) or "met" not in target:
        msg = "target must say whether it is met, yes or no"
        raise StoredFileError(msg)
    if not isinstance(target["met"], bool):
        msg = f"target.met must be true or false, got {shown(target['met'])}"
        raise StoredFileError(msg)
    ranks = target.get("ranks", 1)
    if isinstance(ranks, bool) or not isinstance(ranks, int) or ranks < 1:
        msg = "target.ranks must be a whole number of at least 1, got "
        raise StoredFileError(msg + shown(ranks))
    _config_of(data["dataloader"])
    value_of(Machine, data["machine"], place="machine")


def _config_of(settings: object) -> LoaderConfig:
    """Return the settings as a config; PyTorch's prefetch_factor where none is named.

    Beside a batch_sampler of the user's own no batch size is named.

    Raises:
        StoredFileError: they are not what `DataLoader` takes.
    """
    if isinstance(settings, Mapping):  # a batch_sampler leaves the size out
        settings = {"batch_size": None, **settings}
    if isinstance(settings, Mapping) and settings.get("num_workers"):
        named = settings.get("prefetch_factor")
        factor = DEFAULT_PREFETCH if named is None else named
        settings = {**settings, "prefetch_factor": factor}
    return value_of(LoaderConfig, settings, place="dataloader")


class _Dumper(TextDumper):
    """Block style, but lists of numbers and names on one line."""


def _represent_list(dumper: yaml.SafeDumper, data: list[Any]) -> yaml.Node:
    flat = all(isinstance(item, (int, float, str, bool)) for item in data)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=flat)


def _represent_float(dumper: yaml.SafeDumper, value: float) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:float", _short(value))


def _short(value: float) -> str:
    """Return six significant digits, always as a float that YAML reads back.

    Raises:
        ValueError: it is no finite number, which no evidence is.
    """
    if not math.isfinite(value):
        msg = f"a recommendation holds finite numbers only, got {value}"
        raise ValueError(msg)
    text = f"{value:.6g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{int(exponent):+d}"
    return text if "." in text else f"{text}.0"


_Dumper.add_representer(list, _represent_list)
_Dumper.add_representer(float, _represent_float)

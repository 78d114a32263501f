"""Read out of a recommendation what a night is held against, and how it was asked for.

What a study wrote of itself for later: the sections `measured`, `compared`, `target`,
`scope`, `verified` and `request`. A file that lacks them can be used, but not verified.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from autoloader.errors import StoredFileError
from autoloader.search.baseline import Baseline, Rival, RivalName
from autoloader.search.shifts import LEAST_ROUNDS
from autoloader.values.config import DEFAULT_PREFETCH, LoaderConfig
from autoloader.values.decode import shown, value_of
from autoloader.values.target import Target

if TYPE_CHECKING:
    from pathlib import Path

    from autoloader.export.recommendation import Recommendation


_LARGEST = 1e300
"""Rates lie below: larger whole numbers would not even be floats."""


def read_request(
    recommendation: Recommendation, path: Path
) -> tuple[str, Mapping[str, Any]]:
    """Return the working folder of the tune, from the file's own, and its flags.

    Raises:
        StoredFileError: the file does not say how it was asked for.
    """
    data = recommendation.data
    if "request" not in data:
        msg = f"{path} does not say how it was asked for, so that nothing is repeated"
        raise StoredFileError(msg, hint=_hint_to_ask(str(data["dataset"]), path))
    place = f"{path}: request"
    section = _mapping(data["request"], place)
    folder, flags = section.get("folder"), section.get("flags")
    if not isinstance(folder, str) or "\0" in folder:
        msg = f"{place}.folder must be str, got {shown(folder)}"
        raise StoredFileError(msg)
    return folder, _mapping(flags, f"{place}.flags")


def _hint_to_ask(dataset: str, path: Path) -> str:
    """Return how a file comes about that says how it was asked for."""
    if ":" in dataset:
        return (
            f"an earlier version wrote it: `autoloader tune --dataset {dataset} --out "
            f"{path}` with the same flags does"
        )
    return (
        f"{dataset} was an object of a running script, gone with it: `autoloader tune "
        f"--dataset MODULE:FUNCTION --out {path}`, with a function that makes it, does"
    )


def read_baseline(recommendation: Recommendation, path: Path) -> Baseline:
    """Return what a night can be compared with.

    Raises:
        StoredFileError: a section is missing or wrong; says where.
    """
    data = recommendation.data
    target = _mapping(data["target"], f"{path}: target")
    scope = _mapping(data.get("scope"), f"{path}: scope")
    verified = data.get("verified")
    measured = _mapping(data.get("measured"), f"{path}: measured")
    rates = _numbers(measured.get("readings"), f"{path}: measured.readings")
    if not rates:
        msg = f"{path}: measured.readings must have a rate, got none"
        raise StoredFileError(msg)
    flags = read_request(recommendation, path)[1]
    return Baseline(
        config=recommendation.config,
        rates=rates,
        rivals=_rivals(recommendation, path),
        target=_target(target, path),
        ranks=target.get("ranks", 1),
        is_memory_asked="memory" in flags,
        examples=_count(scope.get("examples"), f"{path}: scope.examples"),
        verified=None
        if verified is None
        else _count(
            _mapping(verified, f"{path}: verified").get("examples"),
            f"{path}: verified.examples",
        ),
    )


def _target(section: Mapping[str, Any], path: Path) -> Target:
    """Return what is wanted, of all ranks: a share where it was one, else the rate."""
    share = section.get("share_of_best")
    found = {
        "share_of_best": share,
        "examples_per_s": section.get("examples_per_s") if share is None else None,
        "memory_bytes": section.get("memory_bytes"),
    }
    return value_of(Target, found, place=f"{path}: target")


def _rivals(recommendation: Recommendation, path: Path) -> tuple[Rival, ...]:
    """Return PyTorch's default, and the first of the others that is another config."""
    place = f"{path}: compared"
    section = _mapping(recommendation.data.get("compared"), place)
    names: tuple[RivalName, ...] = ("pytorch_default", "fastest", "yours")
    found: list[Rival] = []
    known = {recommendation.config}
    for name in names:
        has_second = any(item.name != "pytorch_default" for item in found)
        if section.get(name) is None or has_second:
            continue
        rival = _rival(name, _mapping(section[name], f"{place}.{name}"), place)
        if rival.config not in known and len(rival.ratios) >= LEAST_ROUNDS:
            known.add(rival.config)
            found.append(rival)
    return tuple(found)


def _rival(name: RivalName, entry: Mapping[str, Any], place: str) -> Rival:
    settings = _mapping(entry.get("dataloader"), f"{place}.{name}.dataloader")
    ratios = _numbers(entry.get("ratios", []), f"{place}.{name}.ratios")
    return Rival(name=name, config=_config(settings, place, name), ratios=ratios)


def _config(settings: Mapping[str, Any], place: str, name: str) -> LoaderConfig:
    whole: dict[str, Any] = {"batch_size": None, **settings}
    if whole.get("num_workers") and whole.get("prefetch_factor") is None:
        whole["prefetch_factor"] = DEFAULT_PREFETCH
    return value_of(LoaderConfig, whole, place=f"{place}.{name}.dataloader")


def _mapping(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        msg = f"{place} must be a mapping, got {shown(value)}"
        raise StoredFileError(msg)
    return value


def _numbers(value: object, place: str) -> tuple[float, ...]:
    """Return a list of numbers above 0."""
    items = value if isinstance(value, list) else None
    if items is None or not all(_is_rate(item) for item in items):
        msg = f"{place} must be a list of numbers above 0, got {shown(value)}"
        raise StoredFileError(msg)
    return tuple(float(item) for item in items)


def _is_rate(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return 0 < value < _LARGEST


def _count(value: object, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        msg = f"{place} must be a whole number of at least 1, got {shown(value)}"
        raise StoredFileError(msg)
    return value

"""Read a config that the user named: as text, or as a file with settings.

A recommendation is such a file, and so is a plain mapping of DataLoader's settings.
What the settings mean is `values.config`'s.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.errors import UsageError
from autoloader.values.config import LoaderConfig
from autoloader.values.text_file import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping

_SUFFIXES = (".yaml", ".yml")


def settings_text(given: str) -> str:
    """Return `num_workers=4,prefetch_factor=2`, whichever way it was named.

    Args:
        given: such a text, or the path of a YAML file with these settings, by
            themselves or under `dataloader`.

    Raises:
        UsageError: the file cannot be read, or the settings are none.
    """
    if not given.strip():
        msg = "--config is empty"
        raise UsageError(msg, hint="num_workers=4,prefetch_factor=2, or a file")
    path = Path(given)
    if not given.endswith(_SUFFIXES):
        LoaderConfig.parse(given, batch_size=1)
        return given
    named = _settings(path).items()
    text = ",".join(f"{_word(name)}={_word(value)}" for name, value in named)
    try:
        LoaderConfig.parse(text, batch_size=1)
    except UsageError as exc:
        msg = f"{path}: {exc.message}"
        raise UsageError(msg, hint=exc.hint) from exc
    return text


def _settings(path: Path) -> Mapping[str, Any]:
    """Return the settings in a file, as they stand."""
    from autoloader.export.plain_yaml import plain_yaml  # only where a file is named

    try:
        data = plain_yaml(read_text(path), called=f"--config {path}")
    except OSError as exc:
        msg = f"--config {path} cannot be read: {exc.strerror}"
        raise UsageError(
            msg, hint="num_workers=4,prefetch_factor=2, or a file"
        ) from exc
    except ValueError as exc:
        raise UsageError(str(exc)) from exc
    settings = data.get("dataloader", data) if isinstance(data, dict) else data
    if not isinstance(settings, dict) or not settings:
        msg = f"--config {path} holds no settings: a mapping is needed"
        raise UsageError(msg, hint="num_workers: 4, or the same under dataloader")
    return settings


def _word(value: object) -> str:
    """Return a setting as text; commas in it would make two of it."""
    return str(value).replace(",", ";")

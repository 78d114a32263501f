"""Read a config that the user named: as text, or as a file with settings.

A recommendation is such a file, and so is a plain mapping of DataLoader's settings.
What the settings mean is `values.config`'s.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.errors import UsageError
from autoloader.values.config import LoaderConfig

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
    text = ",".join(f"{name}={_word(value)}" for name, value in _settings(path).items())
    try:
        LoaderConfig.parse(text, batch_size=1)
    except UsageError as exc:
        msg = f"{path}: {exc.message}"
        raise UsageError(msg, hint=exc.hint) from exc
    return text


def _settings(path: Path) -> Mapping[str, Any]:
    """Return the settings in a file, as they stand."""
    import yaml  # only where a file is named

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as exc:
        msg = f"--config {path} cannot be read: {exc.strerror}"
        raise UsageError(
            msg, hint="num_workers=4,prefetch_factor=2, or a file"
        ) from exc
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as exc:
        msg = f"--config {path} is no YAML: {str(exc).splitlines()[0]}"
        raise UsageError(msg) from exc
    settings = data.get("dataloader", data) if isinstance(data, dict) else data
    if not isinstance(settings, dict) or not settings:
        msg = f"--config {path} holds no settings: a mapping is needed"
        raise UsageError(msg, hint="num_workers: 4, or the same under dataloader")
    return settings


def _word(value: object) -> str:
    """Return a setting as text; commas in it would make two of it."""
    return str(value).replace(",", ";")

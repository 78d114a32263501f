"""Recommended settings as text to paste: YAML, PyTorch, and this package's own line.

Pure: settings in, text out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoloader.export.frameworks import exports
from autoloader.export.frameworks.snippet import python_call
from autoloader.export.yaml_text import yaml_text
from autoloader.report.sentences import loading_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoloader.export.recommendation import Recommendation


@dataclass(frozen=True, slots=True, kw_only=True)
class Paste:
    """Text for one place."""

    name: str
    """Stable, of letters and dashes."""
    title: str
    """Where it goes."""
    text: str


def snippets_of(settings: Mapping[str, Any], path: str) -> tuple[Paste, ...]:
    """Return settings as text for each place they may go to.

    Args:
        settings: keyword arguments of `DataLoader`.
        path: the recommendation.
    """
    return (
        Paste(name="pytorch", title="PyTorch", text=pytorch_text(settings)),
        Paste(name="yaml", title="YAML", text=settings_yaml(settings)),
        Paste(
            name="load",
            title="autoloader",
            text=f"import autoloader\n\n{loading_line(path)}\n",
        ),
    )


def framework_snippets(recommendation: Recommendation) -> tuple[Paste, ...]:
    """Return settings as each framework takes them, PyTorch itself left out.

    Args:
        recommendation: what was found.
    """
    return tuple(
        Paste(name=name, title=name, text=item.text)
        for name, item in exports(recommendation).items()
        if name != "torch"
    )


def pytorch_text(settings: Mapping[str, Any]) -> str:
    """Return the call of `DataLoader` with these settings."""
    call = python_call("loader = DataLoader", settings, ("dataset",))
    return f"from torch.utils.data import DataLoader\n\n{call}\n"


def settings_yaml(settings: Mapping[str, Any]) -> str:
    """Return the settings as the section of a recommendation has them."""
    return yaml_text({"dataloader": dict(settings)}, width=100)

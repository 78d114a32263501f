"""All frameworks that settings can be handed to, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.errors import UsageError, did_you_mean
from autoloader.export.frameworks import (
    accelerate,
    composer,
    detectron2,
    fairseq,
    hydra,
    lightning,
    mmengine,
    nemo,
    stateful,
    timm,
    torch,
    transformers,
    ultralytics,
)
from autoloader.export.frameworks.chosen import Chosen
from autoloader.values.decode import shown

if TYPE_CHECKING:
    from autoloader.export.frameworks.snippet import Export, Framework, Naming
    from autoloader.export.recommendation import Recommendation

_FRAMEWORKS: dict[str, Framework] = {
    item.name: item
    for item in (
        torch.FRAMEWORK,
        transformers.FRAMEWORK,
        accelerate.FRAMEWORK,
        lightning.FRAMEWORK,
        hydra.FRAMEWORK,
        timm.FRAMEWORK,
        stateful.FRAMEWORK,
        ultralytics.FRAMEWORK,
        mmengine.FRAMEWORK,
        composer.FRAMEWORK,
        detectron2.YACS,
        detectron2.LAZY,
        nemo.FRAMEWORK,
        fairseq.FRAMEWORK,
    )
}

NAMES = tuple(_FRAMEWORKS)
"""What `--to` takes, the most used first."""


def export_to(
    recommendation: Recommendation, name: str, naming: Naming | None = None
) -> Export:
    """Return the settings of a recommendation as one framework takes them.

    Args:
        recommendation: what was found.
        name: of the framework.
        naming: names of the user's own, where the framework leaves them to users.

    Raises:
        UsageError: there is no such framework, or its names are its own.
    """
    framework = _FRAMEWORKS.get(name)
    if framework is None:
        msg = f"there is no framework {shown(name)} to export to"
        hint = did_you_mean(name, NAMES) or f"frameworks are {', '.join(NAMES)}"
        raise UsageError(msg, hint=hint)
    return framework.export(Chosen.of(recommendation), naming)


def exports(recommendation: Recommendation) -> dict[str, Export]:
    """Return the settings as each framework takes them, by its name."""
    chosen = Chosen.of(recommendation)
    return {name: item.export(chosen) for name, item in _FRAMEWORKS.items()}

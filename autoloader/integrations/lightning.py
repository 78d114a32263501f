"""Lightning: what a DataModule trains on, and a recommendation put into its loader.

    autoloader tune --dataset data.py:PhotoModule --arg root=/data

tunes what a DataModule trains on; `train_loader` gives the same to a script. Then
either `apply(recommendation, datamodule)`, or
`Trainer(callbacks=[Recommended(recommendation)])`. Sampler, collate_fn and all else of
the loader stay what they are.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

from torch.utils.data import DataLoader

from autoloader.child.trainers import of_data_module, remade
from autoloader.errors import UsageError
from autoloader.export.frameworks.chosen import Chosen

try:
    from lightning.pytorch import Callback, LightningModule
except ModuleNotFoundError:  # the same under its older name
    from pytorch_lightning import Callback, LightningModule

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.export.recommendation import Recommendation


class Recommended(Callback):  # type: ignore[misc]  # untyped where it is not installed
    """Train with the recommended settings, whatever the DataModule says.

    Args:
        recommendation: what was found.
    """

    def __init__(self, recommendation: Recommendation) -> None:
        super().__init__()
        self._recommendation = recommendation

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Take the place of the loader's maker, before the loader is made.

        Raises:
            UsageError: neither DataModule nor module makes one.
        """
        if stage != "fit":
            return
        source = trainer.datamodule
        if source is None:
            source = pl_module
            if type(source).train_dataloader is LightningModule.train_dataloader:
                msg = (
                    "trainer.fit() was handed a loader, which a callback cannot change"
                )
                hint = "hand it autoloader.load(FILE).dataloader(dataset)"
                raise UsageError(msg, hint=hint)
        apply(self._recommendation, source)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Warn where the training goes on with another loader all the same."""
        del pl_module
        wanted = self._recommendation.config.num_workers
        found = getattr(trainer.train_dataloader, "num_workers", None)
        if found != wanted:
            text = (
                f"the training loader has num_workers={found}, not the recommended "
                f"{wanted}: a loader handed to trainer.fit() is not changed"
            )
            warnings.warn(text, UserWarning, stacklevel=2)


def train_loader(datamodule: Any) -> DataLoader[Any]:
    """Return the loader that a DataModule trains with, prepared and set up for it.

    Raises:
        UsageError: it has several, or something else.
    """
    return of_data_module(datamodule)


def apply(recommendation: Recommendation, source: Any) -> None:
    """Make a DataModule give its training loader with the recommended settings.

    Warns, as `Recommendation.dataloader` does, on other hardware.

    Args:
        recommendation: what was found.
        source: a DataModule, or a LightningModule that makes its loader.
    """
    recommendation.warn_if_elsewhere()
    make = source.train_dataloader
    if isinstance(make, partial) and make.func is _recommended:
        make = make.args[1]
    source.train_dataloader = partial(_recommended, recommendation, make)


def _recommended(
    recommendation: Recommendation, make: Callable[[], Any]
) -> DataLoader[Any]:
    """Return what `make` makes, with the recommended settings.

    The batch size is changed where others were searched; else it is the user's own.
    """
    loader = make()
    if not isinstance(loader, DataLoader):
        msg = (
            f"the training loader is a {type(loader).__name__}, and one DataLoader is "
            "needed"
        )
        raise UsageError(msg, hint="recommendation.kwargs() has the settings for each")
    chosen = Chosen.of(recommendation)
    changes = chosen.worker_kwargs()
    own = loader.batch_size
    if chosen.batch_size is not None and own is not None:
        if chosen.is_batch_size_searched:
            changes["batch_size"] = chosen.batch_size
        elif own != chosen.batch_size:
            text = (
                f"the loader makes batches of {own}, the settings were measured with "
                f"{chosen.batch_size}, and no other was searched"
            )
            warnings.warn(text, UserWarning, stacklevel=2)
    return remade(loader, **changes)

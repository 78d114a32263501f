"""Call what a training calls before each epoch: `set_epoch`, and the user's own hook.

Called in the training process, as a trainer does: kept workers do not hear of it unless
the dataset shares it with them, and that is what the gate looks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.child.source import load_function
from autoloader.errors import DatasetError

if TYPE_CHECKING:
    from collections.abc import Callable


class EpochCalls:
    """What is called before an epoch.

    Args:
        dataset: the user's; its `set_epoch(epoch)` is called where it has one.
        hook: the user's function, called with dataset and epoch; None: none.
    """

    def __init__(
        self, dataset: Any, hook: Callable[[Any, int], object] | None = None
    ) -> None:
        self._dataset = dataset
        self._hook = hook
        self._set_epoch = getattr(dataset, "set_epoch", None)

    @classmethod
    def of(cls, dataset: Any, on_epoch: str | None) -> EpochCalls:
        """Return the calls for a dataset.

        Args:
            dataset: the user's.
            on_epoch: SPEC of the hook; None: none.

        Raises:
            UsageError: the SPEC names no function.
        """
        if on_epoch is None:
            return cls(dataset, None)
        takes = "it is called with the dataset and the epoch"
        return cls(dataset, load_function(on_epoch, flag="--on-epoch", takes=takes))

    @property
    def may_change_data(self) -> bool:
        """Whether examples may be others in another epoch."""
        return self._hook is not None or callable(self._set_epoch)

    def begin(self, epoch: int) -> None:
        """Tell the dataset that an epoch begins."""
        if callable(self._set_epoch):
            self._set_epoch(epoch)
        if self._hook is not None:
            self._hook(self._dataset, epoch)

    def begin_alone(self, epoch: int) -> None:
        """Tell the dataset, in a process that has no workers.

        Raises:
            DatasetError: the dataset or the hook raises.
        """
        try:
            self.begin(epoch)
        except Exception as exc:
            msg = (
                f"beginning epoch {epoch} fails in one process: "
                f"{type(exc).__name__}: {exc}"
            ).removesuffix(": ")
            hint = "set_epoch(epoch), then --on-epoch with dataset and epoch, is called"
            raise DatasetError(msg, hint=hint) from exc

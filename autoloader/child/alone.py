"""Read a dataset in one process that may only be readable in a worker.

The usual cause is a handle that worker_init_fn opens: this is then worker 0 of 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.child.stream import as_worker

if TYPE_CHECKING:
    from contextlib import ExitStack

    from autoloader.child.loader import LoaderParts


def enter_worker(stack: ExitStack, parts: LoaderParts, first: Any, seed: int) -> bool:
    """Be worker 0 of 1 where an example cannot be read otherwise.

    Args:
        stack: until it is closed.
        parts: the user's dataset and loader.
        first: id of the example that is tried.
        seed: of the worker's generators.

    Returns:
        Whether this process is a worker now.
    """
    dataset = parts.dataset
    try:
        dataset[first]
    except Exception:  # noqa: BLE001  # whatever it raises, a worker may not
        begin = getattr(parts.loader, "worker_init_fn", None)
        try:
            with as_worker(dataset, 0, 1, seed, begin):
                dataset[first]
        except Exception:  # noqa: BLE001  # who reads it next will say so
            return False
        stack.enter_context(as_worker(dataset, 0, 1, seed))
        return True
    return False

"""Recommendations as frameworks are handed them, of any settings."""

from __future__ import annotations

from typing import Any

from autoloader.export.recommendation import Recommendation
from tests.fakes import a_machine

SETTINGS = {
    "batch_size": 64,
    "num_workers": 6,
    "pin_memory": True,
    "persistent_workers": True,
    "prefetch_factor": 4,
}

WITHOUT_WORKERS = {
    "batch_size": 64,
    "num_workers": 0,
    "pin_memory": False,
    "persistent_workers": False,
}


def a_recommendation(
    settings: dict[str, Any] | None = None,
    *,
    sizes: tuple[int, ...] = (64,),
    ranks: int = 1,
    met: bool = True,
    stream: bool = False,
    dataset: str = "mypackage.data:train_set",
) -> Recommendation:
    """Return a recommendation.

    Args:
        settings: as in the file; None: six workers, with all there is.
        sizes: batch sizes that were allowed.
        ranks: training processes of the node.
        met: whether the target was met.
        stream: whether the dataset is one.
        dataset: its SPEC.
    """
    return Recommendation(
        {
            "schema": 1,
            "dataset": dataset,
            "dataloader": dict(SETTINGS if settings is None else settings),
            "target": {"asked": "2,000 examples/s", "met": met, "ranks": ranks},
            "scope": {"stream": {"replays": True} if stream else None},
            "machine": a_machine(8).to_dict(),
            "study": {"space": {"batch_size": list(sizes)}},
        }
    )


def without(*names: str, **changes: Any) -> dict[str, Any]:
    """Return the usual settings, some left out, some changed."""
    kept = {name: value for name, value in SETTINGS.items() if name not in names}
    return {**kept, **changes}

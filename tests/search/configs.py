"""Configs of batch 64, as the tests of the search name them."""

from autoloader.values.config import LoaderConfig


def config(workers: int, prefetch: int = 2, *, kept: bool = False) -> LoaderConfig:
    """Return a config of batch 64."""
    return LoaderConfig.canonical(
        num_workers=workers,
        prefetch_factor=prefetch,
        persistent_workers=kept,
        batch_size=64,
    )


def configs_up_to(workers: int) -> tuple[LoaderConfig, ...]:
    """Return all configs of so many workers, prefetch 2 and 4, kept and not."""
    return tuple(
        dict.fromkeys(
            config(count, prefetch, kept=kept)
            for count in range(workers + 1)
            for prefetch in (2, 4)
            for kept in (False, True)
        )
    )

"""Detectron2: the older config of nodes (yacs), and the newer one in Python (lazy).

Read in the repository of June 2026: `detectron2/data/build.py`,
`_train_loader_from_config`, takes batch size and workers from a yacs config, and
nothing else; `build_detection_train_loader`, which `dataloader.train` of a lazy config
calls, hands prefetch factor, pinning and kept workers on to the DataLoader. The release
0.6 of 2021 does not yet. `build_batch_data_loader` divides the total batch by the
number of ranks, and with aspect-ratio grouping, the default, workers hand over single
images.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.export.frameworks.snippet import (
    BatchSize,
    Draft,
    Framework,
    fixed,
    yaml_block,
)

if TYPE_CHECKING:
    from autoloader.export.frameworks.chosen import Chosen
    from autoloader.export.frameworks.snippet import Naming

_YACS_SIZE = BatchSize(name="SOLVER.IMS_PER_BATCH", counts="run")

_LAZY_SIZE = BatchSize(name="dataloader.train.total_batch_size", counts="run")

_GROUPED = (
    "with {option} (the default) workers hand over single images, and what each "
    "prepares ahead are {factor} of these, not {factor} batches of {size}"
)


def _yacs(chosen: Chosen, naming: Naming) -> Draft:
    del naming
    settings: dict[str, Any] = {"DATALOADER": {"NUM_WORKERS": chosen.num_workers}}
    solver = _YACS_SIZE.setting(chosen, "IMS_PER_BATCH")
    if solver:
        settings["SOLVER"] = solver
    lost = fixed(
        chosen,
        "a yacs config",
        prefetch_factor=2,
        pin_memory=False,
        persistent_workers=False,
    )
    return Draft(
        settings=settings,
        body=yaml_block(settings),
        warnings=(*lost, *_grouped(chosen, "DATALOADER.ASPECT_RATIO_GROUPING", 2)),
    )


def _lazy(chosen: Chosen, naming: Naming) -> Draft:
    del naming
    size = _LAZY_SIZE.setting(chosen, "total_batch_size")
    settings = {**size, **chosen.worker_kwargs()}
    lines = [f"dataloader.train.{name} = {value}" for name, value in settings.items()]
    return Draft(
        settings={"dataloader": {"train": settings}},
        body="\n".join(lines),
        warnings=_grouped(chosen, "aspect_ratio_grouping", chosen.prefetch_factor),
    )


def _grouped(chosen: Chosen, option: str, factor: int | None) -> tuple[str, ...]:
    """Return that images are prefetched where batches were measured."""
    size = chosen.batch_size
    if not chosen.num_workers or size is None or size == 1:
        return ()
    return (_GROUPED.format(option=option, factor=factor, size=size),)


YACS = Framework(
    name="detectron2",
    title="detectron2",
    since="detectron2 0.1",
    use="a yacs config below its _BASE_, or as words behind train_net.py",
    language="yaml",
    batch_size=_YACS_SIZE,
    draft=_yacs,
)

LAZY = Framework(
    name="detectron2-lazy",
    title="detectron2",
    since="detectron2's repository of 2024 (the release 0.6 takes no prefetch factor, "
    "pinning or kept workers)",
    use="at the end of a LazyConfig",
    language="python",
    batch_size=_LAZY_SIZE,
    draft=_lazy,
)

"""MMEngine: the dict of the training loader in a config file.

Read in mmengine 0.10.7, `mmengine/runner/runner.py`, `Runner.build_dataloader`: what is
neither dataset, sampler, batch_sampler, collate_fn nor worker_init_fn goes to
`DataLoader` as it stands, so in 0.1.0 already. A config inherits from a base, which
often keeps workers: that they are not kept is written as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.export.frameworks.snippet import (
    BatchSize,
    Draft,
    Framework,
    python_call,
)

if TYPE_CHECKING:
    from autoloader.export.frameworks.chosen import Chosen
    from autoloader.export.frameworks.snippet import Naming

_BATCH_SIZE = BatchSize(name="train_dataloader.batch_size", counts="process")


def _draft(chosen: Chosen, naming: Naming) -> Draft:
    del naming
    settings = _BATCH_SIZE.setting(chosen, "batch_size")
    settings |= chosen.worker_kwargs()
    settings["persistent_workers"] = chosen.persistent_workers
    return Draft(
        settings={"train_dataloader": settings},
        body=python_call("train_dataloader = dict", settings),
    )


FRAMEWORK = Framework(
    name="mmengine",
    title="MMEngine",
    since="mmengine 0.1",
    use="in a config below its _base_, or into the dict that is there",
    language="python",
    batch_size=_BATCH_SIZE,
    takes_any_batches=True,
    draft=_draft,
)

"""torchdata's `StatefulDataLoader`, a `DataLoader` whose place can be stored.

Keys read in torchdata 0.11.0, `torchdata/stateful_dataloader/stateful_dataloader.py`,
`StatefulDataLoader.__init__`: those of PyTorch, with the same refusals, and
`snapshot_every_n_steps`. The class is there from 0.8.0 on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.export.frameworks.snippet import (
    BatchSize,
    Draft,
    Framework,
    loader_call,
)

if TYPE_CHECKING:
    from autoloader.export.frameworks.chosen import Chosen
    from autoloader.export.frameworks.snippet import Naming

_STATE = (
    "workers hand over their state with every batch (snapshot_every_n_steps=1), which "
    "a plain DataLoader does not; tune a StatefulDataLoader to have that measured"
)


def _draft(chosen: Chosen, naming: Naming) -> Draft:
    del naming
    return Draft(
        settings=chosen.dataloader_kwargs(),
        body="from torchdata.stateful_dataloader import StatefulDataLoader\n\n"
        + loader_call(chosen, "StatefulDataLoader"),
        notes=(_STATE,) if chosen.num_workers else (),
    )


FRAMEWORK = Framework(
    name="stateful",
    title="StatefulDataLoader",
    since="torchdata 0.8",
    use="in the training script, with what the loader has beside these",
    language="python",
    batch_size=BatchSize(name="batch_size", counts="process", is_needed=True),
    takes_any_batches=True,
    draft=_draft,
)

"""What a stage's failure rules out, and what to look at next.

Words only, one place for console, JSON and record sheet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.values.diagnosis import StageName

if TYPE_CHECKING:
    from collections.abc import Mapping

_ALONE = "no DataLoader setting, worker, pinned memory or accelerator takes part in it"

RULES_OUT: Mapping[StageName, str] = {
    StageName.BUILD: f"{_ALONE}, and no example was read yet",
    StageName.ACCESS: f"{_ALONE}; transform and collate_fn come later",
    StageName.TRANSFORM: f"{_ALONE}; the example itself could be read",
    StageName.COLLATE: f"{_ALONE}; each example could be read and transformed",
    StageName.HAND_OVER: "examples, transform and collate_fn are right in one process; "
    "nothing was pinned or sent to an accelerator yet",
    StageName.PIN: "all that workers do is right; the accelerator has no batch yet",
    StageName.TRANSFER: "the data is whole up to here, in pinned memory as well",
    StageName.REFERENCE: "it shows in one process, where no worker takes part",
    StageName.LOADER: "workers and accelerator have no part in it; each example can "
    "be read by itself",
    StageName.WORKERS: "one process reads the same examples without a fault: not the "
    "data by itself, and not the accelerator, which has no part in it",
}
"""What the failure of a stage cannot come from."""

LOOK_AT: Mapping[StageName, str] = {
    StageName.BUILD: "the constructor of the dataset, and what it opens",
    StageName.ACCESS: "the source of this id: is it there, whole, and of the kind that "
    "its reader expects",
    StageName.TRANSFORM: "the transform with this one example: its size, channels, "
    "dtype",
    StageName.COLLATE: "the fields of this example, what differs or cannot be stacked: "
    "convert it when it is read, or refuse it (`autoloader help contract`)",
    StageName.HAND_OVER: "what a batch is made of: handles, lambdas and tensors of an "
    "accelerator cannot be sent; and the room in /dev/shm",
    StageName.PIN: "the limit of locked memory (ulimit -l), and a pin_memory method "
    "of the batch's class",
    StageName.TRANSFER: "the accelerator: its free memory, its driver, what else uses "
    "it",
    StageName.REFERENCE: "what reading an example changes, in the dataset or its "
    "source",
    StageName.LOADER: "collate_fn with these ids together, __getitems__ of the "
    "dataset, and what the sampler yields",
    StageName.WORKERS: "what workers are handed: files, connections, locks, threads, "
    "libraries opened before they start: open them on first use in each worker",
}
"""Where to look first."""

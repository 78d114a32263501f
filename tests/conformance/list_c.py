"""Section C: epochs, and workers that are kept from one to the next."""

from tests.conformance.hazard import Case, Hazard
from tests.conformance.running import DATASETS

NONE: frozenset[str] = frozenset()
FRESH, KEPT = "num_workers=2", "num_workers=2,persistent_workers=true"
STALE = ("passed", "content_mismatch")
"""Fresh workers get the change, kept ones do not."""


def on_epoch(name: str) -> tuple[str, ...]:
    """Return the flag that calls a function of `epochs.py` before each epoch."""
    return ("--on-epoch", f"{DATASETS / 'epochs.py'}:{name}")


HAZARDS = [
    Hazard(
        id="set-epoch-not-reaching-workers",
        kind="C",
        cases=(
            Case(dataset="epochs.py:ShiftsByEpoch", says=STALE, cautions=NONE),
            Case(
                dataset="epochs.py:ShiftsByEpoch",
                says=STALE,
                cautions=NONE,
                start_method="spawn",
            ),
            Case(dataset="epochs.py:LabelsByEpoch", says=("passed", "label_mismatch")),
            Case(
                dataset="epochs.py:ReshufflesItself", says=("passed", "label_mismatch")
            ),
            # the stream of the first epoch comes once more
            Case(
                dataset="epochs.py:HalfByEpoch",
                says=("passed", "foreign_ids+missing_ids"),
            ),
            Case(
                dataset="epochs.py:HalfByEpoch",
                says=("passed", "foreign_ids+missing_ids"),
                start_method="spawn",
                flags=("--id", "id"),
            ),
            Case(
                dataset="epochs.py:StreamShiftsByEpoch",
                says=("passed", "content_mismatch"),
                flags=("--id", "id"),
            ),
            # ids and labels are right, the order is that of the first epoch
            Case(
                dataset="epochs.py:StreamOrderByEpoch",
                says=("passed", "passed"),
                cautions=frozenset({"epochs_identical"}),
            ),
            # honest: what is told reaches the workers
            Case(
                dataset="epochs.py:SharesItsEpoch",
                says=("passed", "passed"),
                cautions=NONE,
            ),
            Case(
                dataset="epochs.py:SharesItsEpoch",
                says=("passed", "passed"),
                cautions=NONE,
                start_method="spawn",
            ),
            Case(
                dataset="epochs.py:rank_that_reshuffles",
                says=("passed", "passed"),
                cautions=NONE,
                batch_size=None,
            ),
            Case(
                dataset="epochs.py:shuffled_library_stream",
                says=("passed", "passed"),
                cautions=NONE,
                arguments=("folder={folder}",),
            ),
        ),
    ),
    Hazard(
        id="stale-attribute-in-kept-workers",
        kind="C",
        cases=(
            Case(
                dataset="epochs.py:Masks",
                says=STALE,
                cautions=NONE,
                flags=on_epoch("mask_more"),
            ),
            Case(
                dataset="epochs.py:Masks",
                says=STALE,
                cautions=NONE,
                flags=on_epoch("mask_more"),
                start_method="spawn",
            ),
            Case(
                dataset="epochs.py:part_of_masks",
                says=STALE,
                flags=on_epoch("mask_more_below"),
            ),
            Case(
                dataset="epochs.py:Transformed",
                says=STALE,
                flags=on_epoch("switch_transform"),
            ),
            Case(
                dataset="epochs.py:Listed",
                says=("passed", "label_mismatch"),
                flags=on_epoch("relist"),
            ),
            Case(
                dataset="epochs.py:MasksInStream",
                says=STALE,
                flags=(*on_epoch("mask_more"), "--id", "id"),
            ),
            Case(
                dataset="epochs.py:MasksByClass",
                says=STALE,
                flags=on_epoch("mask_more_by_class"),
            ),
            # neither classes nor modules are sent to a spawned worker: it has the value
            # that the source gives them, in every epoch
            Case(
                dataset="epochs.py:MasksByClass",
                says=("content_mismatch", "content_mismatch"),
                flags=on_epoch("mask_more_by_class"),
                start_method="spawn",
            ),
            Case(
                dataset="epochs.py:MasksByGlobal",
                says=STALE,
                flags=on_epoch("mask_more_by_global"),
            ),
            Case(
                dataset="epochs.py:MasksByGlobal",
                says=("content_mismatch", "content_mismatch"),
                flags=on_epoch("mask_more_by_global"),
                start_method="spawn",
            ),
            # honest: the trainer sets what is set already
            Case(
                dataset="epochs.py:Masks",
                says=("passed", "passed"),
                cautions=NONE,
                flags=on_epoch("change_nothing"),
            ),
            Case(
                dataset="epochs.py:Masks",
                says=("usage",),
                flags=on_epoch("mask_mroe"),
                words=("mask_mroe", "mask_more"),
            ),
        ),
    ),
    Hazard(
        id="worker-cache-fakes-throughput",
        kind="C",
        cases=(
            Case(
                dataset="epochs.py:Caches",
                says=("passed", "passed"),
                cautions=NONE,
            ),
            # each kept worker is given its own ids again: its cache is full by then
            Case(
                dataset="epochs.py:caches_and_reshuffles",
                says=("passed", "passed"),
                cautions=NONE,
                batch_size=None,
            ),
        ),
    ),
    Hazard(
        id="persistent-two-iterators",
        kind="C",
        # a fault of the training loop: what can be shown is that the check itself
        # never begins an epoch while it reads another one
        cases=(
            Case(
                dataset="epochs.py:AllowsOneReader",
                says=("passed", "passed"),
                cautions=NONE,
            ),
            Case(
                dataset="epochs.py:allows_one_draw",
                says=("passed", "passed"),
                cautions=NONE,
                batch_size=None,
            ),
        ),
    ),
    Hazard(
        id="persistent-nondeterministic-after-epoch0",
        kind="C",
        cases=(
            Case(
                dataset="epochs.py:ArrivesInAnyOrder",
                says=("passed", "passed"),
                cautions=NONE,
                configs=(
                    "num_workers=4,persistent_workers=true",
                    "num_workers=3,persistent_workers=true",
                ),
            ),
        ),
    ),
    Hazard(
        id="reset-after-break-slow-or-dead",
        kind="C",
        # the thread that pins memory belongs to a GPU; data and drain are shown here
        cases=(
            Case(
                dataset="epochs.py:SlowEndless",
                says=("passed", "passed"),
                cautions=NONE,
                configs=(
                    "num_workers=2,prefetch_factor=4,persistent_workers=true",
                    "num_workers=2,prefetch_factor=4",
                ),
                flags=("--examples", "96"),
            ),
        ),
    ),
    Hazard(
        id="swallowed-error-loses-batch",
        kind="C",
        cases=(
            Case(
                dataset="epochs.py:FailsOnce",
                says=("worker_exception", "worker_exception"),
                words=("ConnectionError", "33"),
            ),
            Case(
                dataset="epochs.py:FailsOnceLater",
                says=("passed", "worker_exception"),
                words=("ConnectionError", "33"),
            ),
            Case(
                dataset="epochs.py:SkipsWhatFails",
                says=("missing_ids", "missing_ids"),
                ids={"missing_ids": (33,)},
            ),
            Case(
                dataset="epochs.py:SkipsWhatFails",
                says=("missing_ids", "missing_ids"),
                ids={"missing_ids": (33,)},
                start_method="spawn",
            ),
            Case(
                dataset="epochs.py:SkipsListThatFails",
                # an id is what the sampler asked for: another example came for it
                says=("label_mismatch", "label_mismatch"),
                flags=("--order", "as-is"),
                # 32 to 39 in the first epoch, others beside 33 in the second
                words=(r"ids 32, 33, 34, 35, 36, 37, 38, 39",),
            ),
            Case(
                dataset="epochs.py:StreamSkipsWhatFails",
                says=("missing_ids", "missing_ids"),
                flags=("--id", "id"),
                ids={"missing_ids": (33, 35, 37, 39)},
            ),
        ),
    ),
]

"""Section E: samplers, the ways of batching, and the use of an index."""

from tests.conformance.hazard import Case, Hazard

NONE: frozenset[str] = frozenset()
BOTH = ("passed", "passed")
"""Fresh and kept workers."""
UNSTABLE = ("dataset",)

HAZARDS = [
    Hazard(
        id="one-shot-sampler",
        kind="E",
        cases=tuple(
            Case(
                dataset=f"batching.py:{name}",
                says=UNSTABLE,
                batch_size=None,
                words=("reference_unstable", "used up"),
            )
            for name in (
                "one_shot_batch_sampler",
                "one_shot_sampler",
                "sampler_that_goes_on",
            )
        ),
    ),
    Hazard(
        id="weighted-sampler-replacement",
        kind="E",
        cases=(
            Case(
                dataset="batching.py:weighted",
                says=("passed",) * 3,
                cautions=NONE,
                configs=(
                    "num_workers=0",
                    "num_workers=2",
                    "num_workers=2,persistent_workers=true",
                ),
                batch_size=None,
            ),
            Case(
                dataset="batching.py:drawn_three_times_over",
                says=BOTH,
                cautions=NONE,
                batch_size=None,
            ),
            # not so: what is asked for twice comes once
            Case(
                dataset="batching.py:makes_unique",
                says=("missing_ids", "missing_ids"),
                ids={"missing_ids": (3,)},
                batch_size=None,
            ),
        ),
    ),
    Hazard(
        id="distributed-sampler-padding",
        kind="E",
        cases=tuple(
            Case(
                dataset="batching.py:one_rank",
                says=BOTH,
                cautions=NONE,
                batch_size=None,
                arguments=arguments,
            )
            for arguments in (
                ("rank=0",),
                ("rank=3",),
                ("rank=3", "shuffle=true"),
                ("rank=3", "drop_last=true"),
            )
        ),
    ),
    Hazard(
        id="subset-override-bypassed",
        kind="E",
        cases=(
            # mended in torch: it refuses when the part is made
            *(
                Case(
                    dataset=f"batching.py:{name}",
                    says=("dataset",),
                    batch_size=None,
                    words=("NotImplementedError", "__getitems__"),
                )
                for name in ("overridden_subset", "overridden_subset_in_loader")
            ),
            # not so for what is no Subset
            Case(
                dataset="batching.py:OverridesOneOfTwo",
                says=("label_mismatch", "label_mismatch"),
            ),
            Case(
                dataset="batching.py:OverridesPixels",
                says=("content_mismatch", "content_mismatch"),
            ),
            Case(dataset="batching.py:ReversesLists", says=BOTH, cautions=NONE),
            Case(dataset="batching.py:overridden_rightly", says=BOTH, cautions=NONE),
        ),
    ),
    Hazard(
        id="reused-batch-buffer",
        kind="E",
        cases=(
            Case(
                dataset="batching.py:refills",
                says=("collate_mismatch", "collate_mismatch"),
                batch_size=None,
                arguments=("name=tensor",),
            ),
            Case(
                dataset="batching.py:refills",
                says=("collate_mismatch", "collate_mismatch"),
                batch_size=None,
                arguments=("name=tensor",),
                start_method="spawn",
            ),
            Case(
                dataset="batching.py:refills",
                says=("collate_mismatch", "collate_mismatch"),
                batch_size=None,
                arguments=("name=array",),
            ),
            Case(
                dataset="batching.py:refills",
                says=("collate_mismatch", "collate_mismatch"),
                batch_size=None,
                arguments=("name=index",),
            ),
            # the buffer of one example instead of a batch: no luck is needed
            Case(
                dataset="batching.py:RefillsPixels",
                says=("content_mismatch", "content_mismatch"),
            ),
            Case(
                dataset="batching.py:RefillsArrayInStream",
                says=("content_mismatch", "content_mismatch"),
                flags=("--id", "id"),
            ),
        ),
    ),
    Hazard(
        id="consumer-edit-reaches-worker",
        kind="E",
        # a fault of the training loop: the check edits nothing, and says nothing
        cases=(
            Case(
                dataset="batching.py:hands_out_its_own",
                says=BOTH,
                cautions=NONE,
                batch_size=None,
            ),
        ),
    ),
    Hazard(
        id="inplace-augment-on-cached-sample",
        kind="E",
        cases=tuple(
            Case(
                dataset=f"batching.py:{name}",
                says=UNSTABLE,
                words=("reference_unstable",),
            )
            for name in (
                "AddsInPlace",
                "FlipsInPlace",
                "NormalizesInPlace",
                "RelabelsInPlace",
                "ConsumesItself",
            )
        ),
    ),
    Hazard(
        id="len-larger-than-data",
        kind="E",
        cases=(
            Case(
                dataset="batching.py:ClaimsMore",
                says=("dataset",),
                words=("IndexError", r"dataset\[1[01]\d\]"),
            ),
        ),
    ),
    Hazard(
        id="len-changes-between-calls",
        kind="E",
        cases=(
            Case(
                dataset="batching.py:Shrinks",
                says=UNSTABLE,
                words=("reference_unstable", "len"),
            ),
            Case(
                dataset="batching.py:GrowsAsRead",
                says=UNSTABLE,
                words=("reference_unstable", "len"),
            ),
            Case(
                dataset="batching.py:HalvesInWorker",
                says=("label_mismatch", "label_mismatch"),
            ),
        ),
    ),
    Hazard(
        id="non-integer-keys",
        kind="E",
        cases=(
            Case(
                dataset="batching.py:Keyed",
                says=("dataset",),
                words=("KeyError", "sampler"),
            ),
            Case(
                dataset="batching.py:keyed", says=BOTH, cautions=NONE, batch_size=None
            ),
            Case(
                dataset="batching.py:keyed_liar",
                says=("label_mismatch", "label_mismatch"),
                ids={"label_mismatch": ("k7",)},
                batch_size=None,
            ),
            Case(
                dataset="batching.py:by_pair",
                says=("usage",),
                words=("tuple",),
                batch_size=None,
            ),
        ),
    ),
    Hazard(
        id="negative-index-wraps",
        kind="E",
        # one process reads the same: nothing that a comparison could show
        cases=(
            Case(dataset="batching.py:Wraps", says=BOTH, cautions=NONE),
            Case(
                dataset="batching.py:off_by_one",
                says=BOTH,
                cautions=NONE,
                batch_size=None,
            ),
        ),
    ),
]

"""Section M: libraries and platforms."""

from tests.conformance.hazard import Case, Hazard

FOLDER = ("folder={folder}",)
BOTH_PASS = ("passed", "passed")
NONE = frozenset[str]()

HAZARDS = [
    Hazard(
        id="mosaic-stale-shm",
        kind="M",
        cases=(
            Case(
                # mosaicml-streaming does not install here; a dataset that claims
                # shared memory as it does: none may be left by what ran before
                dataset="crowded.py:NamesSharedMemory",
                arguments=FOLDER,
                says=BOTH_PASS,
                cautions=NONE,
            ),
            Case(
                dataset="crowded.py:NamesSharedMemory",
                arguments=FOLDER,
                flags=("--isolation", "fresh"),
                says=BOTH_PASS,
                cautions=NONE,
            ),
        ),
    ),
    Hazard(
        id="mosaic-concurrent-instances",
        kind="M",
        cases=(
            Case(
                dataset="crowded.py:BuiltByOne",
                arguments=FOLDER,
                says=BOTH_PASS,
                cautions=NONE,
            ),
            Case(
                dataset="crowded.py:BuiltByOne",
                arguments=FOLDER,
                flags=("--isolation", "fresh"),
                says=BOTH_PASS,
                cautions=NONE,
            ),
        ),
    ),
    Hazard(
        id="litdata-len-resets-workers",
        kind="M",
        cases=(
            Case(
                # litdata does not install here; a loader that does the same to its
                # dataset: it has 101 examples, whatever it says
                dataset="crowded.py:telling",
                batch_size=None,
                says=BOTH_PASS,
                cautions=frozenset({"length_misdeclared"}),
            ),
            Case(
                # no stream is read by its length: a caution is enough
                dataset="crowded.py:LengthOnceAsked",
                says=BOTH_PASS,
                cautions=frozenset({"length_misdeclared"}),
            ),
        ),
    ),
    Hazard(
        id="hf-stream-ddp-duplicates",
        kind="M",
        cases=(
            Case(
                # what ranks have in common is no matter of one process: a rank that
                # is told its part reads 51 of the 101, and one that is not reads all
                dataset="libraries.py:hf_rank",
                arguments=FOLDER,
                flags=("--id", "id"),
                says=BOTH_PASS,
                cautions=NONE,
            ),
            Case(
                dataset="libraries.py:hf_table",
                arguments=FOLDER,
                says=BOTH_PASS,
                cautions=NONE,
            ),
        ),
    ),
    Hazard(
        id="windows-pagefile",
        kind="M",
        why_not="Windows: each spawned worker claims memory for the libraries of torch",
    ),
    Hazard(
        id="torchdata-sharding-filter",
        kind="M",
        cases=(
            Case(
                dataset="libraries.py:pipe",
                arguments=("order=unfiltered",),
                says=("repeated_ids", "repeated_ids"),
            ),
            Case(
                dataset="libraries.py:pipe",
                arguments=("order=filtered",),
                says=BOTH_PASS,
                cautions=NONE,
            ),
            Case(
                # four workers drop 6 and 5, 5, 5 examples, one process drops one
                dataset="libraries.py:pipe",
                arguments=("order=filtered_batched",),
                configs=("num_workers=4", "num_workers=4,persistent_workers=true"),
                says=("missing_ids", "missing_ids"),
            ),
            Case(
                dataset="libraries.py:pipe",
                arguments=("order=batched_filtered",),
                says=BOTH_PASS,
                cautions=NONE,
            ),
            Case(
                dataset="libraries.py:stateful_loader",
                says=BOTH_PASS,
                cautions=NONE,
            ),
            Case(
                # the batches of a stream that makes them itself: each worker's own
                dataset="libraries.py:web_batched",
                arguments=FOLDER,
                batch_size=None,
                says=BOTH_PASS,
            ),
        ),
    ),
]

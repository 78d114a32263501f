"""Section B: iterable datasets, how they are split among workers, and their length."""

from tests.conformance.hazard import Case, Hazard

FOLDER = ("folder={folder}",)
FRESH = ("num_workers=2",)
FOUR = ("num_workers=4", "num_workers=4,persistent_workers=true")
BY_ID = ("--id", "id")
BOTH_PASS = ("passed", "passed")
BOTH_REPEAT = ("repeated_ids", "repeated_ids")
BOTH_MISS = ("missing_ids", "missing_ids")
NONE = frozenset[str]()

HAZARDS = [
    Hazard(
        id="iter-no-shard",
        kind="B",
        cases=(
            Case(
                dataset="sharding.py:Unsplit",
                says=BOTH_REPEAT,
                cautions=NONE,
                words=(r"101 ",),
            ),
            Case(
                dataset="sharding.py:Unsplit",
                start_method="spawn",
                configs=FRESH,
                says=("repeated_ids",),
            ),
            Case(
                dataset="libraries.py:web",
                arguments=(*FOLDER, "splits=false"),
                says=BOTH_REPEAT,
            ),
            Case(
                dataset="libraries.py:web_shuffled",
                arguments=(*FOLDER, "splits=false"),
                flags=BY_ID,
                says=BOTH_REPEAT,
            ),
            Case(dataset="sharding.py:Split", says=BOTH_PASS, cautions=NONE),
            Case(
                dataset="libraries.py:web",
                arguments=FOLDER,
                says=BOTH_PASS,
                cautions=NONE,
            ),
            Case(
                dataset="libraries.py:web",
                arguments=FOLDER,
                start_method="spawn",
                configs=FRESH,
                says=("passed",),
                cautions=NONE,
            ),
            Case(
                dataset="libraries.py:web_shuffled",
                arguments=FOLDER,
                says=BOTH_PASS,
                cautions=NONE,
            ),
            Case(
                # datasets 5.2.0 splits its streams by itself
                dataset="libraries.py:hf_stream",
                arguments=FOLDER,
                says=BOTH_PASS,
                cautions=NONE,
            ),
        ),
    ),
    Hazard(
        id="iter-remainder-lost",
        kind="B",
        cases=(
            Case(
                dataset="sharding.py:LosesRemainder",
                flags=BY_ID,
                says=BOTH_MISS,
                ids={"missing_ids": (100,)},
            ),
            Case(
                dataset="sharding.py:LosesRemainder",
                configs=("num_workers=3", "num_workers=3,persistent_workers=true"),
                flags=BY_ID,
                says=BOTH_MISS,
                ids={"missing_ids": (99, 100)},
            ),
            Case(
                # the same fault the other way round: rounded up, the parts overlap
                dataset="sharding.py:RepeatsEdges",
                flags=BY_ID,
                says=BOTH_REPEAT,
                ids={"repeated_ids": (50, 51)},
            ),
        ),
    ),
    Hazard(
        id="iter-drop-last-per-worker",
        kind="B",
        cases=(
            Case(
                # 25 or 26 examples for each worker: none of them fills a batch
                dataset="sharding.py:dropping",
                arguments=("batch_size=64",),
                batch_size=None,
                configs=FOUR,
                says=BOTH_MISS,
                words=(r"drop a last batch|drop_last",),
            ),
            Case(
                # four workers drop 6 and 5, 5, 5 examples, one process drops one
                dataset="sharding.py:dropping",
                arguments=("batch_size=10",),
                batch_size=None,
                configs=FOUR,
                says=BOTH_MISS,
                words=(r"drop a last batch|drop_last",),
            ),
            Case(
                # two workers drop 1 and 0
                dataset="sharding.py:dropping",
                arguments=("batch_size=10",),
                batch_size=None,
                says=BOTH_PASS,
                cautions=NONE,
            ),
        ),
    ),
    Hazard(
        id="iter-worker-info-none",
        kind="B",
        cases=(
            Case(
                dataset="sharding.py:NeedsWorker",
                configs=("num_workers=0", *FRESH),
                says=("worker_exception", "passed"),
                words=(r"AttributeError|NoneType",),
            ),
            Case(dataset="sharding.py:NeedsWorkerUnsplit", says=BOTH_REPEAT),
        ),
    ),
    Hazard(
        id="iter-is-its-own-iterator",
        kind="B",
        cases=(
            Case(
                dataset="sharding.py:IsItsOwnIterator",
                says=("dataset",),
                words=(
                    r"reference_unstable: the second pass over the stream is empty",
                ),
            ),
            Case(
                # kept workers have nothing left for a second epoch, fresh ones have
                dataset="sharding.py:IsItsOwnIterator",
                arguments=("in_worker_only=true",),
                says=("passed", "missing_ids"),
            ),
        ),
    ),
    Hazard(
        id="iter-len-too-small",
        kind="B",
        cases=(
            Case(
                dataset="sharding.py:Declares",
                arguments=("length=50",),
                says=BOTH_PASS,
                cautions=frozenset({"length_misdeclared"}),
                words=(r"len\(\) says 50, one pass has 101",),
            ),
            Case(
                dataset="sharding.py:Declares",
                arguments=("length=300",),
                says=BOTH_PASS,
                cautions=frozenset({"length_misdeclared"}),
                words=(r"len\(\) says 300, one pass has 101",),
            ),
            Case(
                # what PyTorch's own warning does not see: it counts batches
                dataset="sharding.py:DeclaresUnsplit",
                arguments=("length=101",),
                says=BOTH_REPEAT,
            ),
        ),
    ),
    Hazard(
        id="iter-len-wrong-with-workers",
        kind="B",
        cases=(
            Case(
                # 13 batches by len(loader), 16 come: each worker has a rest of its own.
                # So it is with every stream that tells its length rightly: the manual
                # says it, the gate accuses nobody of it
                dataset="sharding.py:Declares",
                arguments=("length=101",),
                configs=FOUR,
                says=BOTH_PASS,
                cautions=NONE,
            ),
            Case(
                # 51 batches by len(loader), 51 come
                dataset="sharding.py:Declares",
                arguments=("length=101",),
                batch_size=2,
                says=BOTH_PASS,
                cautions=NONE,
            ),
        ),
    ),
    Hazard(
        id="iter-more-workers-than-shards",
        kind="B",
        cases=(
            Case(
                dataset="sharding.py:TakesShardByNumber",
                configs=FOUR,
                says=("worker_exception", "worker_exception"),
                words=(r"IndexError",),
            ),
            Case(
                dataset="sharding.py:DealsShards",
                configs=FOUR,
                says=BOTH_PASS,
                cautions=frozenset({"idle_workers"}),
                words=(r"1 of 4 workers",),
            ),
            Case(
                # webdataset refuses to have nothing to read
                dataset="libraries.py:web",
                arguments=(*FOLDER, "shards=3"),
                configs=FOUR,
                says=("worker_exception", "worker_exception"),
                words=(r"No samples found",),
            ),
            Case(
                dataset="libraries.py:web",
                arguments=(*FOLDER, "shards=3", "empty_check=false"),
                configs=FOUR,
                says=BOTH_PASS,
                cautions=frozenset({"idle_workers"}),
            ),
            Case(
                dataset="libraries.py:hf_stream",
                arguments=(*FOLDER, "shards=3"),
                configs=FOUR,
                says=BOTH_PASS,
                cautions=frozenset({"idle_workers"}),
            ),
            Case(
                dataset="libraries.py:hf_stream",
                arguments=(*FOLDER, "shards=1"),
                says=BOTH_PASS,
                cautions=frozenset({"one_worker_serves_all"}),
            ),
        ),
    ),
    Hazard(
        id="iter-shards-collapse-after-shuffle",
        kind="B",
        cases=(
            Case(
                # interleaved sources have as many shards as the least of them: one
                # (one config: each pass ends with five seconds of waiting in datasets)
                dataset="libraries.py:hf_interleaved",
                arguments=FOLDER,
                configs=FRESH,
                says=("passed",),
                cautions=frozenset({"one_worker_serves_all"}),
            ),
            Case(
                # shuffled, the shards of one source stay: datasets 5.2.0 has mended it
                dataset="libraries.py:hf_stream",
                arguments=(*FOLDER, "shuffles=true"),
                configs=FRESH,
                says=("passed",),
                cautions=NONE,
            ),
        ),
    ),
    Hazard(
        id="iter-drop-last-batch-ignored",
        kind="B",
        cases=(
            Case(
                # 101 examples in tens lose one; 26 and 25, 25, 25 lose 6 and 5, 5, 5
                dataset="libraries.py:hf_dropping",
                arguments=FOLDER,
                configs=FOUR,
                flags=BY_ID,
                says=BOTH_MISS,
                words=(r"\b20 ",),
            ),
            Case(
                # 51 and 50 examples lose one: another one than in one process
                dataset="libraries.py:hf_dropping",
                arguments=FOLDER,
                configs=FRESH,
                flags=BY_ID,
                says=("foreign_ids+missing_ids",),
            ),
        ),
    ),
    Hazard(
        id="iter-infinite",
        kind="B",
        cases=(
            Case(
                dataset="sharding.py:Endless",
                flags=("--examples", "300"),
                says=BOTH_PASS,
                cautions=NONE,
            ),
            Case(
                dataset="sharding.py:EndlessUnsplit",
                flags=("--examples", "300"),
                says=BOTH_REPEAT,
            ),
            Case(
                # it begins again before the cut: each example comes three times
                dataset="sharding.py:EndsNever",
                flags=("--examples", "300"),
                says=BOTH_PASS,
            ),
            Case(
                # shards are drawn with replacement, by each worker for itself
                dataset="libraries.py:web_resampled",
                arguments=FOLDER,
                flags=("--examples", "150"),
                says=BOTH_PASS,
            ),
        ),
    ),
    Hazard(
        id="iter-error-in-iter-epoch2",
        kind="B",
        cases=(
            Case(
                # fresh workers never come to a second epoch
                dataset="sharding.py:FailsInSecondEpoch",
                says=("passed", "crashed"),
                words=(r"ValueError.*the index file vanished",),
            ),
        ),
    ),
]

"""Datasets that are easy to accuse and have no fault: all pass, without a caution."""

from dataclasses import replace

from tests.conformance.hazard import Case

_PLAIN = Case(dataset="", says=("passed", "passed"), cautions=frozenset())


def _bare(module: str, names: str, *, in_folder: bool = False) -> list[Case]:
    """Return cases of datasets, two workers, fresh and kept."""
    arguments = ("folder={folder}",) if in_folder else ()
    return [
        replace(_PLAIN, dataset=f"{module}.py:{name}", arguments=arguments)
        for name in names.split()
    ]


def _loaders(function: str, names: str = "") -> list[Case]:
    """Return cases of loaders, which have their own batches."""
    loader = replace(_PLAIN, dataset=f"{function}", batch_size=None)
    return [replace(loader, arguments=(f"name={name}",)) for name in names.split()] or [
        loader
    ]


EASIEST: list[Case] = [
    # random fields
    *_bare(
        "honest",
        "Augments FlipsSometimes FlipsSymmetric ChangesRarely ChangesVeryRarely "
        "ChangesFew MixesTwo SeedsByWorker SeedsByIndex TellsTheTime",
    ),
    *_loaders("honest.py:crops_padded"),
    # examples that are alike, or empty, or odd
    *_bare(
        "honest",
        "HasDuplicates AllAlike EmptyTensors OnlyEmpty NansAndZeros HugeLabels "
        "LabelsAllAlike",
    ),
    # threads
    *_bare("honest", "SumsLargely MultipliesLargely SetsThreads"),
    # what a process holds
    *_bare(
        "honest",
        "LocksAroundNothing CachesALittle CachesAll CountsReads ClampsInPlace "
        "SharesItsEpoch IgnoresItsEpoch",
    ),
    # streams
    *_bare(
        "honest_streams",
        "InRanges ByShards KnowsItsLength NeedsWorker Shuffled ShuffledFirst Buffered "
        "Augmented SharesItsEpoch SlowToStart chained",
    ),
    *(
        replace(case, flags=("--examples", "200"))
        for case in _bare("honest_streams", "Endless EndlessBuffered")
    ),
    *_bare("honest_streams", "ReadsShards", in_folder=True),
    *_loaders("honest_streams.py:own_batches"),
    *_loaders("honest_streams.py:split_at_start"),
]
"""Those that are accused most easily: checked five times in a row."""

OTHERS: list[Case] = [
    # forms
    *_bare(
        "honest",
        "KeysFromSet Nested OddTexts NumpyScalars OddStrides OddDtypes TakesGradients",
    ),
    *_loaders("honest.py:as_dataclass"),
    *_loaders("honest.py:odd_arrays"),
    *_loaders("honest.py:backward_arrays"),
    *_loaders("honest.py:odd_layouts"),
    # collating
    *_loaders(
        "honest.py:collated",
        "padded_to_longest sorted_by_length packed packed_sequence floats_and_one_hot "
        "fields_first Batch shuffled_within doubled",
    ),
    # samplers, ways of batching, worker_init_fn
    *_loaders(
        "honest.py:loader",
        "weighted last_rank drop_last uneven_lists batch_sampler singly own_batches "
        "fetches_lists by_name out_of_order concatenated stacked seeding_numpy "
        "two_threads opening",
    ),
    # files
    *_bare(
        "honest",
        "OpensLazily ReadsHeaderFirst SharesDescriptor MapsArray MapsFile "
        "OpensDatabase OpensShardsLazily OpensEachTime LogsToFile",
        in_folder=True,
    ),
    # noise and time
    *_bare(
        "honest",
        "Prints Warns PrintsTracebacks IsSlow OneIsVerySlow SlowNowAndThen "
        "SlowInWorkers",
    ),
]
"""Odd forms, collates, samplers and files: here nothing is a matter of luck."""

HONEST = EASIEST + OTHERS
"""All of them: two workers, fresh in each epoch and kept."""

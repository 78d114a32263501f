"""Section D: randomness and determinism."""

from tests.conformance.hazard import Case, Hazard

NONE: frozenset[str] = frozenset()
BOTH = ("passed", "passed")
"""Fresh and kept workers: ids, labels and fixed fields are right."""
CLONED = frozenset({"streams_identical", "epochs_identical"})
"""Each worker has a copy of one generator; fresh ones have it anew in each epoch."""
ONE_AND_TWO = (
    "num_workers=0",
    "num_workers=2",
    "num_workers=2,persistent_workers=true",
)

HAZARDS = [
    Hazard(
        id="own-numpy-generator",
        kind="D",
        cases=(
            Case(dataset="randomness.py:OwnNumpyGenerator", says=BOTH, cautions=CLONED),
            Case(
                dataset="randomness.py:OwnNumpyGenerator",
                says=BOTH,
                cautions=CLONED,
                start_method="spawn",
            ),
            Case(
                dataset="randomness.py:OwnNumpyGenerator",
                says=("passed",),
                cautions=frozenset({"streams_identical"}),
                configs=("num_workers=2,persistent_workers=true",),
            ),
            Case(
                dataset="randomness.py:OwnNumpyGenerator",
                says=("streams_identical",),
                configs=("num_workers=2,persistent_workers=true",),
                flags=("--strict",),
            ),
            # with one worker there is nobody to be like, but the epochs still repeat
            Case(
                dataset="randomness.py:OwnNumpyGenerator",
                says=("passed",),
                cautions=frozenset({"epochs_identical"}),
                configs=("num_workers=1",),
            ),
            Case(dataset="randomness.py:OwnTorchGenerator", says=BOTH, cautions=CLONED),
            # a generator of torch's does not arrive in a spawned worker at all
            Case(
                dataset="randomness.py:OwnTorchGenerator",
                says=("crashed", "crashed"),
                start_method="spawn",
                words=("RuntimeError: unable to resize file",),
            ),
            Case(
                dataset="randomness.py:OwnGeneratorInTransform",
                says=BOTH,
                cautions=CLONED,
            ),
            Case(dataset="randomness.py:GeneratorOfModule", says=BOTH, cautions=CLONED),
            Case(
                dataset="randomness.py:GeneratorOfModule",
                says=BOTH,
                cautions=CLONED,
                start_method="spawn",
            ),
            # made on first use, and so in each worker: with the same seed, though
            Case(dataset="randomness.py:RemakesGenerator", says=BOTH, cautions=CLONED),
            Case(
                dataset="randomness.py:OwnGeneratorInLists", says=BOTH, cautions=CLONED
            ),
            Case(
                dataset="randomness.py:lists_with_own_generator",
                says=BOTH,
                cautions=CLONED,
                batch_size=None,
            ),
            Case(
                dataset="randomness.py:singly_with_own_generator",
                says=BOTH,
                cautions=CLONED,
                batch_size=None,
            ),
            Case(
                # workers of a stream cannot be given the same ids: that they draw the
                # same numbers is not looked for, that the epochs do is
                dataset="randomness.py:StreamWithOwnGenerator",
                says=BOTH,
                cautions=frozenset({"epochs_identical"}),
            ),
            Case(
                dataset="randomness.py:seeded_alike",
                says=BOTH,
                cautions=CLONED,
                batch_size=None,
            ),
            Case(
                dataset="randomness.py:seeded_by_worker",
                says=BOTH,
                cautions=frozenset({"epochs_identical"}),
                batch_size=None,
            ),
            # honest siblings
            Case(
                dataset="randomness.py:seeded_rightly",
                says=BOTH,
                cautions=NONE,
                batch_size=None,
            ),
            Case(dataset="randomness.py:SeedsInGetitem", says=BOTH, cautions=NONE),
        ),
    ),
    Hazard(
        id="numpy-global-seed-old",
        kind="D",
        # mended in torch: workers seed NumPy as well as torch and `random`
        cases=(
            Case(dataset="randomness.py:GlobalNumpy", says=BOTH, cautions=NONE),
            Case(
                dataset="randomness.py:GlobalNumpy",
                says=BOTH,
                cautions=NONE,
                start_method="spawn",
            ),
            Case(dataset="randomness.py:GlobalPython", says=BOTH, cautions=NONE),
        ),
    ),
    Hazard(
        id="rng-consumption-changes-order",
        kind="D",
        # another order is no other data
        cases=(
            Case(
                dataset="randomness.py:shuffled_and_drawing",
                says=("passed",) * 3,
                cautions=NONE,
                configs=ONE_AND_TWO,
                batch_size=None,
            ),
            Case(
                dataset="randomness.py:shuffled_without_generator",
                says=("passed",) * 3,
                cautions=NONE,
                configs=ONE_AND_TWO,
                batch_size=None,
            ),
        ),
    ),
    Hazard(
        id="shuffle-plus-drop-last",
        kind="D",
        # which five are left out is chance, that five are is the rule
        cases=(
            Case(
                dataset="randomness.py:shuffled_dropping_last",
                says=("passed",) * 3,
                cautions=NONE,
                configs=ONE_AND_TWO,
                batch_size=None,
            ),
            Case(
                dataset="randomness.py:shuffled_dropping_last_seeded",
                says=("passed",) * 3,
                cautions=NONE,
                configs=ONE_AND_TWO,
                batch_size=None,
            ),
        ),
    ),
    Hazard(
        id="worker-single-thread-numerics",
        kind="D",
        cases=(
            Case(
                dataset="randomness.py:Sums",
                says=("passed",) * 3,
                cautions=NONE,
                configs=ONE_AND_TWO,
            ),
            Case(
                dataset="randomness.py:Sums",
                says=BOTH,
                cautions=NONE,
                start_method="spawn",
            ),
            Case(
                dataset="randomness.py:Convolves",
                says=("passed",) * 3,
                cautions=NONE,
                configs=ONE_AND_TWO,
            ),
            # workers that are given threads differ in the last bits, and in no others
            Case(
                dataset="randomness.py:sums_in_threads",
                says=BOTH,
                cautions=NONE,
                batch_size=None,
            ),
        ),
    ),
]

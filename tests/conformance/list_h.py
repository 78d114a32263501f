"""Worker death, hangs, and what is said of them."""

from tests.conformance.hazard import Case, Hazard

TWO = ("num_workers=2",)
KEPT = ("num_workers=2,persistent_workers=yes",)
SHORT = ("--hang-after", "6s")
LONGER = ("--hang-after", "15s")
"""Where nothing hangs, and a loaded machine is to have its time."""

HAZARDS = [
    Hazard(
        id="killed-by-oom",
        kind="H",
        cases=(
            *(
                Case(
                    dataset="deaths.py:KilledWithoutWarning",
                    says=("crashed",),
                    configs=KEPT,
                    start_method=method,
                    words=(r"killed by SIGKILL", r"memory"),
                )
                for method in ("fork", "spawn")
            ),
            Case(
                dataset="deaths.py:AsksForTooMuchMemory",
                says=("out_of_memory",),
                configs=TWO,
                words=(r"(?i)memory", r"while it read id 33"),
            ),
            Case(
                dataset="deaths.py:DiesAtItsEnd",
                says=("passed", "crashed"),
                words=(r"killed by SIGSEGV",),
            ),
        ),
    ),
    Hazard(
        id="exit-code-zero-unnoticed",
        kind="H",
        cases=(
            Case(
                dataset="deaths.py:LeavesCleanly",
                says=("crashed", "crashed"),
                words=(r"left with exit code 0",),
            ),
            Case(
                dataset="deaths.py:leaves_with_timeout",
                says=("crashed",),
                configs=TWO,
                flags=SHORT,
                words=(r"left with exit code 0",),
            ),
            Case(
                dataset="deaths.py:CallsExit",
                says=("crashed",),
                configs=TWO,
                words=(r"left with exit code 17",),
            ),
        ),
    ),
    Hazard(
        id="loader-in-thread-slow-death",
        kind="H",
        cases=(
            Case(
                dataset="deaths.py:NeedsMainThread",
                says=("passed", "passed"),
                configs=("num_workers=0", "num_workers=2"),
            ),
            Case(
                dataset="deaths.py:NeedsMainThread",
                says=("passed",),
                configs=("num_workers=0",),
                flags=("--isolation", "fresh"),
            ),
            # out of the main thread the signal's name would be lost
            Case(
                dataset="deaths.py:KilledWithoutWarning",
                says=("crashed",),
                configs=TWO,
                flags=("--isolation", "fresh"),
                words=(r"killed by SIGKILL",),
            ),
        ),
    ),
    Hazard(
        id="hang-no-timeout",
        kind="H",
        cases=(
            *(
                Case(
                    dataset="hangs.py:WaitsForever",
                    says=("hung",),
                    configs=TWO,
                    start_method=method,
                    flags=SHORT,
                    words=(r"no progress for \d+ s", r"wait_for_store.*hangs\.py"),
                )
                for method in ("fork", "spawn")
            ),
            # PyTorch's own timeout is the same hang under another name
            Case(
                dataset="hangs.py:waits_with_timeout",
                says=("hung",),
                configs=TWO,
                flags=SHORT,
                words=(r"timeout",),
            ),
            Case(
                dataset="hangs.py:waits_at_start",
                says=("hung",),
                configs=TWO,
                flags=SHORT,
                words=(r"starting workers", r"_wait_at_start.*hangs\.py"),
            ),
            Case(
                dataset="hangs.py:WaitsInSecondEpoch",
                says=("passed", "hung"),
                flags=SHORT,
                words=(r"__getitem__.*hangs\.py",),
            ),
            Case(
                dataset="hangs.py:PausesNowAndThen",
                says=("passed",),
                configs=TWO,
                flags=SHORT,
            ),
        ),
    ),
    Hazard(
        id="fork-with-held-lock",
        kind="H",
        cases=(
            Case(
                dataset="hangs.py:AsksAtDesk",
                says=("hung",),
                configs=TWO,
                start_method="fork",
                flags=SHORT,
                words=(r"__getitem__.*hangs\.py", r"[Tt]hread", r"spawn"),
            ),
            Case(
                dataset="hangs.py:AsksAtDesk",
                says=("passed",),
                configs=KEPT,
                start_method="spawn",
            ),
            Case(
                dataset="hangs.py:HoldsItsLock",
                says=("hung",),
                configs=TWO,
                flags=SHORT,
                words=(r"__getitem__.*hangs\.py", r"[Ll]ock"),
            ),
            Case(
                dataset="hangs.py:HoldsItsLock",
                says=("cannot_pickle",),
                configs=TWO,
                start_method="spawn",
                words=(r"dataset\.lock",),
            ),
        ),
    ),
    Hazard(
        id="fsspec-not-fork-safe",
        kind="H",
        cases=(
            Case(
                dataset="libraries_after_fork.py:ReadsBySharedLoop",
                says=("worker_exception", "worker_exception"),
                start_method="fork",
                arguments=("folder={folder}",),
                words=(r"not fork-safe",),
            ),
            Case(
                dataset="libraries_after_fork.py:ReadsBySharedLoop",
                says=("passed",),
                configs=KEPT,
                start_method="spawn",
                arguments=("folder={folder}",),
            ),
            Case(
                dataset="libraries_after_fork.py:ReadsByLoopOfItsOwn",
                says=("passed", "passed"),
                start_method="fork",
                arguments=("folder={folder}",),
            ),
        ),
    ),
    Hazard(
        id="omp-pool-after-fork",
        kind="H",
        cases=(
            Case(
                dataset="hangs.py:RaisesThreadCount",
                says=("hung",),
                configs=TWO,
                start_method="fork",
                flags=SHORT,
                words=(r"__getitem__.*hangs\.py", r"[Tt]hread|OpenMP", r"spawn"),
            ),
            Case(
                dataset="hangs.py:RaisesThreadCount",
                says=("passed",),
                configs=KEPT,
                start_method="spawn",
            ),
            Case(
                dataset="hangs.py:KeepsThreadCount",
                says=("passed", "passed"),
                start_method="fork",
            ),
        ),
    ),
    Hazard(
        id="opencv-threads-after-fork",
        kind="H",
        # the calling thread of OpenCV 5 does what its lost threads would have done
        cases=tuple(
            Case(
                dataset="libraries_after_fork.py:ResizesLargePictures",
                says=("passed",),
                configs=KEPT,
                start_method=method,
                flags=LONGER,
            )
            for method in ("fork", "spawn")
        ),
    ),
    Hazard(
        id="tokenizers-after-fork",
        kind="H",
        cases=(
            # the library sees the fork, and goes on with one thread
            Case(
                dataset="libraries_after_fork.py:TokenizesAfterUse",
                says=("passed", "passed"),
                start_method="fork",
            ),
            Case(
                dataset="libraries_after_fork.py:TokenizesAfterUse",
                says=("hung",),
                configs=TWO,
                start_method="fork",
                flags=SHORT,
                arguments=("forced=true",),
                words=(r"__getitem__.*libraries_after_fork\.py", r"tokenizers"),
            ),
            Case(
                dataset="libraries_after_fork.py:TokenizesAfterUse",
                says=("passed",),
                configs=KEPT,
                start_method="spawn",
                arguments=("forced=true",),
            ),
        ),
    ),
    Hazard(
        id="polars-after-fork",
        kind="H",
        cases=(
            Case(
                dataset="libraries_after_fork.py:FiltersFrame",
                says=("hung",),
                configs=TWO,
                start_method="fork",
                flags=SHORT,
                words=(r"__getitem__.*libraries_after_fork\.py", r"polars", r"spawn"),
            ),
            Case(
                dataset="libraries_after_fork.py:FiltersFrame",
                says=("passed",),
                configs=KEPT,
                start_method="spawn",
            ),
        ),
    ),
    Hazard(
        id="pin-thread-fork-deadlock",
        kind="H",
        why_not="needs a GPU: only there does a loader start a thread that pins",
    ),
    Hazard(
        id="daemonic-trial-process",
        kind="H",
        cases=(
            Case(
                dataset="deaths.py:OpensPool",
                says=("passed", "worker_exception"),
                configs=("num_workers=0", "num_workers=2"),
                words=(
                    r"AssertionError: daemonic processes are not allowed",
                    r"while it read id 33",
                ),
            ),
        ),
    ),
    Hazard(
        id="orphans-after-kill",
        kind="H",
        cases=(
            Case(
                dataset="deaths.py:Sleeps",
                says=("hung",),
                configs=TWO,
                flags=SHORT,
                words=(r"__getitem__.*deaths\.py",),
            ),
        ),
        elsewhere=(
            "tests/conformance/test_deaths.py"
            "::test_sleeping_workers_end_with_whoever_is_killed"
        ),
    ),
    Hazard(
        id="undrained-output-pipe",
        kind="H",
        cases=tuple(
            Case(
                dataset="deaths.py:Chatty",
                says=("passed",),
                configs=KEPT,
                start_method=method,
                flags=LONGER,
            )
            for method in ("fork", "spawn")
        ),
    ),
    Hazard(
        id="gc-noise-child-process",
        kind="H",
        cases=(
            Case(
                dataset="deaths.py:HoldsHalfReadLoader",
                says=("passed", "passed"),
                start_method="fork",
                cautions=frozenset(),
            ),
        ),
    ),
]
"""All hazards of this section."""

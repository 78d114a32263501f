"""Transport: queues, shared memory, descriptors."""

from tests.conformance.hazard import Case, Hazard

TWO = ("num_workers=2",)
KEPT = ("num_workers=2,persistent_workers=yes",)
SHORT = ("--hang-after", "6s")
NO_SPACE = r"shared memory|No space left on device"

HAZARDS = [
    Hazard(
        id="unpicklable-result-hang",
        kind="G",
        cases=tuple(
            Case(
                dataset="transport.py:lambdas_as_lists",
                says=("hung",),
                configs=TWO,
                start_method=method,
                flags=SHORT,
                words=(
                    r"after 0 batches",
                    r"\w*Error: .*(pickle|local object).*lambda",
                ),
            )
            for method in ("fork", "spawn")
        ),
    ),
    Hazard(
        id="unpicklable-exception-hang",
        kind="G",
        cases=(
            *(
                Case(
                    dataset="transport.py:RaisesLocalError",
                    says=("hung",),
                    configs=TWO,
                    start_method=method,
                    flags=SHORT,
                    words=(
                        r"could not send DecoderError: the decoder gave up, "
                        r"while it read id 33",
                        r"\w*Error: .*(pickle|local object).*DecoderError",
                    ),
                )
                for method in ("fork", "spawn")
            ),
            # in one process it is told before any worker is started
            Case(
                dataset="transport.py:RaisesLocalErrorAlways",
                says=("dataset",),
                words=(r"dataset\[33\] raises DecoderError: the decoder gave up",),
            ),
            # this one travels: PyTorch raises a RuntimeError with its text instead
            Case(
                dataset="transport.py:RaisesUnbuildableError",
                says=("worker_exception",),
                configs=TWO,
                words=(
                    r"NeedsArguments: .*shard-3\.tar is damaged at 512, "
                    r"while it read id 33",
                ),
            ),
        ),
    ),
    Hazard(
        id="shm-full-bus-error",
        kind="G",
        cases=(
            Case(
                dataset="transport.py:Large",
                says=("shared_memory_full",),
                configs=TWO,
                shared_memory="4m",
                words=(r"/dev/shm", r"\b4(\.0)? MiB"),
            ),
            # what older versions of PyTorch do themselves
            Case(
                dataset="transport.py:MapsMoreThanThereIs",
                says=("crashed",),
                configs=TWO,
                shared_memory="4m",
                words=(r"SIGBUS", r"/dev/shm", r"\b4(\.0)? MiB"),
            ),
            Case(
                dataset="transport.py:UsesMuchForAMoment",
                says=("passed", "passed"),
                shared_memory="4m",
                cautions=frozenset(),
            ),
        ),
    ),
    Hazard(
        id="shm-full-hang-custom-collate",
        kind="G",
        cases=(
            Case(
                dataset="transport.py:large_as_lists",
                says=("hung or shared_memory_full",),
                configs=TWO,
                shared_memory="4m",
                flags=SHORT,
                words=(NO_SPACE, r"/dev/shm"),
            ),
        ),
    ),
    Hazard(
        id="fd-exhausted",
        kind="G",
        cases=(
            # of 103 batches on their way, only those in flight are held open
            Case(
                dataset="transport.py:UsesMuchForAMoment",
                says=("passed", "passed"),
                batch_size=1,
                open_files=64,
                cautions=frozenset(),
            ),
            Case(
                dataset="transport.py:ManyTensors",
                says=("hung or descriptors_exhausted",),
                configs=TWO,
                flags=SHORT,
                open_files=128,
                words=(r"limit of 128 open files", r"ulimit -n"),
            ),
            Case(
                dataset="transport.py:many_tensors_by_file_system",
                says=("passed", "passed"),
                open_files=128,
            ),
            Case(
                dataset="transport.py:OpensEachTime",
                says=("passed", "passed"),
                arguments=("folder={folder}",),
                cautions=frozenset({"descriptors_growing"}),
            ),
        ),
    ),
    Hazard(
        id="file-system-strategy-leaks",
        kind="G",
        cases=(
            Case(
                dataset="transport.py:by_file_system",
                says=("passed", "passed"),
                cautions=frozenset(),
            ),
            Case(
                dataset="transport.py:by_file_system",
                says=("crashed", "crashed"),
                arguments=("dies=true",),
                words=(r"SIGKILL",),
            ),
        ),
        elsewhere=(
            "tests/conformance/test_transport.py"
            "::test_a_killed_loader_leaves_no_shared_memory"
        ),
    ),
    Hazard(
        id="pyg-shared-memory-leak",
        kind="G",
        cases=(
            # the library's present version lets its memory go
            Case(
                dataset="graph_transport.py:graphs",
                says=("passed", "passed"),
                batch_size=None,
                cautions=frozenset(),
            ),
            Case(
                dataset="transport.py:KeepsSharedMemory",
                says=("passed", "passed"),
                cautions=frozenset({"descriptors_growing"}),
            ),
        ),
    ),
    Hazard(
        id="persistent-memory-creep",
        kind="G",
        cases=(
            Case(
                dataset="transport.py:Hoards",
                says=("passed", "passed"),
                cautions=frozenset({"memory_growing"}),
            ),
            Case(
                dataset="transport.py:UsesMuchForAMoment",
                says=("passed", "passed"),
                cautions=frozenset(),
            ),
            Case(
                dataset="transport.py:FillsItsCache",
                says=("passed", "passed"),
                cautions=frozenset(),
            ),
        ),
    ),
]
"""All hazards of this section."""

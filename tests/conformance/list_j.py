"""Option errors, which the search space must never run into."""

from tests.conformance.hazard import Case, Hazard

PASSED = ("passed", "passed")
SPACE = "tests/conformance/test_options.py::test_pytorch_takes_every_config_of_a_space"

HAZARDS = [
    Hazard(
        id="prefetch-without-workers",
        kind="J",
        cases=(
            Case(
                dataset="options.py:with_settings",
                says=("usage",),
                configs=("num_workers=0,prefetch_factor=2",),
                batch_size=None,
                words=(r"prefetch_factor needs num_workers of at least 1",),
            ),
            # PyTorch's own refusal, where the user's loader is made
            Case(
                dataset="options.py:with_settings",
                says=("dataset",),
                batch_size=None,
                arguments=("num_workers=0", "prefetch_factor=2"),
                words=(r"ValueError: prefetch_factor option",),
            ),
        ),
        elsewhere=SPACE,
    ),
    Hazard(
        id="persistent-without-workers",
        kind="J",
        cases=(
            Case(
                dataset="options.py:with_settings",
                says=("usage",),
                configs=("num_workers=0,persistent_workers=yes",),
                batch_size=None,
                words=(r"persistent_workers needs num_workers of at least 1",),
            ),
            Case(
                dataset="options.py:with_settings",
                says=("dataset",),
                batch_size=None,
                arguments=("num_workers=0", "persistent_workers=true"),
                words=(r"ValueError: persistent_workers option needs num_workers > 0",),
            ),
        ),
        elsewhere=SPACE,
    ),
    Hazard(
        id="prefetch-zero",
        kind="J",
        cases=(
            Case(
                dataset="options.py:with_settings",
                says=("usage",),
                configs=("num_workers=1,prefetch_factor=0",),
                batch_size=None,
                words=(r"prefetch_factor must be a whole number of at least 1, got 0",),
            ),
            # PyTorch takes it, and fails where the loader is first iterated
            Case(
                dataset="options.py:with_settings",
                says=("usage or dataset",),
                batch_size=None,
                arguments=("num_workers=1", "prefetch_factor=0"),
                words=(r"prefetch_factor must be a whole number of at least 1, got 0",),
            ),
        ),
        elsewhere=SPACE,
    ),
    Hazard(
        id="timeout-without-workers",
        kind="J",
        cases=(
            Case(
                dataset="options.py:with_settings",
                says=PASSED,
                configs=("num_workers=0", "num_workers=2"),
                batch_size=None,
                arguments=("timeout=30",),
                cautions=frozenset(),
            ),
        ),
    ),
    Hazard(
        id="context-without-workers",
        kind="J",
        cases=(
            Case(
                dataset="options.py:with_settings",
                says=PASSED,
                configs=("num_workers=0", "num_workers=1"),
                batch_size=None,
                arguments=("num_workers=1", "multiprocessing_context=forkserver"),
                cautions=frozenset(),
            ),
            Case(
                dataset="options.py:with_settings",
                says=("passed",),
                configs=("num_workers=0",),
                start_method="spawn",
                batch_size=None,
            ),
        ),
    ),
    Hazard(
        id="numpy-int-batch-size",
        kind="J",
        cases=(
            Case(
                dataset="options.py:with_numpy_numbers",
                says=PASSED,
                batch_size=None,
                cautions=frozenset(),
            ),
            Case(
                dataset="options.py:with_numpy_batch_size",
                says=("dataset",),
                batch_size=None,
                words=(r"ValueError: batch_size should be a positive integer",),
            ),
        ),
        elsewhere=(
            "tests/values/test_config.py::test_whole_numbers_of_numpy_become_plain_ones"
        ),
    ),
    Hazard(
        id="batch-sampler-fixes-batch-size",
        kind="J",
        cases=(
            *(
                Case(
                    dataset=f"options.py:{name}",
                    says=("usage",),
                    batch_size=8,
                    words=(r"--batch-size",),
                )
                for name in ("with_lists", "without_batches")
            ),
            *(
                Case(
                    dataset=f"options.py:{name}",
                    says=PASSED,
                    batch_size=None,
                    cautions=frozenset(),
                )
                for name in ("with_lists", "without_batches")
            ),
        ),
        elsewhere=(
            "tests/conformance/test_options.py"
            "::test_no_batch_size_is_searched_where_it_is_not_free"
        ),
    ),
    Hazard(
        id="empty-dataset-shuffle",
        kind="J",
        cases=(
            *(
                Case(
                    dataset=f"options.py:{name}",
                    says=("usage",),
                    batch_size=None,
                    words=(rf"options\.py:{name} is empty: len\(\) is 0",),
                )
                for name in ("Empty", "empty_in_order")
            ),
            # PyTorch refuses it sooner, in words that do not say so
            Case(
                dataset="options.py:empty_and_shuffled",
                says=("dataset",),
                batch_size=None,
                words=(r"num_samples=0", r"empty"),
            ),
        ),
    ),
]
"""All hazards of this section."""

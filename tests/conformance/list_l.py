"""Measuring speed and memory: mostly no matter of a check."""

from tests.conformance.hazard import Case, Hazard

MEASURING = "tests/conformance/test_measuring.py"

HAZARDS = [
    Hazard(
        id="cow-refcount-growth",
        kind="L",
        elsewhere=f"{MEASURING}::test_a_touched_list_is_copied_and_is_weighed",
    ),
    Hazard(
        id="rss-double-count",
        kind="L",
        elsewhere=f"{MEASURING}::test_shared_pages_are_weighed_once",
    ),
    Hazard(
        id="prefetch-memory",
        kind="L",
        elsewhere=f"{MEASURING}::test_a_deeper_queue_weighs_more",
    ),
    Hazard(
        id="head-of-line",
        kind="L",
        cases=tuple(
            Case(
                dataset="options.py:slow_ones",
                says=("passed", "passed"),
                batch_size=None,
                arguments=(f"in_order={in_order}",),
                cautions=frozenset(),
            )
            for in_order in ("true", "false")
        ),
    ),
    Hazard(
        id="start-cost-dominates",
        kind="L",
        elsewhere=(
            "tests/measure/test_throughput.py"
            "::test_the_epoch_rate_of_a_long_epoch_is_what_that_epoch_takes"
        ),
    ),
    Hazard(
        id="more-workers-than-cores",
        kind="L",
        elsewhere=(
            "tests/search/test_space.py::test_more_workers_are_allowed_where_work_waits"
        ),
    ),
    Hazard(
        id="cpu-quota-ignored",
        kind="L",
        elsewhere=(
            "tests/measure/test_read_machine.py"
            "::test_a_container_is_read_with_its_limits"
        ),
    ),
]
"""All hazards of this section."""

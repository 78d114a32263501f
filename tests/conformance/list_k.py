"""Pinned memory and GPU: what of it can be shown without one."""

from tests.conformance.hazard import Case, Hazard

PASSED = ("passed", "passed")
PINNED = ("num_workers=2", "num_workers=2,pin_memory=yes")

HAZARDS = [
    Hazard(
        id="cuda-in-worker",
        kind="K",
        why_not="needs a GPU: CUDA must have been in use before the workers start",
    ),
    Hazard(
        id="pin-changes-container",
        kind="K",
        # without an accelerator PyTorch warns and pins nothing
        cases=(
            Case(
                dataset="options.py:pinned",
                says=PASSED,
                configs=PINNED,
                batch_size=None,
                arguments=("kind=bag",),
            ),
        ),
        elsewhere=(
            "tests/conformance/test_pinning.py::test_pinning_keeps_kind_and_content"
        ),
    ),
    Hazard(
        id="pin-tuple-subclass-fails",
        kind="K",
        cases=(
            Case(
                dataset="options.py:pinned",
                says=PASSED,
                configs=PINNED,
                batch_size=None,
                arguments=("kind=pair",),
            ),
        ),
        elsewhere=(
            "tests/conformance/test_pinning.py"
            "::test_a_tuple_that_cannot_be_rebuilt_is_a_failure_with_its_reason"
        ),
    ),
    Hazard(
        id="pin-skips-custom-type",
        kind="K",
        cases=(
            Case(
                dataset="options.py:pinned",
                says=PASSED,
                configs=PINNED,
                batch_size=None,
                arguments=("kind=batch",),
            ),
        ),
        elsewhere=(
            "tests/child/test_pin_watch.py::test_a_flag_that_did_nothing_is_a_caution"
        ),
    ),
    Hazard(
        id="pin-context-on-gpu0",
        kind="K",
        why_not="needs two GPUs: a loader for the second takes memory of the first",
    ),
    Hazard(
        id="pin-thread-death",
        kind="K",
        why_not="needs a GPU: only there does a loader start a thread that pins",
    ),
]
"""All hazards of this section."""

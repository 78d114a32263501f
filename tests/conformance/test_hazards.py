"""Every hazard of the list is named by its right code, or says why it does not run."""

from pathlib import Path

import pytest

from tests.conformance.hazard import Case
from tests.conformance.listed import HAZARDS
from tests.conformance.running import differences, run

IN_CI = frozenset(
    {
        "h5py-handle-in-init", "lmdb-env-pickle", "tar-handle", "iter-no-shard",
        "set-epoch-not-reaching-workers", "own-numpy-generator",
        "unpicklable-result-hang",
    }
)  # fmt: skip
"""Hazards whose first case runs with the slow tests; all others with the full ones."""

NAMED_WITHIN_S = 30.0
"""Longest time that naming what hangs, dies or runs out waits for anything but a CPU,
from start to end: watchdogs, deadlines, pauses, processes that are asked to end."""

BOUNDED = frozenset("GH")
"""Sections of the list whose cases are held to it."""

CASES = [
    pytest.param(
        case,
        NAMED_WITHIN_S if hazard.kind in BOUNDED else None,
        marks=(
            pytest.mark.slow if hazard.id in IN_CI and not number else pytest.mark.full
        ),
        id="-".join(
            part
            for part in (
                hazard.id,
                case.dataset.partition(":")[2],
                case.start_method,
                str(number),
            )
            if part
        ),
    )
    for hazard in HAZARDS
    for number, case in enumerate(hazard.cases)
]


def test_the_list_is_whole() -> None:
    """113 hazards, each once; all run here, or say why not."""
    names = [hazard.id for hazard in HAZARDS]

    assert len(names) == len(set(names)) == 113
    assert [item.id for item in HAZARDS if item.elsewhere and not _exists(item)] == []


def _exists(item: object) -> bool:
    path, _, name = str(getattr(item, "elsewhere", "")).partition("::")
    file = Path(__file__).parents[2] / path
    return file.is_file() and f"def {name}(" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(("case", "within_s"), CASES)
def test_a_hazard_is_named(case: Case, within_s: float | None, tmp_path: Path) -> None:
    """The check says what is wrong, in time, and nothing of what is in the data."""
    said = run(case, tmp_path)
    print(f"{said.seconds:.1f} s, of which {said.idle_s:.1f} s waiting")

    assert differences(case, said, within_s=within_s) == []

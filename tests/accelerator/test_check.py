"""The check for machines with an accelerator, as far as it goes without one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import accelerator_check
from scripts.accelerator.passes import holds_context, own_processes
from scripts.accelerator.rows import (
    Fate,
    close,
    holds,
    not_run,
    same,
    table,
    told,
    verdict,
)

ROOT = Path(__file__).parents[2]

NEEDS_NONE = pytest.mark.skipif(
    any(any(Path("/dev").glob(name)) for name in accelerator_check.DEVICE_FILES),
    reason="there may be an accelerator here",
)


@NEEDS_NONE
def test_without_an_accelerator_it_says_so_before_torch_is_loaded() -> None:
    """In the first second, with the exit code of wrong use."""
    code = (
        "import sys; from scripts.accelerator_check import main; code = main([]); "
        "print('torch' in sys.modules); sys.exit(code)"
    )

    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT
    )

    assert ran.returncode == 2
    assert ran.stdout == "False\n"
    assert ran.stderr == (
        "accelerator_check: no accelerator is here; --device cpu is a dry run "
        "without one\n"
    )


def test_a_driver_without_a_device_for_pytorch_is_no_accelerator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyTorch has the last word; one of another kind is named."""
    (tmp_path / "nvidia0").touch()
    from autoloader.child import device

    monkeypatch.setattr(device, "device_kind", lambda: None)
    none = accelerator_check._no_device(tmp_path)
    monkeypatch.setattr(device, "device_kind", lambda: "xpu")
    other = accelerator_check._no_device(tmp_path)
    monkeypatch.setattr(device, "device_kind", lambda: "cuda")

    assert none == "PyTorch finds no CUDA device here, but none"
    assert other == "PyTorch finds no CUDA device here, but xpu"
    assert accelerator_check._no_device(tmp_path) is None


def test_what_it_needs_is_named_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is installed for it."""
    monkeypatch.setattr(accelerator_check, "NEEDED", ("torch", "no_such_package"))

    code = accelerator_check.main(["--device", "cpu"])

    assert code == 2
    assert capsys.readouterr().err == (
        "accelerator_check: no_such_package not installed here; PYTHON names another "
        "Python\n"
    )


@pytest.mark.parametrize(
    ("ours", "plain", "fate"),
    [
        (100.0, 110.0, Fate.AGREES),
        (110.0, 100.0, Fate.AGREES),
        (100.0, 130.0, Fate.DIFFERS),
        (None, 130.0, Fate.DIFFERS),
        (None, None, Fate.NOT_RUN),
    ],
)
def test_figures_agree_within_a_part_of_the_larger(
    ours: float | None, plain: float | None, fate: Fate
) -> None:
    """One that is missing on one side alone is a difference."""
    assert close("rate", ours, plain, within=0.15).fate is fate


def test_what_cannot_be_judged_is_told_only() -> None:
    """A busy machine proves nothing of speed."""
    row = close("rate", 100.0, 900.0, within=0.15, unit=" x", is_judged=False)

    assert (row.ours, row.plain, row.fate) == ("100 x", "900 x", Fate.TOLD)


def test_one_difference_decides() -> None:
    """It is named, and the exit code says it too."""
    rows = [
        same("name", "GPU", "GPU"),
        same("gate passed", False, True),
        holds("busy", 0.9, "0.5 or more", is_so=True),
        told("driver", "580"),
        not_run("copies", "no device"),
    ]

    said, code = verdict(rows)

    assert code == 1
    assert said == "DIFFERS: gate passed (2 agrees, 1 differs, 1 told, 1 not run)"
    assert verdict(rows[:1]) == ("agrees (1 agrees)", 0)


def test_where_nothing_was_checked_nothing_is_proven() -> None:
    """Rows that only tell do not agree."""
    assert verdict([told("driver", "580")]) == ("NOTHING WAS CHECKED (1 told)", 1)


def test_the_table_can_go_into_a_page() -> None:
    """Markdown, its columns aligned."""
    lines = table([same("name", "GPU", "GPU"), told("driver", None)]).splitlines()

    assert lines == [
        "| checked | autoloader | plain | verdict |",
        "|---------|------------|-------|---------|",
        "| name    | GPU        | GPU   | agrees  |",
        "| driver  | None       | -     | told    |",
    ]


def test_pinned_blocks_are_powers_of_two() -> None:
    """Each by itself, as PyTorch rounds them."""
    assert accelerator_check._blocks(3 << 20, 5) == 5 * (4 << 20)
    assert accelerator_check._blocks(4 << 20, 1) == 4 << 20


def test_this_process_has_no_context() -> None:
    """Nor has one that does not exist."""
    assert holds_context(own_processes()[0]) is False
    assert holds_context(2**22 + 1) is False


@pytest.mark.full
def test_a_dry_run_goes_through_all_of_it(tmp_path: Path) -> None:
    """Data is compared and agrees; what needs a device is not run."""
    ran = subprocess.run(
        [
            str(ROOT / "scripts/accelerator_check"),
            "--device",
            "cpu",
            "--workload",
            "tensors",
        ],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "PYTHON": sys.executable, "HOME": str(tmp_path)},
    )

    rows = {
        cells[0]: cells[1:]
        for line in ran.stdout.splitlines()
        if line.startswith("|")
        and (cells := [c.strip() for c in line.split("|")[1:-1]])
    }
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert rows["device"][-1] == "not run"
    for kind in ("pinned", "not pinned"):
        assert rows[f"tensors, {kind}: gate passed"] == ["True", "True", "agrees"]
        assert rows[f"tensors, {kind}: arrived pinned"] == ["False", "False", "agrees"]
        assert rows[f"tensors, {kind}: moved, examples/s"][-1] == "told"
        assert rows[f"tensors, {kind}: convnet, examples/s"][-1] == "told"
        assert rows[f"tensors, {kind}: copies"][-1] == "not run"
    assert rows["tensors: contexts of parent and hosts"][-1] == "not run"
    assert rows["a class of its own: pinning did nothing"][-1] == "agrees"
    assert rows["a step that does not fit the device"][-1] == "agrees"


def test_recordings_are_plain_json() -> None:
    """Those that lie beside the tests of the meter."""
    paths = sorted((ROOT / "tests/measure/nvml").glob("*.json"))

    calls = [json.loads(path.read_text(encoding="utf-8"))["calls"] for path in paths]

    assert len(calls) == 3
    assert all("nvmlDeviceGetCount()" in found for found in calls)

"""Check on a machine with an accelerator what cannot be checked without one.

    scripts/accelerator_check [--device auto|cpu] [--workload photos|tensors]
        [--recording FILE]

The package's own passes run in turns with plain PyTorch code that measures the same:
rates of loops that move batches, pinned and not, times of copies and what of them is
hidden, pinned bytes, a convnet's loop, the gate on pinned batches, what NVIDIA's
library tells. Prints a table and a verdict; the exit code is 0 where all agrees, 1
where something differs, 2 without an accelerator or without what is needed. Nothing is
built or downloaded; three minutes or so. `--device cpu` goes through the same code
without a device: rows that need one are "not run", and of speed nothing is judged.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import platform
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.accelerator.rows import (
    HIDDEN,
    RATE,
    TIME,
    Row,
    close,
    holds,
    not_run,
    same,
    table,
    told,
    verdict,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts.accelerator.passes import Passes

NEEDED = ("torch", "numpy", "xxhash")
"""What must be installed; NVIDIA's management library is used where it is."""

DEVICE_FILES = ("nvidia*", "dxg", "kfd", "dri/render*", "accel*", "hl*")
"""Under /dev: without any of them there is no accelerator, and torch is not loaded."""

WORKLOADS = ("photos", "tensors")

REPEATS = 2
"""Times that each loop is run, in turns with the plain one; the best of each counts."""

BUSY_S = 4.0
"""Seconds of matrix products during which the driver's figures are looked at."""


def main(arguments: list[str] | None = None) -> int:
    """Check, print, return the exit code."""
    options = _options(arguments)
    why_not = _missing() or (None if options.device == "cpu" else _no_device())
    if why_not is not None:
        print(f"accelerator_check: {why_not}", file=sys.stderr)
        return 2
    device = "cpu" if options.device == "cpu" else "cuda"
    begun = time.monotonic()
    rows = [*_of_driver(device), *_of_workloads(options, device)]
    if options.recording is not None:
        _record(Path(options.recording))
    said, code = verdict(rows)
    machine = next((row.ours for row in rows if row.name == "device"), device)
    print(f"{machine}; {platform.platform()}, Python {platform.python_version()}\n")
    print(table(rows))
    print(f"\n{said}; {time.monotonic() - begun:.0f} s")
    return code


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/accelerator_check",
        description="Check the package on a machine with an accelerator.",
    )
    parser.add_argument(
        "--device", choices=("auto", "cpu"), default="auto", help="cpu: a dry run"
    )
    parser.add_argument("--workload", choices=WORKLOADS, help="only this one")
    parser.add_argument(
        "--recording", metavar="FILE", help="keep the driver's answers, for tests"
    )
    return parser.parse_args(arguments)


def _missing() -> str | None:
    found = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if not found:
        return None
    return f"{', '.join(found)} not installed here; PYTHON names another Python"


def _no_device(root: Path = Path("/dev")) -> str | None:
    """Return that there is no CUDA device; looked at before torch is loaded."""
    if not any(any(root.glob(pattern)) for pattern in DEVICE_FILES):
        return "no accelerator is here; --device cpu is a dry run without one"
    from autoloader.child.device import device_kind  # torch

    kind = device_kind()
    if kind == "cuda":
        return None
    found = "none" if kind is None else kind
    return f"PyTorch finds no CUDA device here, but {found}"


def _of_driver(device: str) -> Iterator[Row]:
    """Yield what the management library tells, and what PyTorch tells of the same."""
    from autoloader.measure.accelerator import read_accelerators
    from scripts.accelerator.passes import ask_plain

    devices, note = read_accelerators()
    yield told("torch", importlib.metadata.version("torch"))
    if device == "cpu":
        yield not_run("device", "no device")
        yield told("management library", note or f"{len(devices)} devices")
        return
    plain = ask_plain("device", device=device)["device"]
    yield told("device", plain["name"])
    yield same("CUDA opened by asking for it", plain["uvm_when_asked"], False)
    yield same("CUDA opened by using it", plain["uvm_when_used"], True)
    expected = _blocks(3 << 20, 5)
    yield same(
        "pinned bytes of 5 x 3 MiB, in powers of two", plain["pinned_bytes"], expected
    )
    grown = plain["resident_growth_bytes"] / (15 << 20)
    yield told("part of them in the resident set", f"{grown:.2f}")
    if not devices:
        yield not_run("management library", f"{note}")
        return
    names = [item.name for item in devices]
    yield holds("name", plain["name"], f"one of {names}", is_so=plain["name"] in names)
    sizes = [item.memory_bytes or 0 for item in devices if item.name == plain["name"]]
    yield close("memory", max(sizes, default=None), plain["memory_bytes"], within=0.05)
    yield told("driver", devices[0].driver)
    yield from _while_busy(device, plain["uuid"])


def _blocks(size: int, count: int) -> int:
    """Return the bytes of blocks that PyTorch pins: powers of two."""
    return count * (1 << (size - 1).bit_length())


def _while_busy(device: str, uuid: str) -> Iterator[Row]:
    """Yield what the driver tells while matrices are multiplied."""
    from autoloader.measure.device_meter import DeviceMeter
    from scripts.accelerator.passes import plain_command

    meter = DeviceMeter()
    meter.begin()
    command = plain_command(["busy"], device, "tensors", (1, 1), BUSY_S)
    begun, steps = time.monotonic(), 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            if time.monotonic() - begun > BUSY_S / 2 + 2:  # it has begun by then
                steps += 1
                meter.note(steps)
            time.sleep(0.1)
    seen = meter.device(uuid)
    if seen is None:
        yield holds("device by its id", None, uuid, is_so=False)
        return
    yield same("device by its id", seen.name, seen.name)
    busy = seen.utilisation
    yield holds("utilisation, busy", busy, "0.5 or more", is_so=(busy or 0) >= 0.5)
    clock, most = seen.clock_mhz, seen.most_clock_mhz
    is_so = clock is None or most is None or 0.2 * most <= clock <= most
    yield holds("clock of its cores (MHz)", clock, f"at most {most}", is_so=is_so)
    yield told("slowed by", ", ".join(seen.slowed_by) or "nothing")
    link = f"{seen.link_generation} x{seen.link_width}"
    full = f"{seen.most_link_generation} x{seen.most_link_width}"
    yield told("PCI Express", f"{link} of {full}")
    yield told("other processes", seen.other_processes)


def _of_workloads(options: argparse.Namespace, device: str) -> Iterator[Row]:
    """Yield the rows of each workload."""
    from scripts.accelerator.passes import Passes
    from scripts.accelerator.workloads import DRY_SIZES, SIZES

    sizes = DRY_SIZES if device == "cpu" else SIZES
    names = WORKLOADS if options.workload is None else (options.workload,)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="acc-")))
        for name in names:
            passes = Passes.of(
                name,
                sizes[name],
                folder=folder / name,
                device=device,
                stack=stack,
            )
            for is_pinned in (False, True):
                yield from _of_config(passes, is_pinned=is_pinned)
            yield from _of_processes(passes)
        faults = Passes.of(
            "opaque",
            sizes["tensors"],
            folder=folder / "opaque",
            device=device,
            stack=stack,
            step="too_large",
        )
        yield from _of_faults(faults)


def _of_config(passes: Passes, *, is_pinned: bool) -> Iterator[Row]:
    """Yield the rows of one config: its data, its copies, its training loop."""
    from autoloader.values.outcome import Failure

    has_device = passes.device != "cpu"
    of = f"{passes.workload}, {'pinned' if is_pinned else 'not pinned'}"
    config = passes.config(is_pinned=is_pinned)
    gated = passes.gate(config)
    plain = passes.plain("loop", "step", "data", is_pinned=is_pinned)
    data = plain["data"]
    if isinstance(gated, Failure):
        yield same(f"{of}: gate", gated.message, "passed")
        return
    plain_passed = not data["wrong"]
    yield same(f"{of}: gate passed", gated.passed, plain_passed)
    codes = [item.code for item in gated.cautions]
    says_pinned = is_pinned and has_device and "pinning_without_effect" not in codes
    yield same(f"{of}: arrived pinned", says_pinned, data["pinned"])
    yield from _of_moves(passes, of, plain["loop"], is_pinned=is_pinned, verdict=gated)
    yield from _of_training(
        passes, of, plain["step"], is_pinned=is_pinned, verdict=gated
    )


def _of_moves(
    passes: Passes, of: str, plain: dict[str, Any], *, is_pinned: bool, verdict: Any
) -> Iterator[Row]:
    """Yield the rows of loops that move batches."""
    from autoloader.measure.stepping import loop_shares
    from autoloader.measure.transfer import transfer_shares
    from autoloader.values.outcome import Failure

    has_device = passes.device != "cpu"
    config = passes.config(is_pinned=is_pinned)
    readings, plains = [], [plain]
    batch_s = passes.batch_size / plain["examples_per_s"]
    for number in range(REPEATS if has_device else 1):
        if number:
            plains.append(passes.plain("loop", is_pinned=is_pinned)["loop"])
        reading = passes.move(config, verdict, batch_s)
        if isinstance(reading, Failure):
            yield same(f"{of}: moving batches", reading.message, "a reading")
            return
        readings.append(reading)
    rates = [
        shares.examples_per_s for item in readings if (shares := loop_shares(item.loop))
    ]
    best = max(item["examples_per_s"] for item in plains)
    name = f"{of}: moved, examples/s"
    yield close(name, max(rates, default=None), best, within=RATE, is_judged=has_device)
    copies = [found for item in readings if (found := transfer_shares(item))]
    if not copies:
        yield not_run(f"{of}: copies", f"{readings[0].untimed}")
        return
    ours_ms = 1000 * min(item.transfer_s for item in copies)
    plain_ms = 1000 * min(item["transfer_s"] for item in plains)
    yield close(f"{of}: a copy", ours_ms, plain_ms, within=TIME, unit=" ms")
    hidden = max(item.hidden_share for item in copies)
    plain_hidden = max(item["hidden_share"] for item in plains)
    is_so = abs(hidden - plain_hidden) <= HIDDEN
    yield holds(f"{of}: hidden", f"{hidden:.2f}", f"{plain_hidden:.2f}", is_so=is_so)
    pinned, known = readings[0].pinned_bytes, plains[0]["pinned_bytes"]
    if is_pinned:
        is_so = pinned is not None and pinned >= readings[0].batch_bytes
        yield holds(f"{of}: pinned bytes", pinned, f"{known}", is_so=is_so)
    peaks = readings[0].accelerator_bytes, plains[0]["accelerator_bytes"]
    yield close(f"{of}: peak on the device", *peaks, within=0.5, unit=" B")


def _of_training(
    passes: Passes, of: str, plain: dict[str, Any], *, is_pinned: bool, verdict: Any
) -> Iterator[Row]:
    """Yield the row of a convnet's loop."""
    from autoloader.measure.stepping import loop_shares
    from autoloader.values.outcome import Failure

    batch_s = passes.batch_size / plain["examples_per_s"]
    found = passes.train(passes.config(is_pinned=is_pinned), verdict, batch_s)
    if isinstance(found, Failure):
        yield same(f"{of}: convnet", found.message, "a reading")
        return
    shares = loop_shares(found)
    rate = None if shares is None else shares.examples_per_s
    has_device = passes.device != "cpu"
    yield close(
        f"{of}: convnet, examples/s",
        rate,
        plain["examples_per_s"],
        within=RATE,
        is_judged=has_device,
    )
    if has_device and found.utilisation is not None:
        yield told(f"{of}: device busy", f"{found.utilisation:.2f}")


def _of_processes(passes: Passes) -> Iterator[Row]:
    """Yield whether a process has a context that must have none."""
    from scripts.accelerator.passes import holds_context, own_processes

    name = f"{passes.workload}: contexts of parent and hosts"
    if passes.device == "cpu":
        yield not_run(name, "no device")
        return
    yield same(name, sum(map(holds_context, own_processes())), 0)


def _of_faults(passes: Passes) -> Iterator[Row]:
    """Yield what is said of batches that stay unpinned, and of too large a step.

    Neither is said where there is no device.
    """
    from autoloader.measure.planning import wave_plan
    from autoloader.values.outcome import Failure

    has_device = passes.device != "cpu"
    examples = passes.reference.scope.examples
    gated = passes.stepper.gate(passes.config(is_pinned=True), examples=examples)
    cautions = () if isinstance(gated, Failure) else gated.cautions
    is_said = any(item.code == "pinning_without_effect" for item in cautions)
    yield same("a class of its own: pinning did nothing", is_said, has_device)
    config = passes.config(is_pinned=False)
    found = passes.stepper.consume(config, plan=wave_plan(0), limit_s=1.0)
    is_full = isinstance(found, Failure) and found.of_accelerator
    yield same("a step that does not fit the device", is_full, has_device)


def _record(path: Path) -> None:
    """Keep what the driver answers, in the format that tests read."""
    from scripts.accelerator.recorded import record_nvml

    record_nvml(path)


if __name__ == "__main__":
    raise SystemExit(main())

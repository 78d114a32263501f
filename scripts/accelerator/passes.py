"""The package's own passes of one workload, and plain ones beside them.

Runs and asks; which figures must agree is said in `accelerator_check`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from autoloader.measure.device_meter import DeviceMeter
from autoloader.measure.planning import loop_plan
from autoloader.measure.proc import children_of
from autoloader.trial.reference import read_reference
from autoloader.trial.step_runner import StepRunner
from autoloader.trial.transfer_runner import TransferRunner
from autoloader.values.config import LoaderConfig
from autoloader.values.job import Reference, ReferenceOrder
from autoloader.values.scope import ScopeRequest, SourceSpec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import ExitStack

    from autoloader.values.outcome import Failure, Verdict
    from autoloader.values.step import StepReading
    from autoloader.values.transfer import TransferReading

HERE = Path(__file__).parent

UVM = "/dev/nvidia-uvm"
"""What a process has open that has a context on an NVIDIA device."""

PASS_S = 2.0
"""Seconds of the part of a pass that is looked at."""

DRY_PASS_S = 0.2
"""The same where there is no device."""

Act = Literal["loop", "step", "data", "device", "busy"]


@dataclass(slots=True)
class Passes:
    """Runs the passes of one workload, each in processes of its own."""

    workload: str
    examples: int
    """Of an epoch."""
    batch_size: int
    folder: Path
    device: str
    """`cuda` or another type of PyTorch's; `cpu`: no device is used."""
    stack: ExitStack
    """Ends what was started."""
    mover: TransferRunner
    stepper: StepRunner
    reference: Reference

    @classmethod
    def of(
        cls,
        workload: str,
        size: tuple[int, int],
        *,
        folder: Path,
        device: str,
        stack: ExitStack,
        step: str = "Convnet",
    ) -> Passes:
        """Read the reference of a workload, and return what runs its passes."""
        examples, batch_size = size
        source = SourceSpec(
            spec=f"{HERE / 'workloads.py'}:{workload}",
            arguments=(("examples", examples),),
        )
        for name in ("reference", "t"):
            (folder / name).mkdir(parents=True)
        reference = read_reference(
            ReferenceOrder(
                source=source,
                request=ScopeRequest(examples="all"),
                folder=str(folder / "reference"),
            ),
            logs=folder / "reference",
            tmp=folder / "t",
        )
        has_device = device == "cuda"
        meter = DeviceMeter() if has_device else None
        mover = TransferRunner(
            source,
            reference,
            meter=meter,
            folder=folder / "moves",
            tmp=folder / "m",
        )
        stepper = StepRunner(
            source,
            reference,
            step=f"{HERE / 'workloads.py'}:{step}",
            meter=meter,
            folder=folder / "steps",
            tmp=folder / "s",
        )
        return cls(
            workload=workload,
            examples=examples,
            batch_size=batch_size,
            folder=folder,
            device=device,
            stack=stack,
            mover=stack.enter_context(mover),
            stepper=stack.enter_context(stepper),
            reference=reference,
        )

    @property
    def pass_s(self) -> float:
        """Seconds of the part of a pass that is looked at."""
        return DRY_PASS_S if self.device == "cpu" else PASS_S

    def config(self, *, is_pinned: bool) -> LoaderConfig:
        """Return two workers, pinned or not."""
        return LoaderConfig.canonical(
            num_workers=2, batch_size=self.batch_size, pin_memory=is_pinned
        )

    def gate(self, config: LoaderConfig) -> Verdict | Failure:
        """Compare a config's data with the reference, two epochs of all examples."""
        return self.mover.gate(config, examples=self.reference.scope.examples)

    def move(
        self, config: LoaderConfig, verdict: Verdict, batch_s: float
    ) -> TransferReading | Failure:
        """Move batches to the device for about as long as the plain loop does."""
        plan = loop_plan(config, batch_s=batch_s, limit_s=2 * self.pass_s)
        return self.mover.transfer(config, verdict=verdict, plan=plan)

    def train(
        self, config: LoaderConfig, verdict: Verdict, batch_s: float
    ) -> StepReading | Failure:
        """Train the convnet for about as long as the plain loop does."""
        plan = loop_plan(config, batch_s=batch_s, limit_s=2 * self.pass_s)
        return self.stepper.step(config, verdict=verdict, plan=plan)

    def plain(self, *acts: Act, is_pinned: bool) -> dict[str, Any]:
        """Return what plain PyTorch code measures of the same, by what it did."""
        return ask_plain(
            *acts,
            device=self.device,
            workload=self.workload,
            size=(self.examples, self.batch_size),
            is_pinned=is_pinned,
            seconds=self.pass_s,
        )


def ask_plain(
    *acts: Act,
    device: str,
    workload: str = "tensors",
    size: tuple[int, int] = (128, 16),
    is_pinned: bool = False,
    seconds: float = PASS_S,
) -> dict[str, Any]:
    """Return what plain PyTorch code prints, in a process of its own, by what it did.

    Raises:
        CalledProcessError: it fails.
    """
    found: dict[str, Any] = json.loads(
        subprocess.run(
            plain_command(acts, device, workload, size, seconds, is_pinned=is_pinned),
            check=True,
            stdout=subprocess.PIPE,  # what it complains of is to be seen
            text=True,
            timeout=300,
        ).stdout
    )
    return found


def plain_command(
    acts: Sequence[Act],
    device: str,
    workload: str,
    size: tuple[int, int],
    seconds: float,
    *,
    is_pinned: bool = False,
) -> list[str]:
    """Return the command that prints what plain PyTorch code measures."""
    pin = ["--pin"] if is_pinned else []
    warm = 1 if device == "cpu" else 4
    return [
        sys.executable, "-W", "ignore", str(HERE / "plain.py"), *acts,
        "--device", device, "--workload", workload,
        "--examples", f"{size[0]}", "--batch-size", f"{size[1]}",
        "--seconds", f"{seconds}", "--warm", f"{warm}", *pin,
    ]  # fmt: skip


def holds_context(pid: int) -> bool:
    """Return whether a process has what CUDA opens; False where it cannot be seen."""
    folder = Path(f"/proc/{pid}/fd")
    try:
        return any(
            entry.is_symlink() and str(entry.readlink()) == UVM
            for entry in folder.iterdir()
        )
    except OSError:
        return False


def own_processes() -> list[int]:
    """Return this process and the hosts that wait for orders."""
    return [os.getpid(), *(child.pid for child in children_of(os.getpid()))]

"""Drive `plain_loop.py`: a loop without the package, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sliced_clock import SIDE

if TYPE_CHECKING:
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import PassPlan

_LOOP = Path(__file__).with_name("plain_loop.py")


class PlainLoop:
    """A process that times loaders by hand.

    Args:
        file: where the workload stands.
        attribute: what gives it.
        arguments: of the attribute.
    """

    def __init__(self, file: Path, attribute: str, **arguments: Any) -> None:
        self._command = [
            sys.executable, _LOOP, f"{file}:{attribute}", json.dumps(arguments),
        ]  # fmt: skip
        self._process = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._end()

    @property
    def pid(self) -> int:
        """Process that builds the dataset and forks the loops."""
        return self._process.pid

    def begin_anew(self) -> None:
        """Go on in another process."""
        self._end()
        self._process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self._command,
            stdin=pipe,
            stdout=pipe,
            text=True,
            env={**os.environ, SIDE: "1"},
        )

    def _end(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()

    def window(self, config: LoaderConfig, plan: PassPlan, indices: Path) -> float:
        """Return the examples a second of the plan's steady window."""
        return self._ask(
            kind="window",
            settings=config.dataloader_kwargs(),
            indices=str(indices),
            warm=plan.warm_batches,
            steady=plan.steady_batches,
        )

    def epoch(self, config: LoaderConfig) -> float:
        """Return the examples a second of a whole epoch, the second of kept workers."""
        return self._ask(kind="epoch", settings=config.dataloader_kwargs())

    def _ask(self, **order: Any) -> float:
        if self._process.stdin is None or self._process.stdout is None:
            msg = "the plain loop has no pipes"
            raise RuntimeError(msg)
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return float(json.loads(self._process.stdout.readline()))

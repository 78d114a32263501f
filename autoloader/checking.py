"""The story of a check: the gate alone, on a few configs.

Reads the reference, then compares what each config delivers over two epochs. Nothing is
timed. Prints nothing.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.trial.aftercare import make_tmp, remove_folder
from autoloader.trial.rank_references import read_reference, runner_of
from autoloader.values.config import LoaderConfig
from autoloader.values.gate import GatePolicy
from autoloader.values.job import Reference, ReferenceOrder, scope_of_one
from autoloader.values.outcome import Failure, Verdict
from autoloader.values.scope import ScopeRequest, SourceSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.trial.hosting import Isolation

DEFAULT_BATCH = 32
"""Batch size for a bare dataset where none is named."""

DEFAULT_WORKERS = 2
"""Workers that a check uses where no config is named: the least that can differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """What the user asked for."""

    source: SourceSpec
    scope: ScopeRequest = field(default_factory=ScopeRequest)
    configs: tuple[str, ...] = ()
    """Configs as text; empty: two workers, with and without keeping them."""
    batch_size: int | None = None
    """Examples a batch; None: the DataLoader's own, else `DEFAULT_BATCH`."""
    ranks: int = 1
    """Training processes that read at once, each its share."""
    isolation: Isolation = "auto"
    policy: GatePolicy = field(default_factory=GatePolicy)
    """What refuses a config."""
    folder: Path = Path(".autoloader")
    """Where logs of what fails are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What each config delivered."""

    reference: Reference
    runs: tuple[tuple[LoaderConfig, Verdict | Failure], ...]

    @property
    def passed(self) -> bool:
        """Whether every config delivers what one process does."""
        return all(isinstance(item, Verdict) and item.passed for _, item in self.runs)

    def to_dict(self) -> dict[str, Any]:
        """Return the shape of `check --json`: the first run that did not pass leads."""
        method = self.reference.facts.start_method
        runs = [
            {
                **_run(config, item),
                "start_method": method if config.num_workers else None,
            }
            for config, item in self.runs
        ]
        leading = next((run for run in runs if run["status"] != "passed"), runs[0])
        scope = self.reference.scope
        return {
            "passed": self.passed,
            "status": leading["status"],
            "verified": {
                "examples": min(run["examples"] for run in runs),
                "of": scope.of,
                "epochs": 2,
            },
            "findings": leading["findings"],
            "cautions": _distinct([item for run in runs for item in run["cautions"]]),
            "failure": leading["failure"],
            "runs": runs,
            "ranks": max(1, len(self.reference.of_ranks)),
            "dataset": self.reference.facts.to_dict(),
            "scope": scope.to_dict(),
        }


def _ignore(*_told: object) -> None:
    """Take what nobody wants to see."""


def check(
    request: CheckRequest,
    *,
    on_phase: Callable[[str], None] = _ignore,
    on_tick: Callable[[str, int], None] = _ignore,
) -> CheckResult:
    """Return what each config delivers, compared with one process.

    Raises:
        UsageError: something asked for cannot be done.
        DatasetError: the dataset fails by itself.
    """
    with ExitStack() as stack:
        tmp = make_tmp()
        stack.callback(remove_folder, tmp)
        folder = request.folder.absolute() / "check"
        target = folder / "reference"
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        on_phase("reference")
        reference = read_reference(
            ReferenceOrder(
                source=request.source,
                request=request.scope,
                folder=str(target),
                largest_batch=request.batch_size,
                ranks=request.ranks,
            ),
            logs=target,
            tmp=tmp,
            hang_after_s=request.policy.hang_after_s,
            on_tick=lambda stage, done: on_tick(stage.words, done),
        )
        configs = _configs(request, reference)
        runner = runner_of(
            request.source,
            reference,
            folder=folder / "trials",
            tmp=tmp,
            isolation=request.isolation,
            policy=request.policy,
            on_tick=lambda stage, done: on_tick(stage.words, done),
        )
        stack.enter_context(runner)
        runs = []
        for config in configs:
            on_phase(config.describe())
            runs.append(
                (config, runner.gate(config, examples=reference.scope.examples))
            )
        return CheckResult(reference=reference, runs=tuple(runs))


def _configs(request: CheckRequest, reference: Reference) -> tuple[LoaderConfig, ...]:
    baseline = reference.facts.baseline or {}
    if reference.facts.batching != "size":
        return _with_size(request, None)
    own = request.batch_size or baseline.get("batch_size")
    size = own or min(
        DEFAULT_BATCH, scope_of_one(reference).epoch_examples or DEFAULT_BATCH
    )
    return _with_size(request, size)


def _with_size(request: CheckRequest, size: int | None) -> tuple[LoaderConfig, ...]:
    if request.configs:
        return tuple(
            LoaderConfig.parse(text, batch_size=size) for text in request.configs
        )
    return tuple(
        LoaderConfig.canonical(
            num_workers=DEFAULT_WORKERS, persistent_workers=kept, batch_size=size
        )
        for kept in (False, True)
    )


def _run(config: LoaderConfig, item: Verdict | Failure) -> dict[str, Any]:
    if isinstance(item, Failure):
        return {
            "config": config.to_dict(),
            "status": item.status.value,
            "examples": 0,
            "findings": [],
            "cautions": [],
            "failure": item.to_dict(),
        }
    return {
        "config": config.to_dict(),
        "status": "passed" if item.passed else "refused",
        "examples": item.examples,
        "findings": [finding.to_dict() for finding in item.findings],
        "cautions": [finding.to_dict() for finding in item.cautions],
        "failure": None,
    }


def _distinct(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({item["code"]: item for item in reversed(items)}.values())

"""The story of a diagnosis: one process stage by stage, then workers, then why.

Stops at the first stage that fails. Searches nothing, chooses nothing, prints nothing.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.audit.record_sheet import SettingResult, record_sheet
from autoloader.audit.stage_words import LOOK_AT, RULES_OUT
from autoloader.errors import DatasetError
from autoloader.measure.epochs import epoch_times
from autoloader.trial.aftercare import make_tmp, remove_folder
from autoloader.trial.narrowing import evidence_of, narrow, probe_patience_s
from autoloader.trial.reference import read_reference
from autoloader.trial.runner import ProcessRunner
from autoloader.trial.stagewise import read_stages
from autoloader.values.config import LoaderConfig
from autoloader.values.diagnosis import (
    SMALL_BATCH,
    Breakdown,
    NarrowedIds,
    RecordRow,
    StageName,
    StagesOrder,
    StagesReport,
)
from autoloader.values.gate import GatePolicy
from autoloader.values.job import PassPlan, Reference, ReferenceOrder
from autoloader.values.outcome import MAX_IDS, Failure, Verdict
from autoloader.values.scope import ScopeRequest, SourceSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.child.stages import Stage
    from autoloader.trial.hosting import Isolation

FEW_WORKERS = 2
"""Workers of the last settings where nobody says: the least that can differ."""

LIKE_FOR_LIKE_S = 10.0
"""Seconds that the reference may take where no number of examples is named: each of the
settings then reads as much four times."""

OF_THE_DATASET = frozenset(
    {
        StageName.BUILD,
        StageName.ACCESS,
        StageName.TRANSFORM,
        StageName.COLLATE,
        StageName.REFERENCE,
        StageName.LOADER,
    }
)
"""Stages in which the dataset fails by itself, in one process."""

TWO_EPOCHS = PassPlan(warm_batches=0, steady_batches=1, tail_batches=0, epochs=2)
"""What is read against the clock: two whole epochs, one after the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisRequest:
    """What the user asked for."""

    source: SourceSpec
    scope: ScopeRequest = field(default_factory=ScopeRequest)
    batch_size: int | None = None
    """Examples a batch; None: the DataLoader's own, else a small one."""
    transform: str | None = None
    """Path from the dataset to what transforms an example; None: looked for."""
    few_workers: int = FEW_WORKERS
    """Workers of the last settings."""
    isolation: Isolation = "auto"
    policy: GatePolicy = field(default_factory=GatePolicy)
    folder: Path = Path(".autoloader")
    """Where logs and the record sheet are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What was seen, and where it stopped."""

    stages: StagesReport
    breakdown: Breakdown | None = None
    """The first stage that failed, workers among them; None: none did."""
    settings: tuple[SettingResult, ...] = ()
    narrowed: NarrowedIds | None = None
    """What a failure of a setting was narrowed to; None: there was none, or it did not
    come again."""

    @property
    def sheet(self) -> tuple[RecordRow, ...]:
        """The record sheet."""
        return record_sheet(self.settings)

    @property
    def exit_code(self) -> int:
        """Exit code: 3 where the dataset fails by itself, 1 where something else."""
        if self.breakdown is None:
            return 0
        return 3 if self.breakdown.stage in OF_THE_DATASET else 1

    def to_dict(self) -> dict[str, Any]:
        """Return the shape of `diagnose --json`."""
        found = self.breakdown
        return {
            "passed": found is None,
            "failed": None
            if found is None
            else {
                **found.to_dict(),
                "rules_out": RULES_OUT[found.stage],
                "look_at": LOOK_AT[found.stage],
            },
            "narrowed": None if self.narrowed is None else self.narrowed.to_dict(),
            "sheet": [row.to_dict() for row in self.sheet],
            "stages": self.stages.to_dict(),
            "settings": [
                {
                    "config": setting.config.to_dict(),
                    "passed": setting.is_right,
                    "verdict": setting.item.to_dict()
                    if isinstance(setting.item, Verdict)
                    else None,
                    "failure": setting.item.to_dict()
                    if isinstance(setting.item, Failure)
                    else None,
                    "epochs": [epoch.to_dict() for epoch in setting.epochs],
                }
                for setting in self.settings
            ],
        }


def _ignore(*_told: object) -> None:
    """Take what nobody wants to see."""


def diagnose(
    request: DiagnosisRequest,
    *,
    on_phase: Callable[[str], None] = _ignore,
    on_tick: Callable[[str, int], None] = _ignore,
) -> Diagnosis:
    """Return where the dataset or its loader fails, or what each setting delivers.

    Raises:
        UsageError: something asked for cannot be done.
        DatasetError: the dataset cannot be imported or built.
    """
    with ExitStack() as stack:
        tmp = make_tmp()
        stack.callback(remove_folder, tmp)
        work = _Work(request, tmp, stack, on_phase, on_tick)
        on_phase("one process, stage by stage")
        stages = work.read_stages()
        if stages.breakdown is not None:
            return Diagnosis(stages=stages, breakdown=stages.breakdown)
        on_phase("reference")
        reference = work.read_reference()
        if isinstance(reference, Breakdown):
            return Diagnosis(stages=stages, breakdown=reference)
        settings = work.try_settings(reference)
        last = settings[-1]
        if last.is_right:
            return Diagnosis(stages=stages, settings=settings)
        breakdown, narrowed = work.explain(last, reference)
        return Diagnosis(
            stages=stages, breakdown=breakdown, settings=settings, narrowed=narrowed
        )


@dataclass(frozen=True, slots=True)
class _Work:
    """The chapters of the story."""

    request: DiagnosisRequest
    tmp: Path
    stack: ExitStack
    on_phase: Callable[[str], None]
    on_tick: Callable[[str, int], None]

    def read_stages(self) -> StagesReport:
        """Read examples in one process, stage by stage."""
        request, folder = self.request, self._made("stages")
        order = StagesOrder(
            source=request.source,
            request=request.scope,
            folder=str(folder),
            batch_size=request.batch_size,
            transform=request.transform,
        )
        return read_stages(
            order,
            logs=folder,
            tmp=self.tmp,
            hang_after_s=request.policy.hang_after_s,
            on_tick=self._tick,
        )

    def read_reference(self) -> Reference | Breakdown:
        """Read what is right, or say why one process cannot tell."""
        request, folder = self.request, self._made("reference")
        time_limit_s = min(LIKE_FOR_LIKE_S, request.scope.time_limit_s)
        order = ReferenceOrder(
            source=request.source,
            request=replace(request.scope, time_limit_s=time_limit_s),
            folder=str(folder),
            largest_batch=request.batch_size,
        )
        try:
            return read_reference(
                order,
                logs=folder,
                tmp=self.tmp,
                hang_after_s=request.policy.hang_after_s,
                on_tick=self._tick,
            )
        except DatasetError as exc:
            return Breakdown(
                stage=StageName.REFERENCE,
                message=exc.message,
                evidence=exc.hint,
                log=str(folder),
            )

    def try_settings(self, reference: Reference) -> tuple[SettingResult, ...]:
        """Return what 0, 1 and a few workers deliver, up to the first that fails."""
        runner = self._runner(reference, self.request.policy, "trials")
        found: list[SettingResult] = []
        for config in self._configs(reference):
            self.on_phase(config.describe())
            found.append(_setting(runner, config, reference))
            if not found[-1].is_right:
                break
        runner.close()
        return tuple(found)

    def explain(
        self, setting: SettingResult, reference: Reference
    ) -> tuple[Breakdown, NarrowedIds | None]:
        """Return what a setting fails by, and the smallest set of ids that shows it."""
        config, item = setting.config, setting.item
        if isinstance(item, Verdict):
            first = item.findings[0]
            breakdown = Breakdown(
                stage=_stage_of(config),
                ids=first.ids,
                message=f"{config.describe()}: {first.sentence}",
                evidence=first.hint,
            )
            return breakdown, None
        patience_s = probe_patience_s(reference, config)
        policy = replace(self.request.policy, hang_after_s=patience_s)
        prober = self._runner(reference, policy, "probes")
        self.on_phase("the smallest set of ids that shows it")
        narrowed = narrow(
            prober,
            config,
            item,
            reference,
            patience_s=patience_s,
            on_try=lambda ids: self.on_tick("probing ids", ids),
        )
        prober.close()
        is_stream = reference.scope.stream is not None
        breakdown = Breakdown(
            stage=_stage_of(config),
            ids=() if narrowed is None else narrowed.ids[:MAX_IDS],
            message=f"{config.describe()}: {item.message}",
            exception=item.exception,
            evidence=item.hint if is_stream else evidence_of(narrowed),
            log=item.log,
        )
        return breakdown, narrowed

    def _configs(self, reference: Reference) -> list[LoaderConfig]:
        """Return the settings, from none to a few workers, at one batch size."""
        size = None
        if reference.facts.batching == "size":
            baseline = reference.facts.baseline or {}
            size = self.request.batch_size or baseline.get("batch_size") or SMALL_BATCH
        few = self.request.few_workers
        counts = list(dict.fromkeys([0, 1, few]))
        configs = [
            LoaderConfig.canonical(num_workers=count, batch_size=size)
            for count in counts
        ]
        kept = replace(configs[-1], persistent_workers=True)
        return [*configs, kept]

    def _runner(
        self, reference: Reference, policy: GatePolicy, name: str
    ) -> ProcessRunner:
        tmp = self.tmp / name[:1]
        tmp.mkdir(mode=0o700, exist_ok=True)
        return self.stack.enter_context(
            ProcessRunner(
                self.request.source,
                reference,
                folder=self._folder / name,
                tmp=tmp,
                isolation=self.request.isolation,
                policy=policy,
                on_tick=self._tick,
            )
        )

    @property
    def _folder(self) -> Path:
        return self.request.folder.absolute() / "diagnose"

    def _made(self, name: str) -> Path:
        folder = self._folder / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    def _tick(self, stage: Stage, done: int) -> None:
        self.on_tick(stage.words, done)


def _setting(
    runner: ProcessRunner, config: LoaderConfig, reference: Reference
) -> SettingResult:
    """Return what a setting delivers; where it is right, two epochs by the clock."""
    scope = reference.scope
    verdict = runner.gate(config, examples=scope.examples)
    is_right = isinstance(verdict, Verdict) and verdict.passed
    has_end = scope.stream is None or scope.stream.is_complete
    if not isinstance(verdict, Verdict) or not is_right or not has_end:
        return SettingResult(config=config, item=verdict)
    reading = runner.time(config, verdict=verdict, purpose="diagnosis", plan=TWO_EPOCHS)
    if isinstance(reading, Failure):
        return SettingResult(config=config, item=reading)
    return SettingResult(config=config, item=verdict, epochs=epoch_times(reading))


def _stage_of(config: LoaderConfig) -> StageName:
    """Return the stage that a setting's failure belongs to."""
    return StageName.WORKERS if config.num_workers else StageName.LOADER

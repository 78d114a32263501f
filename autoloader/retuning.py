"""The story of a night: verify a recommendation, tune again where it does not hold.

Readable on one screen. What the readings say is judged in `search.nightly`; processes
are a workshop's (`verifying`), so that a month of nights can be told without any.
Prints nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from autoloader.errors import AutoloaderError, StoredFileError
from autoloader.export.history import (
    add_night,
    drifts_of,
    history_of,
    history_path,
    series_of,
)
from autoloader.export.origin import fingerprint_of
from autoloader.files import keep_copy
from autoloader.retune_values import RetuneResult
from autoloader.search.nightly import judge
from autoloader.trial.locks import file_lock
from autoloader.values.fingerprint import changes, in_words
from autoloader.values.night import Night
from autoloader.values.outcome import Verdict
from autoloader.values.passwords import without_passwords

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from autoloader.export.recommendation import Recommendation
    from autoloader.retune_values import RetuneRequest, Workshop
    from autoloader.search.night_race import NightReadings
    from autoloader.search.nightly import Judgement
    from autoloader.tune_values import TuneResult
    from autoloader.values.fingerprint import Change, Fingerprint
    from autoloader.values.machine import Machine
    from autoloader.values.night import NightVerdict

_VERDICTS: dict[int, NightVerdict] = {
    1: "wrong_data",
    3: "dataset_fails",
    4: "target_lost",
    6: "undecided",
}
"""What the history says of a night that an error ended, by its exit code."""


def retune(
    request: RetuneRequest,
    machine: Machine,
    workshop: Workshop,
    *,
    now: datetime,
    clock: Callable[[], float] = time.monotonic,
) -> RetuneResult:
    """Verify a recommendation, and tune again where it does not hold.

    Whatever comes of it stands in the file's history when this returns, or raises.

    Args:
        request: what is asked for.
        machine: where it runs.
        workshop: does the work.
        now: when the night began, with its time zone.
        clock: seconds, for how long it took.

    Raises:
        UsageError: another one works on the file.
        StoredFileError: the file is of other hardware, or cannot be replaced.
        DataError: tuning again, nothing could be measured.
        DatasetError: the dataset fails by itself.
    """
    with file_lock(history_path(request.file), called=request.file):
        return _Night(request, machine, workshop, now, clock, clock()).run()


@dataclass(slots=True)
class _Night:
    """One run; the methods are its chapters."""

    request: RetuneRequest
    machine: Machine
    workshop: Workshop
    now: datetime
    clock: Callable[[], float]
    begun: float
    changes: tuple[Change, ...] = ()
    """What is known to differ so far."""
    judged: Judgement | None = None
    """What the race said; None: there was none."""
    tuned: TuneResult | None = None
    past: tuple[Night, ...] = field(default=())
    """Earlier nights of the same study's file."""

    def run(self) -> RetuneResult:
        self.past = series_of(history_of(self.request.file), self._file_date)
        stored = fingerprint_of(self.request.recommendation.data)
        self._check_hardware(stored)
        try:
            night = self._decide(stored)
        except AutoloaderError as exc:
            add_night(self.request.file, self._ended_by(exc))
            raise
        add_night(self.request.file, night)
        return RetuneResult(
            file=self.request.file,
            night=night,
            drifts=drifts_of((*self.past, night)),
            tuned=self.tuned,
        )

    def _check_hardware(self, stored: Fingerprint) -> None:
        """Refuse the file of other hardware, unless another file is to be written."""
        is_another = stored.is_for != self.machine.key
        if is_another and self.request.out is None and self.request.file.exists():
            file, spec = self.request.file, self.request.recommendation.data["dataset"]
            msg = (
                f"{file} is for {stored.is_for}, this machine is {self.machine.key}: "
                "that is another recommendation"
            )
            hint = (
                f"--out NEW writes one for this machine; `autoloader tune --dataset "
                f"{spec} --out FOLDER/` keeps one for each kind of hardware"
            )
            raise StoredFileError(msg, hint=hint)

    def _decide(self, stored: Fingerprint) -> Night:
        """Return what comes of the night, tuned again where that is called for."""
        if stored.is_for != self.machine.key:
            here = replace(stored, machine=self.machine)
            self.changes = changes(stored, here)
            return self._act(f"other hardware: {self.machine.key}")
        reference = self.workshop.reference()
        self.changes = changes(stored, self.workshop.fingerprint(reference))
        data = tuple(item for item in self.changes if item.kind == "dataset")
        if data:
            return self._act(f"other data: {in_words(data)}")
        found = self.workshop.race(reference, self.past)
        fault = _fault(found)
        if fault is not None:
            return self._night("wrong_data", 1, fault)
        if found.failure is not None:
            return self._act(f"the stored settings fail: {found.failure.message}")
        self.judged = judge(self.request.baseline, found.rounds, self.past)
        match self.judged.says:
            case "holds":
                return self._night("holds", 0, self.judged.reason)
            case "undecided":
                return self._night("undecided", 6, self.judged.reason)
            case "changed":
                return self._act(self.judged.reason)
            case "lost":
                return self._act(self.judged.reason, is_lost=True)

    def _act(self, reason: str, *, is_lost: bool = False) -> Night:
        """Tune again and write what is found, or only say that it is called for."""
        if self.request.is_verify_only:
            if is_lost:
                return self._night("target_lost", 4, reason)
            return self._night("called_for", self.request.changed_exit, reason)
        self.tuned = self.workshop.tune(self.request.baseline.configs)
        found = self.tuned.recommendation
        if found is None or self.tuned.state != "met":  # never a lesser file, unasked
            state = self.tuned.state
            told = f"{reason}; tuned again: {self.tuned.result.choice.reason}"
            if state == "undecided":
                return self._night("undecided", 6, told)
            return self._night("target_lost", 4, told)
        return self._write(self.tuned, found, reason)

    def _write(self, tuned: TuneResult, found: Recommendation, reason: str) -> Night:
        """Write what was found; the file before it is kept beside it."""
        request = self.request
        target = request.out or request.file
        kept = self._keep(target)
        found.write(target)
        self.tuned = replace(tuned, written=target)
        stored = fingerprint_of(request.recommendation.data)
        settings = found.settings
        is_same_kind = stored.is_for == self.machine.key
        is_same = is_same_kind and settings == request.recommendation.settings
        verdict: NightVerdict = "renewed" if is_same else "rewritten"
        code = 0 if is_same else request.changed_exit
        if request.out is not None:
            verdict = "proposed"
        night = self._night(verdict, code, reason)
        dataloader = settings if request.out is None else night.dataloader
        return replace(
            night,
            dataloader=dataloader,
            wrote=target.name,
            kept=None if kept is None else kept.name,
        )

    def _keep(self, target: Path) -> Path | None:
        """Keep a copy of what is about to be replaced, under a name that is free."""
        if not target.exists():
            return None
        name, number = f"{target.name}.before-{self.now:%Y-%m-%d}", 1
        copy = target.with_name(name)
        while copy.exists():
            number += 1
            copy = target.with_name(f"{name}-{number}")
        keep_copy(target, copy)
        return copy

    def _ended_by(self, exc: AutoloaderError) -> Night:
        """Return the night that an error ended."""
        verdict = _VERDICTS.get(exc.exit_code, "failed")
        return self._night(verdict, exc.exit_code, exc.message)

    def _night(self, verdict: NightVerdict, code: int, reason: str) -> Night:
        judged: dict[str, Any] = {}
        if self.judged is not None:
            names = (
                "rounds", "rate", "vs_default", "vs_second", "level", "pace",
                "could_see",
            )  # fmt: skip
            judged = {name: getattr(self.judged, name) for name in names}
        return Night(
            at=self.now.isoformat(timespec="seconds"),
            verdict=verdict,
            exit_code=code,
            reason=without_passwords(reason),
            machine=self.machine.key,
            file_date=self._file_date,
            dataloader=self.request.recommendation.settings,
            changes=self.changes,
            seconds=round(self.clock() - self.begun, 1),
            **judged,
        )

    @property
    def _file_date(self) -> str | None:
        study = self.request.recommendation.data.get("study")
        date = study.get("date") if isinstance(study, dict) else None
        return date if isinstance(date, str) else None


def _fault(found: NightReadings) -> str | None:
    """Return what is wrong with the data that the stored settings deliver."""
    verdict = found.verdict
    if not isinstance(verdict, Verdict) or verdict.passed:
        return None
    return "; ".join(item.sentence for item in verdict.findings)

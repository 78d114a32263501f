"""Keep Optuna's journal: a copy of the study for its dashboards, and nothing more.

No choice is made from it. While a study runs it is appended to, so that a dashboard may
go on reading it: what race and verification changed takes the place of what was told
before, under the same name. Where it differs from what is recorded (a torn line, a file
that somebody removed) it is written anew; where the disk refuses it, the study goes on
without it.
"""

from __future__ import annotations

import json
import logging
import warnings
from typing import TYPE_CHECKING, Any, cast

import optuna
from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend

from autoloader.search.frozen_trials import METRIC

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from optuna.trial import FrozenTrial

_log = logging.getLogger(__name__)


class Journal:
    """Optuna's journal of one study, which is called as the folder is.

    Args:
        path: its file; written anew where it tells of other trials.
        trials: what is known already, each with its number and status as user
            attributes.
        about: what is told of the study itself, by name.
    """

    def __init__(
        self,
        path: Path,
        trials: Sequence[FrozenTrial],
        *,
        about: Mapping[str, str] | None = None,
    ) -> None:
        self._path = path
        self._name = path.absolute().parent.name
        self._trials = list(trials)
        self._about = dict(about or {})
        self._size = 0
        self._study = _load(path, self._name)
        if self._study is not None and _told(self._study.trials) == _told(trials):
            self._size = path.stat().st_size
        else:
            self._study = None
            self._write()

    def add(self, trial: FrozenTrial) -> None:
        """Add a trial, as well as the disk allows."""
        self._trials.append(trial)
        self._write(trial)

    def conclude(
        self, trials: Sequence[FrozenTrial], *, about: Mapping[str, str]
    ) -> None:
        """Tell all trials anew, in the place of what was told of them before."""
        self._trials, self._about = list(trials), dict(about)
        try:
            if self._study is None or self._is_cut():
                self._study = self._begin()
            else:
                storage = self._study._storage  # of our own making
                optuna.delete_study(study_name=self._name, storage=storage)
                self._study = self._fill(storage)
            self._size = self._path.stat().st_size
        except Exception as exc:  # noqa: BLE001  # of any kind: it is a copy, no more
            self._give_up(exc)

    def _write(self, latest: FrozenTrial | None = None) -> None:
        """Add the latest trial; all of them where there is no journal to add it to."""
        try:
            if self._study is None or latest is None or self._is_cut():
                self._study = None
                self._study = self._begin()
            else:
                self._study.add_trial(latest)
            self._size = self._path.stat().st_size
        except Exception as exc:  # noqa: BLE001  # of any kind: it is a copy, no more
            self._give_up(exc)

    def _give_up(self, exc: Exception) -> None:
        """Go on without it; it is tried again with the next trial."""
        self._study = None
        _log.warning("Optuna's journal %s is not written: %s", self._path, exc)

    def _is_cut(self) -> bool:
        """Whether somebody removed the file, or a part of it."""
        return not self._path.exists() or self._path.stat().st_size < self._size

    def _begin(self) -> optuna.Study:
        self._path.unlink(missing_ok=True)
        return self._fill(_storage(self._path))

    def _fill(self, storage: BaseStorage) -> optuna.Study:
        """Make the study in a storage, with all trials."""
        study = optuna.create_study(
            study_name=self._name, storage=storage, direction="maximize"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            study.set_metric_names([METRIC])
        for name, said in self._about.items():
            study.set_user_attr(name, said)
        study.add_trials(self._trials)
        return study


class _NoLock:
    """Stands in for Optuna's lock, which outlives a killed process by half a minute.

    Nobody else writes: the study's own lock is held, which the kernel gives back.
    """

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


def _storage(path: Path) -> JournalStorage:
    return JournalStorage(
        JournalFileBackend(str(path), lock_obj=cast("Any", _NoLock()))
    )


def _load(path: Path, name: str) -> optuna.Study | None:
    if not _is_whole(path):
        return None
    try:
        return optuna.load_study(study_name=name, storage=_storage(path))
    except Exception:  # noqa: BLE001  # whatever a damaged journal raises
        return None


def _is_whole(path: Path) -> bool:
    """Whether each line is one: Optuna loads a file with a torn end and then fails."""
    try:
        lines = path.read_bytes().split(b"\n")
        for line in lines[:-1]:
            json.loads(line)
    except (OSError, ValueError):
        return False
    return len(lines) > 1 and not lines[-1]


def _told(trials: Sequence[FrozenTrial]) -> list[tuple[Any, Any]]:
    """Return what names trials and their fates."""
    attributes = [trial.user_attrs for trial in trials]
    return [(item.get("number"), item.get("status")) for item in attributes]

"""The study of a fleet in its storage: trials are begun, renewed, ended, given again.

No lock is held, and no machine is the first among them. The storage numbers trials in
the order in which they are made, and a trial ends once: these two decide. Who begins a
trial makes it, running, and looks: where one of a lower number has the same config, or
the study is full without it, it is withdrawn. Who sees that a lease is over ends the
trial; a second one who does finds it ended. Each question may be asked twice.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from optuna.exceptions import DuplicatedStudyError, UpdateFinishedTrialError
from optuna.study import StudyDirection
from optuna.trial import TrialState

from autoloader.errors import StoredFileError
from autoloader.measure.holders import is_seen_dead
from autoloader.search.shared_trials import (
    BEAT,
    OUTCOME,
    WITHDRAWN,
    SharedTrial,
    given_up,
    state_and_values,
    template,
    trial_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

    from autoloader.search.leases import Leases
    from autoloader.search.shared_storage import SharedStorage
    from autoloader.values.config import LoaderConfig
    from autoloader.values.fleet import Holder
    from autoloader.values.outcome import Outcome


Answer = TypeVar("Answer")


@dataclass(slots=True, kw_only=True)
class SharedStudy:
    """One study of a fleet, as one of its machines sees it."""

    storage: SharedStorage
    name: str
    """What all machines of the fleet call it."""
    holder: Holder
    """This process."""
    leases: Leases
    most_trials: int | None = None
    """Trials of the whole study; None: there is no cap."""
    _study_id: int | None = None
    _outages: int = 0
    _ended: dict[int, SharedTrial] = field(default_factory=dict)

    def look(self) -> tuple[SharedTrial, ...]:
        """Return all trials, those whose lease is over ended on the way."""
        found = self._trials()
        if self.storage.outages != self._outages:
            self._outages = self.storage.outages
            self.leases.begin_anew()
        over = [
            item for item in found if item.fate == "running" and self._is_over(item)
        ]
        for item in over:
            self._end_for_the_dead(item)
        return self._trials() if over else found

    def begin(self, config: LoaderConfig, source: str) -> SharedTrial | None:
        """Return the trial of a config, which is this machine's; None: another's."""
        token = uuid.uuid4().hex
        wanted = template(config, source=source, token=token, holder=self.holder)
        self._ask(lambda storage: storage.create_new_trial(self._id(storage), wanted))
        trials = self._trials()
        mine, *twice = [item for item in trials if item.token == token]
        before = [item for item in trials if item.number < mine.number]
        for item in twice:  # the answer to the first question was lost
            self._withdraw(item)
        if self._is_theirs(config, before):
            self._withdraw(mine)
            return None
        return mine

    def renew(self, trial: SharedTrial, beat: int) -> None:
        """Give a sign of life, as well as the storage allows; for another thread."""
        self.storage.ask_once(
            lambda storage: storage.set_trial_user_attr(trial.trial_id, BEAT, beat)
        )

    def end(self, trial: SharedTrial, outcome: Outcome) -> bool:
        """Hand in what came of a trial; whether it was still this machine's."""
        told = self._set(trial, OUTCOME, outcome.to_dict())
        return told and self._finish(trial, outcome)

    def give_back(self, trial: SharedTrial) -> None:
        """Withdraw a trial, as well as the storage allows: it was never begun."""
        self.storage.ask_once(
            lambda storage: storage.set_trial_user_attr(trial.trial_id, WITHDRAWN, True)
        )
        self.storage.ask_once(
            lambda storage: storage.set_trial_state_values(
                trial.trial_id, TrialState.FAIL
            )
        )

    def names(self) -> tuple[str, ...]:
        """Return the names of all studies of the storage."""
        studies = self.storage.ask(lambda storage: storage.get_all_studies())
        return tuple(item.study_name for item in studies)

    def outcomes_of(self, name: str) -> tuple[Outcome, ...]:
        """Return the outcomes of another study of the storage; none where it is gone.

        Raises:
            StoredFileError: the storage does not answer, or a trial is damaged.
        """

        def all_of(storage: BaseStorage) -> list[FrozenTrial]:
            try:
                study_id = storage.get_study_id_from_name(name)
                return storage.get_all_trials(study_id, deepcopy=False)
            except KeyError:
                return []

        found = [trial_of(item) for item in self.storage.ask(all_of)]
        return tuple(
            item.outcome
            for item in found
            if item is not None and item.fate == "done" and item.outcome is not None
        )

    def _id(self, storage: BaseStorage) -> int:
        """Return what the storage calls the study; it is made where it is missing."""
        if self._study_id is None:
            self._study_id = _found_or_made(storage, self.name)
        return self._study_id

    def _ask(self, question: Callable[[BaseStorage], Answer]) -> Answer:
        """Return the answer of a question on this study.

        Raises:
            StoredFileError: the storage does not answer, or somebody removed the study.
        """
        try:
            return self.storage.ask(question)
        except KeyError:
            msg = f"the fleet's study {self.name} was removed from its storage"
            hint = "the same command begins it anew, with what this machine measured"
            raise StoredFileError(msg, hint=hint) from None

    def _trials(self) -> tuple[SharedTrial, ...]:
        """Return the trials in the order of their numbers.

        Raises:
            StoredFileError: somebody removed the study, or a trial is damaged.
        """
        frozen = self._ask(
            lambda storage: storage.get_all_trials(self._id(storage), deepcopy=False)
        )
        found: list[SharedTrial] = []
        for item in frozen:
            trial = self._ended.get(item.number) or trial_of(item)
            if trial is not None:
                found.append(trial)
                if item.state.is_finished():
                    self._ended[item.number] = trial
        return tuple(sorted(found, key=lambda trial: trial.number))

    def _is_theirs(self, config: LoaderConfig, before: Sequence[SharedTrial]) -> bool:
        """Whether earlier trials leave no place for one of a config."""
        hopeless = given_up(before)
        known = [item for item in before if item.counts and item.config not in hopeless]
        is_known = any(item.config == config and item.fate != "lost" for item in known)
        if is_known or config in hopeless:
            return True
        places = {item.config for item in known}
        is_full = self.most_trials is not None and len(places) >= self.most_trials
        return is_full and config not in places

    def _is_over(self, trial: SharedTrial) -> bool:
        if trial.holder == self.holder:
            return False
        is_silent = self.leases.is_over(trial.trial_id, trial.beat)
        return is_silent or is_seen_dead(trial.holder, self.holder)

    def _end_for_the_dead(self, trial: SharedTrial) -> None:
        """End a trial whose holder will not; its outcome counts where it has one."""
        if trial.outcome is not None:
            self._finish(trial, trial.outcome)
        else:
            self._close(trial, TrialState.FAIL, None)

    def _finish(self, trial: SharedTrial, outcome: Outcome) -> bool:
        return self._close(trial, *state_and_values(outcome))

    def _close(
        self, trial: SharedTrial, state: TrialState, values: list[float] | None
    ) -> bool:
        """Give a trial its last state; False where it had one already."""

        def close(storage: BaseStorage) -> bool:
            return storage.set_trial_state_values(trial.trial_id, state, values)

        try:
            return self._ask(close)
        except UpdateFinishedTrialError:
            return False

    def _withdraw(self, trial: SharedTrial) -> None:
        self._set(trial, WITHDRAWN, True)
        self._close(trial, TrialState.FAIL, None)

    def _set(self, trial: SharedTrial, name: str, value: object) -> bool:
        """Set an attribute; False where the trial was ended meanwhile."""

        def put(storage: BaseStorage) -> None:
            storage.set_trial_user_attr(trial.trial_id, name, value)

        try:
            self._ask(put)
        except UpdateFinishedTrialError:
            return False
        return True


def _found_or_made(storage: BaseStorage, name: str) -> int:
    """Return what the storage calls a study; it is made where it is missing."""
    try:
        return storage.get_study_id_from_name(name)
    except KeyError:
        try:
            return storage.create_new_study([StudyDirection.MAXIMIZE], name)
        except DuplicatedStudyError:  # another machine's, a moment ago
            return storage.get_study_id_from_name(name)

"""Make the report of a study of what was read: its recommendation, its folder, or both.

Pure: sources in, a `StudyReport` out. A section that is not as this version writes it
is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from autoloader.report import sentences
from autoloader.report.damage import damage_named
from autoloader.report.data import ReportedCaution
from autoloader.report.failed import FailedTrial
from autoloader.report.file_rows import config_in, rows_in_file
from autoloader.report.limit_words import advice_words, limit_words
from autoloader.report.rank_words import rank_words
from autoloader.report.rows import ConfigRow, named_configs, rows_for
from autoloader.report.scope_words import scope_words, section_words
from autoloader.report.study import ReportState, Sources, StudyReport
from autoloader.report.study_figures import (
    gate_of,
    race_of,
    raced_of,
    trials_of,
    waits_of,
)
from autoloader.search.passed_over import counted_words
from autoloader.units import format_seconds
from autoloader.values.decode import value_of
from autoloader.values.outcome import Status
from autoloader.values.scope import DatasetFacts, Scope
from autoloader.values.target import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from autoloader.measure.intervals import Interval
    from autoloader.report.rows import RowName
    from autoloader.report.study_figures import RaceFigures
    from autoloader.values.config import LoaderConfig

Part = TypeVar("Part")

_WITHOUT_STUDY = (
    "trials without a speed, the time line, the race by rounds, the distribution of "
    "waits, and all readings"
)


def study_report(sources: Sources) -> StudyReport:
    """Return the report.

    Raises:
        StoredFileError: a section is damaged, or another version's.
    """
    return _Maker(sources).report()


class _Maker:
    """Makes a report, section by section."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        found = sources.recommendation
        self._data: Mapping[str, Any] = {} if found is None else found.data
        self._study = sources.study
        self._outcomes = () if sources.study is None else sources.study.outcomes
        self._taken = () if sources.study is None else sources.study.taken
        self._state: Mapping[str, Any] = (
            {} if sources.study is None else sources.study.state
        )

    def report(self) -> StudyReport:
        """Return the whole report."""
        named = self._part("compared", self._named)
        race = race_of(self._taken, named, error=self._error())
        limit = self._data.get("limit")
        return StudyReport(
            dataset=self._dataset(),
            name=self._sources.name,
            state=self._report_state(),
            verdict=self._part("target", self._verdict),
            bound=self._part("target", self._bound),
            use=sentences.loading_line(self._sources.name) if self._is_met() else None,
            cautions=self._part("cautions", self._cautions),
            missing=tuple(self._missing()),
            rows=self._part("compared", lambda: self._rows(named, race)),
            trials=trials_of(self._outcomes, named),
            counts=sentences.counts_of(self._outcomes),
            failed=tuple(
                FailedTrial.of(outcome)
                for outcome in self._outcomes
                if outcome.status is not Status.MEASURED
            ),
            facts=(
                *self._facts(race),
                *(
                    ("advice", said)
                    for said in self._part("limit", lambda: advice_words(limit))
                ),
            ),
            race=race,
            raced=raced_of(self._taken, named),
            waits=waits_of(self._outcomes, named),
            gate=gate_of(self._outcomes),
            taken=self._taken,
            sections=self._data,
            study_state=self._state,
            config=self._config(),
            outcomes_file=None if self._study is None else str(self._study.path),
        )

    def _part(self, section: str, make: Callable[[], Part]) -> Part:
        """Return a part that is made of a section.

        Raises:
            StoredFileError: the section is not as this version writes it.
        """
        with damage_named(section, self._sources.name):
            return make()

    def _is_met(self) -> bool:
        return bool(self._data) and self._data["target"]["met"] is True

    def _report_state(self) -> ReportState:
        if not self._data:
            return "without_file"
        if self._is_met():
            return "met"
        return "undecided" if self._target("state") == "undecided" else "not_met"

    def _target(self, name: str) -> Any:
        return self._data["target"].get(name)

    def _config(self) -> LoaderConfig | None:
        found = self._sources.recommendation
        return None if found is None else found.config

    def _error(self) -> float:
        """Return the error share of the race, as the file has it."""
        study = self._data.get("study")
        race = study.get("race") if isinstance(study, dict) else None
        error = race.get("error") if isinstance(race, dict) else None
        if isinstance(error, float) and 0 < error < 1:
            return error
        return 1 - CONFIDENCE

    def _dataset(self) -> str:
        if self._data:
            return str(self._data["dataset"])
        key = self._state.get("key")
        source = key.get("source") if isinstance(key, dict) else None
        spec = source.get("spec") if isinstance(source, dict) else None
        return str(spec or self._state.get("dataset") or self._sources.name)

    def _named(self) -> dict[RowName, LoaderConfig]:
        """Return the configs that it is told by: of the file, and of the trials."""
        chosen = self._config() if self._is_met() else None
        if self._study is not None:
            return named_configs(self._outcomes, fastest=self._fastest(), chosen=chosen)
        found: dict[RowName, LoaderConfig] = {}
        names: tuple[RowName, ...] = ("pytorch_default", "yours", "fastest")
        compared = self._data.get("compared") or {}
        for name in names:
            section = compared.get(name)
            if section is not None:
                found[name] = config_in(section)
        if chosen is not None and self._data.get("measured"):
            found["chosen"] = chosen
        return found

    def _fastest(self) -> LoaderConfig | None:
        """Return the fastest config: the file's word, else the best median so far."""
        section = (self._data.get("compared") or {}).get("fastest")
        if section is not None:
            return config_in(section)
        rated = [
            (figures.rate.median, figures.config)
            for figures in trials_of(self._outcomes, {})
            if figures.rate is not None
        ]
        return max(rated, key=lambda item: item[0])[1] if rated else None

    def _verdict(self) -> str:
        if self._data:
            chosen = self._config() if self._is_met() else None
            reason = self._target("reason") or (
                "the file does not say why"
                if chosen is None
                else "what the file recommends; it does not say why"
            )
            return sentences.verdict_words(str(self._target("state")), chosen, reason)
        tried = sentences.trials(sentences.counts_of(self._outcomes))
        if self._state.get("kind") == "measure":
            return f"a comparison of given settings: {tried}"
        if self._state.get("finished") is True:
            said = "what the study chose is in its recommendation file"
            return f"no choice here: {said}; {tried}"
        return f"no choice yet: the study is not finished; {tried}"

    def _bound(self) -> str | None:
        at_least = self._target("at_least") if self._data else None
        if at_least is None or not self._is_met():
            return None
        return sentences.bound_words(
            at_least,
            examples_per_s=self._target("examples_per_s"),
            share_of_best=self._target("share_of_best"),
        )

    def _cautions(self) -> tuple[ReportedCaution, ...]:
        return tuple(
            ReportedCaution(
                code=item["code"], message=item["message"], hint=item.get("hint")
            )
            for item in self._data.get("cautions") or ()
        )

    def _missing(self) -> Iterator[str]:
        if self._sources.missing is not None:
            yield f"{self._sources.missing}: {_WITHOUT_STUDY} are missing here"
        if not self._data:
            yield (
                "a study's folder was named: target, choice, limit and needs are in "
                "the recommendation file"
            )

    def _rows(
        self, named: Mapping[RowName, LoaderConfig], race: RaceFigures | None
    ) -> tuple[ConfigRow, ...]:
        if self._study is not None:
            memory = {
                item.config: item.memory
                for item in self._outcomes
                if item.memory is not None
            }
            return rows_for(
                named,
                self._outcomes,
                memory=memory,
                relative=_untold if race is None else race.relative,
            )
        return rows_in_file(self._data, named)

    def _facts(self, race: RaceFigures | None) -> Iterator[tuple[str, str]]:
        """Yield what the sections say, in the order of a terminal's report."""
        data = self._data
        if data:
            is_met = self._is_met()
            yield (
                "data",
                self._part(
                    "verified",
                    lambda: sentences.verification_words(
                        data.get("verified"), is_chosen=is_met
                    ),
                ),
            )
        said = self._part(
            "measured",
            lambda: rank_words((data.get("measured") or {}).get("ranks")),
        )
        if said is not None:
            yield "ranks", said
        scope = self._part("scope", self._scope)
        if scope is not None:
            yield "scope", scope
        yield from self._part("study", lambda: tuple(self._course(race)))
        limit = self._part("limit", lambda: limit_words(data.get("limit")))
        if limit is not None:
            yield "limit", limit

    def _scope(self) -> str | None:
        if self._data.get("scope"):
            return section_words(self._data["scope"])
        scope, facts = self._state.get("scope"), self._state.get("facts")
        if scope is None or facts is None:
            return None
        return scope_words(
            value_of(Scope, scope, place="scope"),
            value_of(DatasetFacts, facts, place="facts"),
        )

    def _course(self, race: RaceFigures | None) -> Iterator[tuple[str, str]]:
        """Yield how the study went."""
        study = self._data.get("study") or {}
        passed_over = [
            (item["reason"], item["configs"]) for item in study.get("passed_over") or ()
        ]
        counts = sentences.counts_of(self._outcomes)
        if counts and "stopped" in study:
            yield (
                "search",
                sentences.search_words(
                    counts, study["stopped"], is_passed_over=bool(passed_over)
                ),
            )
        elif counts:
            yield "search", sentences.trials(counts)
        untried = counted_words(passed_over)
        if untried is not None:
            yield "untried", untried
        told = study.get("race")
        if told is not None:
            yield (
                "race",
                sentences.race_words(
                    rounds=told["rounds"],
                    configs=told["configs"],
                    stopped=told["stopped"],
                    dropped=told["dropped"],
                ),
            )
        elif race is not None:
            yield (
                "race",
                sentences.race_words(
                    rounds=len(race.rounds),
                    configs=len(race.lines),
                    stopped=None,
                    dropped=0,
                ),
            )
        seconds = study.get("seconds", self._state.get("spent_s"))
        if seconds is not None:
            yield "time", format_seconds(seconds)


def _untold(_new: LoaderConfig, _old: LoaderConfig) -> Interval | None:
    return None

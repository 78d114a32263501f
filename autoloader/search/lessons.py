"""Say what a failed trial teaches of configs that were not tried.

What was too much once is not asked for again. Only failures that have a size teach:
memory, shared memory, open files, requests to a store; wrong data and exceptions say
nothing of other configs. It follows from the outcomes alone, so that a search that goes
on knows it as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoloader.search.prediction import need_of, open_files_of
from autoloader.values.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import Outcome
    from autoloader.values.scope import DatasetFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Lessons:
    """What the outcomes so far teach."""

    facts: DatasetFacts
    """Sizes of an example."""
    outcomes: Sequence[Outcome]
    """Of all trials so far."""

    def why_not(self, config: LoaderConfig) -> str | None:
        """Return why a config must not be tried, or None where nothing speaks against.

        A failure teaches nothing where a config that asks for as much was measured: its
        size was not the reason then.
        """
        for outcome in self.outcomes:
            lesson = _lesson_of(outcome)
            if lesson is None:
                continue
            limit = lesson.asks(self, outcome.config)
            is_refuted = lesson.is_of_loader and self._is_refuted(lesson, limit)
            if limit <= 0 or is_refuted:
                continue
            if lesson.asks(self, config) >= limit:
                tried = outcome.config.describe()
                return f"{lesson.as_much} as {tried}, which {lesson.failed}"
        return None

    def _is_refuted(self, lesson: _Lesson, limit: float) -> bool:
        return any(
            item.status is Status.MEASURED and lesson.asks(self, item.config) >= limit
            for item in self.outcomes
        )

    def memory_bytes(self, config: LoaderConfig) -> float:
        """Return the bytes that a config needs: batches, and processes as weighed."""
        processes = (config.num_workers + 1) * self._process_bytes()
        return need_of(config, self.facts).total_bytes + processes

    def shared_bytes(self, config: LoaderConfig) -> float:
        """Return the bytes of shared memory that a config can fill."""
        return need_of(config, self.facts).shared_bytes

    def open_files(self, config: LoaderConfig) -> float:
        """Return the open files of a config with workers; 0 without."""
        return open_files_of(config, self.facts) if config.num_workers else 0

    def batch_examples(self, config: LoaderConfig) -> float:
        """Return the examples of a batch, which a training step has on the device."""
        return config.batch_size or self.facts.batch_examples

    def made_examples(self, config: LoaderConfig) -> float:
        """Return the examples that are made at once, by workers that use the device."""
        return self.batch_examples(config) * max(1, config.num_workers)

    def requests(self, config: LoaderConfig) -> float:
        """Return how many examples are read at once by workers; 0 where it is one."""
        return config.num_workers

    def _process_bytes(self) -> float:
        """Return the most that a process took beside its batches; 0: none weighed."""
        beside = [
            (
                item.memory.peak_bytes / (1 + len(item.memory.others))
                - need_of(item.config, self.facts).total_bytes
            )
            / (item.config.num_workers + 1)
            for item in self.outcomes
            if item.memory is not None
        ]
        return max([0.0, *beside])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lesson:
    """What a kind of failure says of the size of a config."""

    asks: Callable[[Lessons, LoaderConfig], float]
    """How much a config asks for of what was too little."""
    as_much: str
    """What a config has in common with it that is not tried."""
    failed: str
    """What came of it."""
    is_of_loader: bool = True
    """Whether a loader that was measured with as much speaks against it."""


_LESSONS = {
    "out_of_memory": _Lesson(
        asks=Lessons.memory_bytes,
        as_much="at least as much memory",
        failed="ran out of it",
    ),
    "shared_memory_full": _Lesson(
        asks=Lessons.shared_bytes,
        as_much="at least as much in flight",
        failed="filled shared memory",
    ),
    "descriptors_exhausted": _Lesson(
        asks=Lessons.open_files,
        as_much="at least as many open files",
        failed="reached their limit",
    ),
    "throttled": _Lesson(
        asks=Lessons.requests,
        as_much="at least as many workers",
        failed="the store turned away",
    ),
}


_OF_STEP = _Lesson(
    asks=Lessons.batch_examples,
    as_much="as large a batch",
    failed="the accelerator had too little memory for",
    is_of_loader=False,
)

_OF_DATASET = _Lesson(
    asks=Lessons.made_examples,
    as_much="at least as many examples on the accelerator",
    failed="ran out of its memory",
)


def _lesson_of(outcome: Outcome) -> _Lesson | None:
    """Return what an outcome teaches.

    A prediction teaches nothing: it is made anew for each config, of what is free then.
    """
    failure = outcome.failure
    if failure is None or failure.phase == "prediction":
        return None
    if failure.of_accelerator:
        return _OF_STEP if failure.phase in {"step", "consumer"} else _OF_DATASET
    return _LESSONS.get(failure.kind)

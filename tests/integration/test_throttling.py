"""A store that lets in two at once: real workers, real requests, real answers."""

from pathlib import Path

import pytest

from autoloader.search.lessons import Lessons
from autoloader.search.stopwatch import Stopwatch
from autoloader.search.trials import run_trial
from autoloader.trial.aftercare import make_tmp
from autoloader.trial.reference import read_reference
from autoloader.trial.runner import ProcessRunner
from autoloader.values.config import LoaderConfig
from autoloader.values.job import ReferenceOrder
from autoloader.values.outcome import Outcome, Status
from autoloader.values.scope import ScopeRequest, SourceSpec
from tests.fakes import a_machine
from tests.stores import store

DATASET = f"{Path(__file__).with_name('asking.py')}:Asks"

AT_ONCE = 2

ANSWER_S = 0.02


def config(workers: int) -> LoaderConfig:
    """Return a config of small batches: many are on their way."""
    return LoaderConfig.canonical(num_workers=workers, batch_size=4)


def tried(url: str, folder: Path, *configs: LoaderConfig) -> tuple[Lessons, ...]:
    """Try configs one after another; return what is learned after each."""
    tmp, read = make_tmp(), folder / "reference"
    read.mkdir()
    source = SourceSpec(spec=DATASET, arguments=(("url", url),))
    order = ReferenceOrder(source=source, request=ScopeRequest(), folder=str(read))
    reference = read_reference(order, logs=read, tmp=tmp)
    outcomes: list[Outcome] = []
    learned = []
    with ProcessRunner(source, reference, folder=folder / "trials", tmp=tmp) as runner:
        stopwatch = Stopwatch(
            runner=runner,
            facts=reference.facts,
            scope=reference.scope,
            machine=a_machine(),
            limit_s=2.0,
        )
        for number, item in enumerate(configs):
            outcome = run_trial(
                stopwatch, item, number=number, source="search", memory_bytes=None
            )
            outcomes.append(outcome)
            learned.append(Lessons(facts=reference.facts, outcomes=tuple(outcomes)))
    return tuple(learned)


@pytest.mark.slow
def test_a_store_that_is_asked_too_often_is_named_and_asked_less(
    tmp_path: Path,
) -> None:
    """Six workers are turned away, two are served; more than two are not tried."""
    with store(at_once=AT_ONCE, answer_s=ANSWER_S) as (url, answers):
        first, second = tried(url, tmp_path, config(6), config(AT_ONCE))

    many, few = second.outcomes
    assert 429 in answers
    assert many.failure is not None
    assert (many.status, many.failure.kind) == (Status.CRASHED, "throttled")
    assert many.failure.exception == "HTTPError"
    assert "HTTPError: HTTP Error 429" in many.failure.message
    assert few.status is Status.MEASURED
    reason = (
        "at least as many workers as 6 workers, prefetch 2, batch 4, which the store "
        "turned away"
    )
    assert (first.why_not(config(6)), first.why_not(config(8))) == (reason, reason)
    assert second.why_not(config(AT_ONCE)) is None

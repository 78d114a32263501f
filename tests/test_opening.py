"""What a study goes on with: its readings, its time, and its budget of memory."""

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from autoloader import opening
from autoloader.opening import Opened, Opening, least_memory
from autoloader.search.budget import Budget
from autoloader.search.folder import StudyFolder, StudyKey
from autoloader.search.record import Record
from autoloader.tune_values import TuneRequest
from autoloader.values.gate import GatePolicy
from autoloader.values.job import Reference, ReferenceOrder
from autoloader.values.outcome import Outcome
from autoloader.values.scope import SourceSpec
from autoloader.values.target import Target
from tests.fakes import a_machine, a_scope, some_facts
from tests.report.fakes import config, measured

GIB = 2**30

LONGER = replace(some_facts(), length=1601)

SOURCE = SourceSpec(spec="data.py:make")


@dataclass
class Told:
    """What a watcher was told."""

    cautions: list[tuple[str, str | None]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    def on_caution(self, message: str, hint: str | None) -> None:
        """Note it."""
        self.cautions.append((message, hint))

    def on_outcome(self, outcome: Outcome) -> None:
        """Note it."""
        self.outcomes.append(outcome)

    def __getattr__(self, name: str) -> Any:
        """Take all else without a word."""
        return lambda *told: None


@dataclass
class Study:
    """Runs of one study in a folder, each cut off after its opening."""

    root: Path
    facts: Any = field(default_factory=some_facts)
    orders: list[ReferenceOrder] = field(default_factory=list)
    hangs_after_s: list[Any] = field(default_factory=list)
    """What was said of each reference."""

    def run(
        self,
        memory_bytes: int | None = None,
        *,
        asked: bool = False,
        hang_after_s: float | None = None,
        source: SourceSpec = SOURCE,
        spent_s: float = 0.0,
        trials: int = 0,
    ) -> tuple[Opened, Told]:
        """Open the study as a tune does; note some time and trials, and break off."""
        target = Target(share_of_best=0.95, memory_bytes=memory_bytes)
        request = TuneRequest(
            source=source,
            target=target,
            out=self.root / "out.yaml",
            is_memory_asked=asked,
            policy=GatePolicy(hang_after_s=hang_after_s),
        )
        machine, told = a_machine(), Told()
        key = StudyKey.of(
            source=source,
            scope=request.scope,
            space=request.space,
            machine=machine,
            ranks=1,
            isolation="auto",
            policy=request.policy,
            memory_bytes=memory_bytes if asked else None,
        )
        folder = StudyFolder(self.root, key)
        folder.make()
        with Record(folder.path) as record, ExitStack() as stack:
            opened = Opening(
                request=request,
                machine=machine,
                watcher=told,
                folder=folder,
                record=record,
                tmp=self.root,
                budget=Budget(100.0, lambda: 0.0, 0.0),
                stack=stack,
            ).run()
            folder.write(replace(opened.state, spent_s=spent_s))
            for number in range(trials):
                record.add(measured(number, config(number), [100.0]))
        return opened, told

    def read(self, order: ReferenceOrder, **keywords: object) -> Reference:
        """Stand in for the process that reads the reference."""
        self.hangs_after_s.append(keywords["hang_after_s"])
        self.orders.append(order)
        return Reference(
            facts=self.facts, scope=a_scope(), folder=order.folder, seconds=1.0
        )


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """Give a study without any process."""
    made = Study(tmp_path)
    monkeypatch.setattr(opening, "read_reference", made.read)
    return made


def sayings(told: Told) -> list[str]:
    """Return what was told, but for the batch size that nobody named."""
    return [text for text, _ in told.cautions if "--batch-size" not in text]


def test_an_interrupted_study_goes_on_with_its_trials_and_the_time_left(
    study: Study,
) -> None:
    """Each trial is shown again, and the same examples are read."""
    study.run(spent_s=30.0, trials=2)

    opened, told = study.run()

    assert sayings(told) == ["going on with the study: 2 trials are done"]
    assert [item.number for item in told.outcomes] == [0, 1]
    assert opened.budget.end == 70.0
    assert study.orders[1].request.examples == a_scope().examples


def test_the_reference_is_given_up_after_what_is_asked(study: Study) -> None:
    """`--hang-after` is said of all that reads the dataset."""
    study.run()
    study.run(hang_after_s=90.0)

    assert study.hangs_after_s == [None, 90.0]


def test_a_study_of_a_dataset_that_has_changed_begins_anew(study: Study) -> None:
    """With all of its time; the old outcomes are kept under another name."""
    study.run(spent_s=30.0, trials=2)
    study.facts = LONGER

    opened, told = study.run()

    assert sayings(told) == [
        "the dataset has 1601 examples, the study began with 1600: the study begins "
        "anew"
    ]
    assert told.outcomes == []
    assert opened.budget.end == 100.0
    assert len(list(study.root.glob("*/outcomes.1.jsonl"))) == 1


def test_another_memory_that_is_asked_for_is_another_study(study: Study) -> None:
    """What was refused under the old one is not taken over, and it says so."""
    study.run(4 * GIB, asked=True, trials=2)

    opened, told = study.run(8 * GIB, asked=True)

    assert sayings(told) == [
        "an unfinished study of this dataset is kept apart: its memory was 4.0 GiB, "
        "now 8.0 GiB"
    ]
    assert told.outcomes == []
    assert opened.state.memory_bytes == 8 * GIB


def test_the_same_memory_that_is_asked_for_goes_on(study: Study) -> None:
    """As it was."""
    study.run(4 * GIB, asked=True, trials=2)

    opened, told = study.run(4 * GIB, asked=True)

    assert len(told.outcomes) == 2
    assert opened.state.memory_bytes == 4 * GIB


def test_a_study_keeps_to_the_least_memory_that_a_run_of_it_had(study: Study) -> None:
    """What the machine leaves is never quite the same: a notable change is told."""
    study.run(8 * GIB, trials=1)

    about, same = study.run(8 * GIB - 1)
    less, shrunk = study.run(4 * GIB)
    more, grown = study.run(8 * GIB)

    going_on = "going on with the study: 1 trials are done"
    assert about.state.memory_bytes == 8 * GIB - 1
    assert sayings(same) == [going_on]
    assert less.state.memory_bytes == 4 * GIB
    assert sayings(shrunk) == [
        going_on,
        "4.0 GiB of memory are left for the study, 8.0 GiB were in an earlier run of "
        "it",
    ]
    assert more.state.memory_bytes == 4 * GIB
    assert grown.cautions[-1] == (
        "the study goes on with 4.0 GiB of memory, as an earlier run had; 8.0 GiB are "
        "left for it now",
        "--memory names it, and begins another study",
    )


@pytest.mark.parametrize(
    ("before", "now", "least"), [(None, 5, 5), (5, None, 5), (None, None, None)]
)
def test_without_a_limit_the_other_one_is_the_least(
    before: int | None, now: int | None, least: int | None
) -> None:
    """Nothing is worth telling."""
    told = Told()

    assert least_memory(before, now, told) == least
    assert told.cautions == []


def test_an_argument_with_a_password_is_named_and_not_its_password(
    study: Study,
) -> None:
    """The process that reads gets it all the same."""
    url = "postgres://user:secret@host/x"
    source = SourceSpec(spec="data.py:make", arguments=(("url", url), ("size", 8)))

    _, told = study.run(source=source)

    assert told.cautions[0] == (
        "--arg url holds a password: files and reports have *** in its place, and "
        "others may see it in the list of processes",
        "let the function read it from an environment variable: os.environ",
    )
    assert study.orders[0].source == source
    texts = [path.read_text() for path in study.root.glob("*/study.json")]
    assert not [text for text in texts if "secret" in text]

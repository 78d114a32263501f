"""The stored table of a grid: what it holds, and when replays can be answered."""

import json
import math
from pathlib import Path

import pytest

from autoloader.errors import StoredFileError, UsageError
from autoloader.values.config import LoaderConfig
from scripts.studied.conditions import differences, go_on_with, store
from scripts.studied.grid_file import (
    GridState,
    is_complete,
    rounds_read,
    scatter,
    table_of,
)
from scripts.studied.grid_recording import order_of
from scripts.studied.grid_replays import replay_grid, row_of
from scripts.studied.grids import (
    GRID_CONFIGS,
    STUDIES,
    GridSpace,
    StudyAsked,
    workers_of,
)
from tests.fakes import some_facts
from tests.search.replayed import config
from tests.studies.measured import CONDITIONS, GRID, STATE, a_grid, crashed, read


@pytest.mark.parametrize("name", STUDIES)
def test_the_grid_of_each_study_has_33_configs(name: str) -> None:
    """One without workers, and four of each number of them."""
    space = StudyAsked.read(name).grid(some_facts(), workers_of(name))

    assert len(space.configs()) == GRID_CONFIGS


def test_a_stream_is_asked_for_by_its_id_and_its_length() -> None:
    """As its study file has it."""
    asked = StudyAsked.read("stream")

    assert asked.source.spec.endswith("/studies/stream/dataset.py:stream")
    assert (asked.scope.id, asked.scope.epoch_examples) == ("id", 4096)
    assert asked.limited(3.0, 99).examples == 99


def test_a_grid_leaves_out_the_workers_between() -> None:
    """Its space says from where to where, its workers which of them."""
    assert GRID.configs() == (config(0), config(2))
    assert GridSpace.from_dict(json.loads(json.dumps(GRID.to_dict()))) == GRID


def test_the_state_of_a_grid_is_what_was_written() -> None:
    """Through JSON and back."""
    written = json.loads(json.dumps(STATE.to_dict()))

    assert GridState.from_dict(written) == STATE


def test_a_stored_table_answers_as_the_readings_did() -> None:
    """The middle of five, and the rounds as they were."""
    data = json.loads(json.dumps(a_grid()))

    table = table_of(data)

    assert table.rate(config(2)) == pytest.approx(200.0)
    assert table.rounds is not None
    assert table.rounds[config(0)] == pytest.approx((100.0, 105.0, 95.0, 110.0, 90.0))
    assert is_complete(data)


def test_what_crashed_stays_in_the_table_without_its_place() -> None:
    """A replay meets it; nobody is told a folder of this machine."""
    data = a_grid(read(0, (100.0,) * 5), crashed(2))

    assert set(table_of(data).broken) == {config(2)}
    assert "/a/place" not in json.dumps(data)
    assert is_complete(data)


def test_a_grid_that_lacks_a_config_has_no_whole_round() -> None:
    """Its fastest may be the one that lacks."""
    data = a_grid(read(0, (100.0,) * 5))

    assert rounds_read(data) == 0
    assert not is_complete(data)


def test_four_readings_are_too_few_to_replay() -> None:
    """They are stored all the same."""
    data = a_grid(read(0, (100.0,) * 5), read(2, (200.0,) * 4))

    assert rounds_read(data) == 4
    with pytest.raises(
        UsageError,
        match=r"^a table answers for every config of its space, got none for 1, "
        r"such as 2 workers, prefetch 2, batch 64$",
    ):
        table_of(data)


def test_readings_scatter_by_how_far_they_are_from_their_config() -> None:
    """However far the configs are from each other; a single reading tells nothing."""
    wide, narrow = (100.0, 121.0, 110.0), (1000.0,) * 3
    found = scatter(a_grid(read(0, wide), read(2, narrow)))

    assert found == pytest.approx(math.log(1.1) / math.sqrt(2))
    assert scatter(a_grid(read(0, (100.0,)), read(2, (200.0,)))) is None


def test_each_round_has_an_order_of_its_own() -> None:
    """And the same one again where a run goes on."""
    configs = tuple(config(workers) for workers in range(9))

    first, second = order_of(configs, 0), order_of(configs, 1)

    assert sorted(first, key=configs.index) == list(configs)
    assert first != second
    assert first == order_of(configs, 0)


def test_a_tune_replayed_on_a_stored_grid_finds_its_fastest() -> None:
    """Twice as fast as the other, it is the only one that is enough."""
    data = a_grid()

    data["replays"] = replay_grid(data, seeds=2)
    row = row_of(data)

    assert row is not None
    assert row.fastest == config(2)
    assert row.shares == (1.0, 1.0)
    assert row.choices == (("2 workers, prefetch 2", 2),)
    assert {LoaderConfig.from_dict(item["chosen"]) for item in data["replays"]} == {
        config(2)
    }


def test_a_grid_without_replays_has_no_row() -> None:
    """Nothing is made up of it."""
    assert row_of(a_grid()) is None


def test_figures_of_the_same_conditions_are_gone_on_with(tmp_path: Path) -> None:
    """Another day or commit makes no difference, and a missing file is a beginning."""
    file = tmp_path / "photos" / "tunes.json"
    later = {**CONDITIONS, "date": "2026-02-03", "commit": None}
    store(file, {"conditions": CONDITIONS, "tunes": [1]})

    found = go_on_with(file, later)

    assert found == {"conditions": CONDITIONS, "tunes": [1]}
    assert go_on_with(tmp_path / "none.json", later) == {"conditions": later}
    assert go_on_with(file, later, fresh=True) == {"conditions": later}


def test_figures_of_another_machine_are_refused(tmp_path: Path) -> None:
    """They would be mixed."""
    file = tmp_path / "tunes.json"
    store(file, {"conditions": CONDITIONS})

    with pytest.raises(
        UsageError,
        match=r"tunes\.json holds figures of other conditions: "
        r"cpus was 2\.0, now 8\.0; torch was 2\.13\.0, now 2\.6\.0$",
    ):
        go_on_with(file, {**CONDITIONS, "cpus": 8.0, "torch": "2.6.0"})

    assert differences(CONDITIONS, CONDITIONS) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", r"tunes\.json cannot be read: "),
        ("[]", r"tunes\.json must hold an object, got list$"),
    ],
)
def test_a_file_that_holds_no_figures_is_named(
    tmp_path: Path, text: str, sentence: str
) -> None:
    """It is not overwritten."""
    file = tmp_path / "tunes.json"
    file.write_text(text)

    with pytest.raises(StoredFileError, match=sentence):
        go_on_with(file, CONDITIONS)

    assert file.read_text() == text

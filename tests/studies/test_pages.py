"""Tables of the studies' pages: made of stored figures, and of nothing else."""

from pathlib import Path
from typing import Any

import pytest

from autoloader.errors import StoredFileError
from scripts.peers.reading import race, rates_to_go_on_with
from scripts.peers.wrong_data import lost_and_repeated
from scripts.render_studies import MARKS, main, overview_page, study_page
from scripts.studied.conditions import store
from scripts.studied.grid_replays import replay_grid
from scripts.studied.grids import STUDIES
from scripts.studied.judging import (
    GRID,
    GridRow,
    Rates,
    fastest_of,
    rate_of,
    ratio_of,
)
from scripts.studied.pages import (
    conditions_line,
    conditions_lines,
    grid_table,
    overview,
    peers_table,
    put_between,
    search_table,
    tunes_table,
    wrong_data_table,
)
from tests.search.replayed import config
from tests.studies.measured import CONDITIONS, a_grid, advice, crashed, read

ZERO, TWO = "0 workers", "2 workers, prefetch 2"

PEERS: dict[str, Any] = {
    "conditions": CONDITIONS,
    "advice": [
        advice("autoloader", 2, "met"),
        advice("loadtune", 0),
        advice("half the cores", None, "it failed"),
        advice(GRID, 2),
    ],
    "rates": {ZERO: [100.0, 110.0, 105.0], TWO: [200.0, 220.0, 210.0]},
}

TUNES: dict[str, Any] = {
    "conditions": CONDITIONS,
    "tunes": [{"advice": advice("autoloader", 0, "met"), "readings": 31}],
}

PAGE = f"# A study\n\n<!-- {MARKS} -->\nold\n<!-- end of {MARKS} -->\n\nthe rest\n"


def a_row(*shares: float, readings: float = 30.0, tunes: int = 2) -> GridRow:
    """Return a row of replayed tunes."""
    return GridRow(
        study="photos",
        configs=33,
        fastest=config(2),
        fastest_examples_per_s=200.0,
        tunes=tunes,
        shares=shares,
        choices=(("2 workers, prefetch 2", 1), ("nothing", 1)),
        readings=readings,
        seconds=150.0,
        grid_s=420.0,
        scatter=0.146,
    )


def test_a_grid_is_shown_by_workers_and_by_all_else() -> None:
    """The middle of the readings, and how they were taken."""
    lines = grid_table(a_grid())

    assert lines[:4] == [
        "| workers | prefetch 2 |",
        "|---|---|",
        "| 0 | 100 |",
        "| 2 | 200 |",
    ]
    assert "median of 5 readings in interleaved rounds (5 m 00 s in all" in lines[-1]


def test_what_has_no_speed_is_named_in_its_place() -> None:
    """A gap would look like something that was not tried."""
    lines = grid_table(a_grid(read(0, (100.0,) * 5), crashed(2)))

    assert lines[3] == "| 2 | crashed |"


def test_a_grid_without_a_whole_round_gives_no_table() -> None:
    """Half a table has no fastest."""
    assert grid_table(a_grid(read(0, (100.0,) * 5))) == []


def test_nothing_measured_gives_no_table() -> None:
    """No heads without rows."""
    assert search_table([]) == []
    assert tunes_table({"photos": ({"tunes": []}, None)}) == []
    assert peers_table({"advice": [advice("loadtune", 0)], "rates": {ZERO: []}}) == []
    assert overview({"photos": {"advice": [], "rates": {}}}) == []
    assert wrong_data_table({}) == []


def test_a_row_of_replays_says_how_near_how_dear_and_what() -> None:
    """Thirty timed passes are 18 % of a grid of 33 by five."""
    line = search_table([a_row(0.951, 1.0)])[-1]

    assert line == (
        "| photos | 2 workers, prefetch 2 | 200 | 15% | 7 m 00 s | 2 workers, prefetch "
        "2 (1); nothing (1) | 95.1% | 100.0% | 18% | yes |"
    )


@pytest.mark.parametrize(
    "row",
    [a_row(0.91, 1.0), a_row(1.0, 1.0, readings=40.0), a_row(1.0), a_row()],
    ids=["too slow", "too dear", "one chose nothing", "none chose"],
)
def test_a_row_beyond_a_bar_does_not_hold(row: GridRow) -> None:
    """92 % of the fastest, a fifth of the grid, and a choice each time."""
    assert not row.holds


def test_a_ratio_is_of_the_same_rounds() -> None:
    """A round in which one failed counts for neither."""
    rates: Rates = {ZERO: [100.0, None, 110.0], TWO: [200.0, 999.0, 220.0]}

    found = ratio_of(TWO, ZERO, rates)

    assert found is not None
    assert found.median == pytest.approx(2.0)
    assert rate_of(ZERO, rates) == pytest.approx(105.0)
    assert fastest_of([ZERO, TWO, None], rates) == TWO
    assert ratio_of(TWO, TWO, rates) is None


def test_others_are_held_against_the_best_of_them_and_the_grid() -> None:
    """Whoever recommends the same is said to, and whoever fails has the reason."""
    lines = peers_table(PEERS)

    assert lines[2].startswith(
        f"| autoloader | {TWO} | 1 m 30 s | 210 | the same | 2.0"
    )
    assert lines[3].startswith(f"| loadtune | {ZERO} | 1 m 30 s | 105 | 0.50 (")
    assert lines[4] == "| half the cores | nothing: it failed | 1 m 30 s | - | - | - |"
    assert lines[-1].endswith("3 interleaved rounds; the best other's: 0 workers.")


def test_the_overview_has_the_slowest_tune() -> None:
    """One good tune of three is luck."""
    data = {**PEERS, "advice": [*PEERS["advice"], advice("autoloader", 0, "met")]}

    lines = overview({"photos": data})

    assert lines[-1].startswith("| photos | 0 workers | 1 m 30 s | the same | loadtune")


def test_a_live_tune_is_held_against_the_grid() -> None:
    """In the race of plain loops that read both."""
    line = tunes_table({"photos": (TUNES, PEERS)})[-1]

    assert line.startswith(
        "| photos | 1 | 0 workers | met | 1 m 30 s | 31 | 105 | 0.50"
    )


def test_a_live_tune_that_nothing_read_again_has_no_ratio() -> None:
    """It has its own figures."""
    line = tunes_table({"photos": (TUNES, None)})[-1]

    assert line == "| photos | 1 | 0 workers | met | 1 m 30 s | 31 | - | - |"


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([0, 1, 2, 3], (0, 0)),
        ([0, 1, 2], (1, 0)),
        ([0, 1, 2, 3, 3], (0, 1)),
        ([0, 1, 2, 2], (1, 1)),
        ([0, 1, 2, 3, 9], (0, 0)),
    ],
)
def test_lost_and_repeated_ids_are_counted_apart(
    ids: list[int], expected: tuple[int, int]
) -> None:
    """As many distinct ids as examples say nothing of those that come twice."""
    assert lost_and_repeated(ids, 4) == expected


def test_the_table_of_wrong_data_says_who_refuses() -> None:
    """By what was delivered and named, not by who it is."""
    data = {
        "delivered": [
            {
                "advice": advice("autoloader", 0, "met"),
                "lost": 0,
                "repeated": 0,
                "check_code": 1,
                "named": [7, 8],
                "refuses": True,
            },
            {
                "advice": advice("as many as cores", 2),
                "lost": 1,
                "repeated": 1,
                "check_code": None,
                "named": [],
                "refuses": False,
            },
        ]
    }

    lines = wrong_data_table(data)

    assert lines[2] == (
        "| autoloader | 0 workers | 0 | 0 | exit code 1, ids 7, 8 | met | yes |"
    )
    assert lines[3] == (
        f"| as many as cores | {TWO} | 1 | 1 | has none | nothing | no |"
    )


def test_conditions_are_one_line() -> None:
    """What a reader needs to judge figures by."""
    assert conditions_line({"conditions": CONDITIONS}) == (
        "A Processor, 2 CPUs, 8.0 GiB, Linux 6.1.0, Python 3.12.4, torch 2.13.0, "
        "commit abc1234, 2026-01-02."
    )


def test_figures_of_several_machines_are_told_apart() -> None:
    """A table over several studies names whose each line is; one machine has one."""
    here, there = ({"conditions": CONDITIONS | {"cpu": cpu}} for cpu in ("A", "B"))

    assert conditions_lines({"photos": here, "remote": here}) == [conditions_line(here)]
    assert conditions_lines({"photos": here, "remote": there, "stream": here}) == [
        f"- photos, stream: {conditions_line(here)}",
        f"- remote: {conditions_line(there)}",
    ]


def test_rounds_of_the_same_settings_are_gone_on_with() -> None:
    """Those of others were read at another time; half a round counts for nobody."""
    assert rates_to_go_on_with([ZERO, TWO], {TWO: [2.0], ZERO: [1.0, 1.1]}) == {
        ZERO: [1.0],
        TWO: [2.0],
    }
    assert rates_to_go_on_with([ZERO, TWO], {ZERO: [1.0]}) == {ZERO: [], TWO: []}


def test_a_race_that_is_complete_reads_nothing(tmp_path: Path) -> None:
    """There is no dataset at all, and nobody asks for one."""
    known: dict[str, list[float | None]] = {ZERO: [100.0, 101.0]}

    found = race(
        tmp_path / "none.py",
        [config(0).dataloader_kwargs()],
        2,
        known=known,
    )

    assert found == known


def test_figures_stand_between_the_marks_and_nowhere_else() -> None:
    """What was there is gone, what is around stays."""
    page = put_between(PAGE, MARKS, ["| a |", ""])

    assert page == (
        f"# A study\n\n<!-- {MARKS} -->\n\n| a |\n\n<!-- end of {MARKS} -->\n\n"
        "the rest\n"
    )
    assert put_between(page, MARKS, ["| a |", ""]) == page


def test_no_figures_leave_nothing_between_the_marks() -> None:
    """No title without a table."""
    page = put_between(PAGE, MARKS, [])

    assert f"<!-- {MARKS} -->\n<!-- end of {MARKS} -->" in page


def test_a_page_without_marks_is_left_alone() -> None:
    """Nobody guesses where figures belong."""
    with pytest.raises(
        StoredFileError, match=r"^a page needs the marks of 'figures' once, got 0$"
    ):
        put_between("# A study\n", "figures", ["| a |"])


def test_pages_of_a_folder_get_what_was_measured(tmp_path: Path) -> None:
    """The measured study a section for each file, the others none."""
    for name in ("", *STUDIES):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "README.md").write_text(PAGE)
    grid = a_grid()
    grid["replays"] = replay_grid(grid, seeds=2)
    measured = tmp_path / "photos" / "measured"
    store(measured / "grid.json", grid)
    store(measured / "tunes.json", TUNES)
    store(measured / "peers.json", PEERS)

    code = main(["--into", str(tmp_path)])

    assert code == 0
    page = (tmp_path / "photos" / "README.md").read_text()
    titles = [line for line in page.splitlines() if line.startswith("#")]
    assert titles == [
        "# A study",
        "## Measured",
        "### Every config of a grid",
        "### Tunes replayed on these readings, three minutes each on their own clock",
        "### Live tunes of three minutes",
        "### Against others",
    ]
    assert "    python scripts/bench_search.py --record photos\n" in page
    assert "| photos |" in (tmp_path / "README.md").read_text()
    assert "|" not in (tmp_path / "tokens" / "README.md").read_text()


def test_pages_of_an_empty_folder_are_empty(tmp_path: Path) -> None:
    """Whatever titles there might be."""
    assert study_page("photos", tmp_path) == []
    assert overview_page(tmp_path) == []

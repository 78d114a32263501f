"""The page of a study: whole, safe, readable without eyes, and not too large."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from autoloader.commands.report import sources_of
from autoloader.errors import StoredFileError
from autoloader.export.frameworks import NAMES
from autoloader.export.recommendation import Recommendation
from autoloader.report.html.page_file import MOST_PAGE_BYTES, fitting_text
from autoloader.report.html.rendering import MARKER, html_of
from autoloader.report.html.study_page import study_page
from autoloader.report.study_making import study_report
from tests.report.fakes import MACHINE
from tests.report.html.reading import Reader
from tests.report.replayed import MARKUP, SPEC, WIDE, Replayed, replay_into
from tests.report.test_loop_rows import section as loop_section
from tests.search.looped import LoopTable, config

if TYPE_CHECKING:
    from pathlib import Path

    from autoloader.report.study import StudyReport

HEADINGS = [
    "Use it",
    "Configs",
    "Rate, workers and memory",
    "Waits for batches",
    "The race",
    "The search",
    "Is the data the same?",
    "What limits it",
    "What the target takes",
    "Scope and contract",
    "Machine and versions",
    "Readings",
]
"""Sections of a whole study without a training step."""


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    """Give a study on disk, replayed once."""
    return replay_into(tmp_path_factory.mktemp("studied"))


@pytest.fixture(scope="module")
def report(studied: Replayed) -> StudyReport:
    """Give its report."""
    return study_report(sources_of(studied.file))


@pytest.fixture(scope="module")
def text(report: StudyReport) -> str:
    """Give its page."""
    return fitting_text(report, version="1.2.3")


@pytest.fixture(scope="module")
def page(text: str) -> Reader:
    """Give its page, read."""
    return Reader(text)


def test_every_element_is_closed_and_every_id_is_unique(page: Reader) -> None:
    """A browser has nothing to guess."""
    ids = [node.attributes["id"] for node in page.nodes if "id" in node.attributes]

    assert page.unclosed == []
    assert len(ids) == len(set(ids))
    assert {"content", "told", "page-data", "snippet-yaml"} <= set(ids)


def test_headings_are_in_order(page: Reader) -> None:
    """One for the page, one for each section, below them those of snippets."""
    headings = [(node.name, node.text) for node in page.all("h1", "h2", "h3")]

    levels = [int(name[1]) for name, _ in headings]
    assert headings[0][0] == "h1"
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    found = [said for name, said in headings if name == "h2"]
    assert [said for said in found if said != "Cautions"] == HEADINGS


def test_the_verdict_stands_before_everything_else(page: Reader) -> None:
    """Then cautions, if there are any."""
    main = page.all("main")[0]

    first = main.children[0]
    assert first.attributes["class"] == "verdict met"
    assert first.text.startswith("Target met: ")
    assert "simplest" in first.text


def test_a_page_loads_nothing(page: Reader, text: str) -> None:
    """No address of another place in it, and a policy that allows none."""
    addresses = [
        value
        for node in page.nodes
        for name in ("src", "href", "action", "data", "poster", "srcset", "xlink:href")
        if (value := node.attributes.get(name)) is not None
    ]

    assert all(address.startswith("#") for address in addresses)
    assert page.all("link", "img", "iframe", "object", "form", "base") == []
    assert re.findall(r"@import|url\(", text) == []
    policy = next(
        node.attributes["content"]
        for node in page.all("meta")
        if node.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_no_element_has_a_style_or_a_handler(page: Reader) -> None:
    """The policy would not allow them."""
    wrong = [
        name
        for node in page.nodes
        for name in node.attributes
        if name == "style" or name.startswith("on")
    ]

    assert wrong == []


def test_every_drawing_is_told_in_words(page: Reader) -> None:
    """Title and description, which its labels name; all kinds of charts are there."""
    drawings = page.all("svg")

    for drawing in drawings:
        title, described = drawing.children[:2]
        named = f"{title.attributes['id']} {described.attributes['id']}"
        assert (title.name, described.name) == ("title", "desc")
        assert drawing.attributes["role"] == "img"
        assert drawing.attributes["aria-labelledby"] == named
        assert len(title.text) > 5
        assert len(described.text) > 20
    assert [drawing.children[0].attributes["id"] for drawing in drawings] == [
        "plot-workers-title",
        "plot-memory-title",
        "plot-waits-title",
        "plot-race-title",
        "plot-trials-title",
    ]


def test_every_table_has_a_caption_and_headings_with_a_scope(page: Reader) -> None:
    """For rows and for columns, as many cells in each row as there are headings."""
    tables = page.all("table")

    assert len(tables) >= 6
    for table in tables:
        caption, head, body = table.children
        columns = head.children[0].children
        assert caption.text.strip()
        assert {cell.attributes["scope"] for cell in columns} == {"col"}
        for row in body.children:
            assert row.children[0].attributes["scope"] == "row"
            assert len(row.children) == len(columns)


def test_names_with_markup_stay_text(page: Reader, text: str) -> None:
    """Of the dataset, of a function, in messages, in charts and in what is embedded."""
    assert page.all("h1")[0].text == SPEC
    assert len(page.all("script")) == 2
    assert page.all("b", "img") == []
    assert "<!--" not in text
    assert page.data()["dataset"] == SPEC
    causes = [node.text for node in page.all("td") if "KeyError" in node.text]
    assert any(MARKUP in cause for cause in causes)
    assert any(f"decode{MARKUP}" == node.text for node in page.all("th"))


def test_what_can_be_scrolled_can_be_reached_by_keys(page: Reader) -> None:
    """And every button says what it does."""
    scrolled = [node for node in page.nodes if node.attributes.get("class") == "scroll"]

    assert scrolled
    assert {node.attributes["tabindex"] for node in scrolled} == {"0"}
    assert all(node.attributes["aria-label"] for node in scrolled)
    assert all(len(node.text) > 8 for node in page.all("button"))
    copied = [
        node.attributes["data-copy"]
        for node in page.all("button")
        if "data-copy" in node.attributes
    ]
    assert [page.named(str(name)).name for name in copied] == ["pre"] * len(copied)


def test_every_link_leads_to_a_section(page: Reader) -> None:
    """The skip link too."""
    for link in page.all("a"):
        target = page.named(str(link.attributes["href"])[1:])
        assert target.name in {"h2", "main"}


def test_snippets_are_what_the_file_says(page: Reader, report: StudyReport) -> None:
    """YAML that loads to the settings, Python that compiles."""
    settings = report.sections["dataloader"]

    loaded = yaml.safe_load(page.named("snippet-yaml").text)
    code = compile(page.named("snippet-pytorch").text, "snippet", "exec")

    assert loaded == {"dataloader": settings}
    assert "DataLoader" in code.co_names
    assert 'load("autoloader.yaml")' in page.named("snippet-load").text


def test_all_readings_are_in_the_page(page: Reader, report: StudyReport) -> None:
    """By column, with the rates that the study has."""
    readings = page.data()["readings"]

    column = readings["columns"].index("epoch_rate")
    rates = [row[column] for row in readings["rows"]]
    assert readings["of"] == len(rates) == len(report.taken)
    expected = [item.to_dict()["epoch_rate"] for item in report.taken]
    assert rates == pytest.approx(expected, rel=1e-5)


def test_readings_that_do_not_fit_are_left_out_and_that_is_told(
    report: StudyReport,
) -> None:
    """With where all of them are."""
    page = Reader(html_of(study_page(report, most_bytes=2000), version="1"))

    readings = page.data()["readings"]
    assert 0 < len(readings["rows"]) < readings["of"]
    said = next(node.text for node in page.all("p") if "readings are in" in node.text)
    assert said.startswith(f"The first {len(readings['rows'])} of {readings['of']} ")
    assert str(report.outcomes_file) in said


def test_a_study_of_300_trials_stays_below_its_size(tmp_path: Path) -> None:
    """Every trial in table and charts, all readings with it."""
    studied = replay_into(tmp_path, workload=WIDE, trials=300)

    text = fitting_text(study_report(sources_of(studied.file)), version="1")

    page = Reader(text)
    assert len(text.encode()) < MOST_PAGE_BYTES
    assert page.unclosed == []
    assert len(page.data()["readings"]["rows"]) == page.data()["readings"]["of"] > 250
    trials = next(t for t in page.all("table") if "All 300 trials" in t.text)
    assert len(trials.children[2].children) == 300


def test_a_page_says_that_it_is_ours_within_its_first_bytes(text: str) -> None:
    """So that it may be replaced, and nothing else."""
    assert f'{MARKER} 1.2.3">' in text[:1000]


def test_a_file_alone_makes_a_page_that_says_what_it_lacks(studied: Replayed) -> None:
    """The table and all that the file tells are there."""
    sources = replace(
        sources_of(studied.file), study=None, missing="the study is not there"
    )

    page = Reader(fitting_text(study_report(sources), version="1"))

    notices = [
        node.text for node in page.nodes if node.attributes.get("class") == "notice"
    ]
    assert any(
        "the study is not there: trials without a speed" in said for said in notices
    )
    headings = [node.text for node in page.all("h2")]
    assert "Configs" in headings
    assert "What limits it" in headings
    assert "Readings" not in headings
    assert page.all("svg") == []


def test_a_folder_alone_makes_a_page_without_a_choice(studied: Replayed) -> None:
    """Trials, race and waits are there; nothing is recommended."""
    page = Reader(fitting_text(study_report(sources_of(studied.folder)), version="1"))

    verdict = page.all("main")[0].children[0]
    assert verdict.attributes["class"] == "verdict plain"
    assert verdict.text.startswith(
        "No choice here: what the study chose is in its recommendation file; "
    )
    headings = [node.text for node in page.all("h2")]
    assert "Use it" not in headings
    assert "The race" in headings
    assert len(page.all("svg")) == 5


CONTRACT = {
    "held": True,
    "fields": [
        {
            "path": "",
            "type": "tensor",
            "dtype": "float32",
            "shape": [3, None],
            "axes": None,
            "random": True,
            "optional": False,
        },
        {"path": "1", "type": "int", "dtype": None, "shape": [], "random": False},
    ],
    "equal_sizes": [],
    "rules": {"shapes": "fixed", "incomplete": "refuse", "filtered": False},
    "seen": 6400,
}


def page_with(studied: Replayed, **sections: Any) -> Reader:
    """Return the page of a file that has these sections as well."""
    sources = sources_of(studied.file)
    assert sources.recommendation is not None
    data = {**sources.recommendation.data, **sections}
    changed = replace(sources, recommendation=Recommendation(data))
    return Reader(fitting_text(study_report(changed), version="1"))


def rows_of(page: Reader, caption: str) -> list[list[str]]:
    """Return the cells of the table whose caption begins so, row by row."""
    table = next(
        node for node in page.all("table") if node.children[0].text.startswith(caption)
    )
    return [[cell.text for cell in row.children] for row in table.children[2].children]


def test_the_training_step_has_a_section_with_its_loops(studied: Replayed) -> None:
    """Rates of loops stand in no table of loaders."""
    table = LoopTable({config(0): (0.1,), config(2): (0.0,)}, failing=frozenset())

    page = page_with(studied, step=loop_section(table))

    assert "The training step" in [node.text for node in page.all("h2")]
    assert rows_of(page, "Training loops") == [
        ["PyTorch default", "0", "26.726.7\u201326.7", "\u2013", "33\xa0%", "200 ms"],
        [
            "fastest = chosen",
            "2",
            "4040\u201340",
            "1.50\u00d71.50\u00d7\u20131.50\u00d7",
            "0\xa0%",
            "200 ms",
        ],
    ]


def test_a_loop_that_failed_has_no_figures(studied: Replayed) -> None:
    """Its reason is told above the table."""
    table = LoopTable(
        {config(0): (0.1,), config(2): (0.0,)}, failing=frozenset({config(2)})
    )

    page = page_with(studied, step=loop_section(table))

    assert rows_of(page, "Training loops")[1] == [
        "fastest = chosen", "2", "failed", "\u2013", "\u2013", "\u2013",
    ]  # fmt: skip
    assert any("chosen: was killed" in node.text for node in page.all("dd"))


def test_a_contract_is_shown_field_by_field(studied: Replayed) -> None:
    """Whether it was held, and by which rules."""
    page = page_with(studied, contract=CONTRACT)

    assert rows_of(page, "Fields that all") == [
        ["(the example)", "tensor", "float32", "3 \u00d7 any", "random"],
        ["1", "int", "\u2013", "a single number", "fixed"],
    ]
    told = [node.text for node in page.all("dd")]
    assert "held: every example was held to it; 6,400 examples were seen" in told
    assert "shapes fixed; incomplete refuse; filtered no" in told


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("contract", {"held": True}),
        ("step", {"spec": "x"}),
        ("knobs", {"num_workers": [{"value": 1}]}),
        ("machine", {"cpu_model": 1}),
    ],
)
def test_a_section_that_cannot_be_shown_is_named(
    section: str, value: Any, studied: Replayed
) -> None:
    """By the name that it has in the file."""
    with pytest.raises(StoredFileError, match=f"{section}.* of |: {section}"):
        page_with(studied, **{section: value})


def test_a_bare_file_has_a_page(tmp_path: Path) -> None:
    """With settings, target and machine alone, as others may write it."""
    file = tmp_path / "bare.yaml"
    data = {
        "schema": 1,
        "dataset": "data.py:train",
        "dataloader": {"batch_size": 8, "num_workers": 0},
        "target": {"met": True},
        "machine": MACHINE.to_dict(),
    }
    file.write_text(yaml.safe_dump(data))

    page = Reader(fitting_text(study_report(sources_of(file)), version="1"))

    assert page.all("main")[0].children[0].text == (
        "Target met: 0 workers, batch 8 is what the file recommends; it does not say "
        "why."
    )
    assert [node.text for node in page.all("h2")] == [
        "Cautions",
        "Use it",
        "Is the data the same?",
        "Machine and versions",
    ]


def test_each_framework_has_its_settings_behind_a_fold(page: Reader) -> None:
    """PyTorch's own stand open; each text can be copied."""
    folded = [
        str(node.attributes["id"]).removeprefix("snippet-")
        for node in page.all("pre")
        if "details" in node.within
    ]

    assert folded == [name for name in NAMES if name != "torch"]
    assert "data:" in page.named("snippet-lightning").text

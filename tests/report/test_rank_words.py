"""What people are told of several ranks."""

import io
from dataclasses import replace

from autoloader.report.console import print_check, print_report
from autoloader.report.data import TuneReport
from autoloader.report.rank_words import rank_words
from autoloader.values.target import Target
from tests.report.fakes import FACTS, config, result

SECTION = {"examples_per_s": [500.0, 400.0], "slowest": 1, "slowest_share": 0.889}

WORDS = (
    "2 at once, whose rates and memory add up; the slowest is rank 1 with 400 "
    "examples/s, 89 % of the mean"
)


def test_the_slowest_rank_is_told() -> None:
    """One training process has none."""
    assert rank_words(SECTION) == WORDS
    assert rank_words(None) is None


def test_a_tune_tells_of_its_ranks() -> None:
    """In a line of the report, and as they are in JSON."""
    found = result({config(4): 900.0}, target=Target(examples_per_s=500), sources={})
    report = TuneReport.of(found)
    ranked = replace(report, ranks=rank_words(SECTION), ranks_section=SECTION)
    stream = io.StringIO()

    print_report(ranked, stream)

    assert "ranks     2 at once, whose rates and memory add up" in stream.getvalue()
    assert ranked.to_dict()["ranks"] == SECTION
    assert "ranks" not in report.to_dict()


def test_a_recommendation_says_it_of_the_file() -> None:
    """From its section `measured`."""
    found = result({config(4): 900.0}, target=Target(examples_per_s=500), sources={})
    kept = found.recommendation
    assert kept is not None
    kept.data["measured"] = {"ranks": SECTION}

    report = TuneReport.of(found)

    assert (report.ranks, report.ranks_section) == (WORDS, SECTION)


def test_a_check_says_how_many_read() -> None:
    """Beside what they read."""
    stream = io.StringIO()
    check = {
        "passed": True,
        "verified": {"examples": 1600, "of": 1600, "epochs": 2},
        "cautions": [],
        "runs": [],
        "dataset": FACTS.to_dict(),
        "ranks": 4,
    }

    print_check(check, stream)

    said = "Photos, 1,600 examples, read by index, by 4 ranks at once"
    assert said in stream.getvalue().splitlines()

"""Sentences of a report that no other test looks at."""

from dataclasses import replace
from typing import get_args

from autoloader.report.sentences import search
from autoloader.search.exploration import Stop
from autoloader.values.target import Target
from tests.report.fakes import config, result

FOUND = result({config(0): 100.0}, target=Target(examples_per_s=50.0), sources={})


def test_a_search_that_was_settled_says_what_more_of_it_would_bring() -> None:
    """Nothing: that is why it ended."""
    said = search(replace(FOUND, stopped_search="settled"))

    assert said == ("1 trial: 1 measured; further trials would not change the choice")


def test_each_end_of_a_search_has_words_of_its_own() -> None:
    """Whatever it was, the reader is told which."""
    said = {search(replace(FOUND, stopped_search=stop)) for stop in get_args(Stop)}

    assert len(said) == len(get_args(Stop))
    assert all(sentence.startswith("1 trial: 1 measured; ") for sentence in said)

"""Settings as text to paste."""

from types import SimpleNamespace
from typing import Any

import yaml

from autoloader.report.snippets import snippets_of
from tests.report.fakes import config

SETTINGS = config(4, persistent_workers=True).dataloader_kwargs()


def test_each_place_has_its_text() -> None:
    """In a fixed order, with names of their own."""
    assert [(item.name, item.title) for item in snippets_of(SETTINGS, "a.yaml")] == [
        ("pytorch", "PyTorch"),
        ("yaml", "YAML"),
        ("load", "autoloader"),
    ]


def test_yaml_loads_to_the_settings() -> None:
    """Under the name that a recommendation has."""
    text = snippets_of(SETTINGS, "a.yaml")[1].text

    assert yaml.safe_load(text) == {"dataloader": SETTINGS}


def test_code_makes_a_loader_with_the_settings() -> None:
    """As it stands, where there is a dataset."""
    text = snippets_of(SETTINGS, "a.yaml")[0].text
    made: list[tuple[Any, dict[str, Any]]] = []

    code = text.replace("from torch.utils.data import DataLoader\n", "")
    names = {
        "DataLoader": lambda dataset, **settings: made.append((dataset, settings)),
        "dataset": SimpleNamespace(),
    }
    exec(code, names)  # noqa: S102  # what the test is of

    assert made == [(names["dataset"], SETTINGS)]

"""Configs that the user names as text or as a file."""

from pathlib import Path

import pytest

from autoloader.errors import UsageError
from autoloader.export.config_file import settings_text
from autoloader.values.config import LoaderConfig


def test_text_stays_as_it_is() -> None:
    """It is only checked."""
    assert settings_text("num_workers=4") == "num_workers=4"


@pytest.mark.parametrize("head", ["", "schema: 1\ndataloader:\n  "])
def test_a_file_gives_its_settings(tmp_path: Path, head: str) -> None:
    """By themselves, or under dataloader as in a recommendation."""
    file = tmp_path / "some.yaml"
    settings = ["num_workers: 4", "persistent_workers: true", "batch_size: 8"]
    between = "\n  " if head else "\n"
    file.write_text(head + between.join(settings) + "\n")

    config = LoaderConfig.parse(settings_text(str(file)), batch_size=64)

    assert config == LoaderConfig.canonical(
        num_workers=4, persistent_workers=True, batch_size=8
    )


def test_what_dataloader_kwargs_wrote_is_read_back(tmp_path: Path) -> None:
    """None and False included."""
    config = LoaderConfig(num_workers=0, batch_size=None)
    file = tmp_path / "some.yml"
    file.write_text(
        "num_workers: 0\nprefetch_factor: null\nbatch_size: null\npin_memory: false\n"
    )

    assert LoaderConfig.parse(settings_text(str(file)), batch_size=3) == config


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "- 1\n",
            "--config {file} holds no settings: a mapping is needed",
            "num_workers: 4, or the same under dataloader",
        ),
        (
            "dataloader: {}\n",
            "--config {file} holds no settings: a mapping is needed",
            "num_workers: 4, or the same under dataloader",
        ),
        (
            "a: [\n",
            "--config {file} is no YAML in line 2: expected the node content, but "
            "found '<stream end>'",
            None,
        ),
        (
            "num_workers: 1\nnum_workers: 2\n",
            "--config {file} is no YAML in line 2: the key 'num_workers' stands "
            "twice, first in line 1",
            None,
        ),
        (
            "num_workers: two\n",
            "{file}: num_workers must be a whole number, got 'two'",
            None,
        ),
        (
            "num_workers: [1, 2]\n",
            "{file}: num_workers must be a whole number, got '[1; 2]'",
            None,
        ),
        (
            "num_worker: 2\n",
            "{file}: a config is name=value with names num_workers, prefetch_factor, "
            "pin_memory, persistent_workers, batch_size, got 'num_worker=2'",
            "did you mean 'num_workers'?",
        ),
    ],
)
def test_a_file_without_settings_is_wrong_use(
    tmp_path: Path, text: str, message: str, hint: str | None
) -> None:
    """The file is named, and what is wrong with it."""
    file = tmp_path / "some.yaml"
    file.write_text(text)

    with pytest.raises(UsageError) as caught:
        settings_text(str(file))

    assert caught.value.message == message.format(file=file)
    assert caught.value.hint == hint


def test_a_file_that_is_not_there_is_wrong_use() -> None:
    """Both forms of a config are shown."""
    with pytest.raises(UsageError) as caught:
        settings_text("none.yaml")

    expected = "--config none.yaml cannot be read: No such file or directory"
    assert caught.value.message == expected
    assert caught.value.hint == "num_workers=4,prefetch_factor=2, or a file"


def test_an_empty_config_is_wrong_use() -> None:
    """It would mean PyTorch's default, which nobody wrote."""
    with pytest.raises(UsageError) as caught:
        settings_text(" ")

    assert caught.value.message == "--config is empty"
    assert caught.value.hint == "num_workers=4,prefetch_factor=2, or a file"

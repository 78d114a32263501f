"""Real text in pieces: made alike, tokenised alike, padded with masks."""

import re
import shutil
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader

from studies.making import StudyError
from studies.tokens import dataset as tokens
from studies.tokens.dataset import Passages, make_text
from tests.studies.reading import digests, equal, times


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Return two packages and a module, and tests that are no part of the text."""
    root = tmp_path / "sources"
    for name in ("json", "email", "test"):
        (root / name).mkdir(parents=True)
    (root / "json" / "encoder.py").write_text("def encode(value):\n    return 1\n" * 30)
    (root / "email" / "header.py").write_text("\tHeaderValue = 'grüße'\n")
    (root / "email" / "empty.py").touch()
    (root / "abc.py").write_text("x = 1\n")
    (root / "test" / "test_json.py").write_text("import json\n")
    (root / "json" / "notes.txt").write_text("no source\n")
    return root


@pytest.fixture
def root(sources: Path, tmp_path: Path) -> Path:
    """Return the folder of the made files."""
    make_text(tmp_path / "tokens", sources)
    return tmp_path / "tokens"


def decoded(dataset: Passages, index: int) -> str:
    """Return the text that an example's numbers stand for."""
    names = {number: piece for piece, number in dataset.numbers.items()}
    return "".join(names[number] for number in dataset[index]["input_ids"].tolist())


def test_text_is_made_alike_and_once(sources: Path, root: Path, tmp_path: Path) -> None:
    """Two makers write the same bytes, and a second start writes none."""
    before = times(root)

    assert make_text(tmp_path / "again", sources)
    assert not make_text(root, sources)

    assert digests(root) == digests(tmp_path / "again")
    assert times(root) == before


def test_text_does_not_depend_on_where_the_sources_lie(
    sources: Path, root: Path, tmp_path: Path
) -> None:
    """Paths of the machine are no part of it."""
    moved = tmp_path / "elsewhere" / "lib"
    shutil.copytree(sources, moved)

    make_text(tmp_path / "again", moved)

    assert digests(root) == digests(tmp_path / "again")


def test_passages_are_the_sources_in_order(root: Path) -> None:
    """Forty lines each, of every source but tests, and nothing is lost."""
    dataset = Passages(root)

    found = [decoded(dataset, index) for index in range(len(dataset))]

    assert found == [
        "x = 1\n",
        "\tHeaderValue = 'grüße'\n",
        "def encode(value):\n    return 1\n" * 20,
        "def encode(value):\n    return 1\n" * 10,
    ]
    assert [dataset[index]["label"] for index in range(4)] == [0, 1, 2, 2]


def test_a_long_passage_is_cut(sources: Path, tmp_path: Path) -> None:
    """No example has more than 512 pieces."""
    (sources / "abc.py").write_text("a b c d e f g h i j k l m n o p q r s\n" * 40)
    make_text(tmp_path / "tokens", sources)

    assert len(Passages(tmp_path / "tokens")[0]["input_ids"]) == 512


def test_a_piece_beyond_the_vocabulary_is_unknown(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The most frequent pieces have numbers, the others share one."""
    monkeypatch.setattr(tokens, "VOCABULARY", 4)

    make_text(tmp_path / "tokens", sources)
    dataset = Passages(tmp_path / "tokens")
    numbers = torch.cat([dataset[index]["input_ids"] for index in range(4)])

    assert len(dataset.numbers) == 2
    assert sorted(set(numbers.tolist())) == [tokens.UNKNOWN, 2, 3]


def test_batches_are_padded_with_masks(root: Path) -> None:
    """A mask is one where a piece is, and what it covers are the examples."""
    dataset = Passages(root)
    examples = [dataset[index] for index in range(len(dataset))]

    batch = tokens.collate(examples)

    lengths = batch["attention_mask"].sum(dim=1).tolist()
    assert lengths == [tokens.count(example) for example in examples]
    assert batch["input_ids"].shape == (4, max(lengths))
    for row, length, example in zip(batch["input_ids"], lengths, examples, strict=True):
        assert torch.equal(row[:length], example["input_ids"])
        assert (row[length:] == tokens.PADDING).all()
    assert batch["labels"].tolist() == [0, 1, 2, 2]


def test_workers_tokenise_as_one_process_does(root: Path) -> None:
    """Batches of two workers are those of none."""
    dataset = Passages(root)

    alone = list(DataLoader(dataset, batch_size=2, collate_fn=tokens.collate))
    shared = DataLoader(dataset, batch_size=2, num_workers=2, collate_fn=tokens.collate)

    assert equal(list(shared), alone)


def test_a_folder_without_sources_is_named(tmp_path: Path) -> None:
    """There is nothing to tokenise in an empty one, and nothing is made."""
    (tmp_path / "empty").mkdir()
    said = f"there are no Python sources in {tmp_path / 'empty'}"

    with pytest.raises(StudyError, match=f"^{re.escape(said)}$"):
        make_text(tmp_path / "tokens", tmp_path / "empty")

    assert not (tmp_path / "tokens").exists()

"""What the README and the manual show is what happens: their blocks are run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from autoloader.cli import build_parser
from autoloader.export.contract_file import read_contract
from tests.manual.blocks import BLOCKS, NOT_RUN, OUTPUTS, PAGES, ROOT, Block, blocks_of
from tests.manual.prepared import Prepared

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = 'def make_loader(root="photos"):'
"""First line of the block that a reader makes of a training script."""

CHANGED = "from autoloader import load"
"""First line of the block with the two changed lines."""

EASY = ("--target", "50")
"""What any config reaches, so that a recommendation is written within seconds."""


def block_of(page: str, first: str) -> Block:
    """Return the first block of a page that begins with a line."""
    return next(block for block in blocks_of(page) if block.name == (page, first))


def is_run(block: Block) -> bool:
    """Whether a block is executed here."""
    return block.name not in NOT_RUN and block.name not in OUTPUTS


RUN = [page for page in PAGES if any(map(is_run, blocks_of(page)))]
"""Pages that show something that is run."""

IN_PLACE = {("README.md", "pip install ."), ("README.md", SCRIPT)}
"""What the folder and its environment have already."""


def test_each_block_is_run_or_compared_or_there_is_a_reason() -> None:
    """And no table tells of a block that is gone."""
    unknown = [block.name for block in BLOCKS if is_run(block) and block.kind == "text"]

    assert unknown == []
    assert {*NOT_RUN, *OUTPUTS} <= {block.name for block in BLOCKS}
    assert not {*NOT_RUN} & {*OUTPUTS}


@pytest.mark.parametrize(
    "block",
    [block for block in BLOCKS if block.kind == "commands"],
    ids=lambda block: f"{block.page}:{block.line}",
)
def test_each_command_has_the_flags_that_are_shown(block: Block) -> None:
    """By the parser itself; what is run is run in other tests."""
    for words in block.commands:
        if words[0] == "autoloader":
            assert build_parser().parse_args(words[1:]).run
        else:
            assert words[:3] == ["pip", "install", "."] or (ROOT / words[0]).is_file()


def test_the_contract_that_is_shown_is_one(tmp_path: Path) -> None:
    """Read as `--contract` reads it."""
    block = block_of("contract.md", "schema: 1")
    path = tmp_path / "contract.yaml"
    path.write_text(block.text, encoding="utf-8")

    contract = read_contract(path)

    assert [field.path for field in contract.fields] == ["image", "label"]


def test_the_scope_that_is_explained_is_the_readmes() -> None:
    """Word by word."""
    (block,) = (
        item for item in blocks_of("scope.md") if item.text.startswith("1,600 of")
    )

    assert " ".join(block.text.split()) in " ".join(
        PAGES["README.md"].read_text().split()
    )


def follow(prepared: Prepared) -> str:
    """Go from a training script to its two changed lines; return what it prints."""
    before, after = block_of("README.md", SCRIPT), block_of("README.md", CHANGED)
    prepared.write_script(before)
    (command,) = (
        block
        for block in blocks_of("README.md")
        if block.text == "autoloader tune --dataset train.py:make_loader"
    )
    prepared.run(command, *EASY)
    loop = before.text[before.text.index("if __name__") :]
    prepared.write_script(
        Block(page="README.md", line=after.line, text=f"{after.text}\n\n{loop}")
    )
    return prepared.started([str(prepared.python), "-W", "error", "train.py"])


@pytest.mark.slow
def test_a_training_script_needs_two_changed_lines(tmp_path: Path) -> None:
    """As the README has it: the function, the command, the lines."""
    printed = follow(Prepared.in_folder(tmp_path / "work"))

    assert printed.splitlines() == ["trained on 64"] * 3
    assert (tmp_path / "work" / "autoloader.yaml").is_file()


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_the_readme_leads_from_a_clone_to_two_changed_lines(tmp_path: Path) -> None:
    """In a fresh environment, with nothing but what `pip install .` brings."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    (install,) = (
        words
        for block in blocks_of("README.md")
        for words in block.commands
        if words == ["pip", "install", "."]
    )
    subprocess.run(
        [
            *(str(venv / "bin" / install[0]), *install[1:]),
            *("--quiet", "--constraint", "scripts/constraints.txt"),
        ],
        cwd=ROOT,
        check=True,
    )

    printed = follow(Prepared.in_folder(tmp_path / "work", venv / "bin" / "python"))

    assert printed.splitlines() == ["trained on 64"] * 3
    assert (venv / "bin" / "autoloader").is_file()


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder as the pages assume it: tuned, verified one night, measured."""
    folder = tmp_path_factory.mktemp("manual") / "work"
    prepared = Prepared.in_folder(folder)
    prepared.write_script(block_of("README.md", SCRIPT))
    words = ["autoloader", "tune", "--dataset", "data.py:train", "--batch-size", "64"]
    tuned = prepared.command(words, *EASY)
    (folder / "tune.txt").write_text(tuned, encoding="utf-8")
    prepared.command(["autoloader", "retune", "autoloader.yaml"])
    (block, *_) = blocks_of("measure.md")
    (folder / "measure.txt").write_text("\n".join(prepared.run(block)))
    for name in ("before", "after", "a100", "h100"):
        shutil.copy(folder / "autoloader.yaml", folder / f"{name}.yaml")
    return folder


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", RUN)
def test_the_blocks_of_a_page_run_in_order(
    page: str, tuned: Path, tmp_path: Path
) -> None:
    """With small budgets, in a folder as the page assumes it."""
    folder = tmp_path / "work"
    shutil.copytree(tuned, folder)
    prepared = Prepared(folder=folder)

    for block in blocks_of(page):
        if is_run(block) and block.name not in IN_PLACE:
            prepared.run(block, *EASY)


NUMBER = re.compile(r"[\d.,]+")

LABEL = re.compile(r"^([a-z]+)  +\S", re.MULTILINE)


@pytest.mark.full
@pytest.mark.timeout(900)
def test_output_that_is_shown_is_what_is_printed(tuned: Path) -> None:
    """Labels, headings and sentences; numbers are a machine's."""
    prepared = Prepared(folder=tuned)
    watching = "for batch in autoloader.watch(loader):\n    step(batch)"
    watched = prepared.run(Block(page="python.md", line=1, text=watching))[0]
    real = {
        "tune": (tuned / "tune.txt").read_text(),
        "measure": (tuned / "measure.txt").read_text(),
        "watch": watched,
    }

    for name, command in OUTPUTS.items():
        text = block_of(*name).text
        if command == "watch":
            shown = [NUMBER.sub("N", line) for line in text.splitlines()]
            printed = [NUMBER.sub("N", line) for line in watched.splitlines()]
            assert shown == printed
            continue
        heading = next(line for line in text.splitlines() if "examples/s  " in line)
        assert " ".join(heading.split()) in " ".join(real[command].split())
        printed_labels = {*LABEL.findall(real[command])}
        assert {*LABEL.findall(text)} - MAY_BE_ABSENT <= printed_labels


MAY_BE_ABSENT = {
    "advice",
    "faster",
    "fastest",
    "limit",
    "speed",
    "prefetch",
    "target",
    "unknown",
    "why",
    "workers",
}
"""Labels of what one run has to say and another has not."""

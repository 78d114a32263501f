"""The blocks of code in the README and the manual, and what is to be done with each."""

from __future__ import annotations

import ast
import shlex
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Literal

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]

PAGES = {
    page.name: page
    for page in (ROOT / "README.md", *sorted((ROOT / "autoloader/docs").glob("*.md")))
}

PROGRAMS = {"autoloader", "pip"}
"""What a line of a block of commands begins with, beside scripts of this checkout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of a page."""

    page: str
    """File name."""
    line: int
    """Where it begins, from 1 on."""
    text: str

    @property
    def name(self) -> tuple[str, str]:
        """Page and first line: by these it is found in tables."""
        return self.page, self.text.split("\n", 1)[0]

    @property
    def kind(self) -> Literal["commands", "python", "text"]:
        """What it is; text is output, a file, a formula."""
        programs = [words[0] for words in self.commands]
        if all(name in PROGRAMS or name.startswith("scripts/") for name in programs):
            return "commands"
        try:
            tree = ast.parse(self.text)
        except SyntaxError:
            return "text"
        # a word or two in a line of their own are an expression to Python as well
        does = (ast.Import, ast.ImportFrom, ast.Assign, ast.For, ast.ClassDef)
        calls = any(isinstance(node, (*does, ast.Call)) for node in ast.walk(tree))
        return "python" if calls else "text"

    @property
    def commands(self) -> list[list[str]]:
        """The words of each line, comments left out, long lines put together."""
        lines = self.text.replace("\\\n", " ").splitlines()
        try:
            found = [shlex.split(line, comments=True) for line in lines]
        except ValueError:  # an apostrophe: it is text
            return [["text"]]
        return [words for words in found if words]


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page, in order."""
    text = PAGES[page].read_text(encoding="utf-8")
    return [
        Block(page=page, line=token.map[0] + 1, text=_dedented(token.content))
        for token in MarkdownIt("commonmark").parse(text)
        if token.type in ("code_block", "fence") and token.map
    ]


def _dedented(text: str) -> str:
    """Return a block as it is run; where it stands in a list, it is indented."""
    return dedent(text).strip("\n")


BLOCKS = [block for page in PAGES for block in blocks_of(page)]

OUTPUTS = {
    (
        "README.md",
        "Target met: 2 workers, prefetch 2, kept, batch 64 is the simplest of 4 raced",
    ): "tune",
    ("README.md", " " * 33 + "examples/s         vs A  steady     memory"): "measure",
    (
        "python.md",
        "autoloader: 29 batches, 1,808 examples of 1 epoch in 3.4 s: 59 % of "
        "the time the training waited for data",
    ): "watch",
}
"""What a command prints: compared with what it prints in fact."""

_ECOSYSTEM = "needs a framework that is not installed here: tests/ecosystem does this"

_DASHBOARD = "a server: a test of tests/ecosystem starts it"

_FLEET = "needs a server, or a folder of many machines: tests/integration/test_fleet.py"

NOT_RUN = {
    ("README.md", "optuna-dashboard .autoloader/*/optuna.log"): _DASHBOARD,
    ("report.md", "pip install optuna-dashboard"): _DASHBOARD,
    (
        "report.md",
        "figure = optuna.visualization.plot_optimization_history(study)",
    ): "draws with plotly, which the tests do not install",
    (
        "README.md",
        "autoloader tune --dataset mypackage.data:train_set --batch-size 64 --storage "
        "postgresql+psycopg://me@db/fleet",
    ): _FLEET,
    (
        "fleet.md",
        "autoloader tune --dataset train.py:dataset --batch-size 64 --out settings/ \\",
    ): _FLEET,
    ("fleet.md", "autoloader tune ... --storage /shared/fleet.journal"): _FLEET,
    ("fleet.md", "export FLEET=postgresql://me:...@db.cluster/fleet"): _FLEET,
    (
        "ranks.md",
        "autoloader tune --dataset mypackage.data:train_set --batch-size 64 --target "
        "4000 --ranks 4",
    ): "needs a machine for four: tests/integration/test_ranks.py runs both",
    ("ranks.md", "def __iter__(self):"): "a method: tests/ranked_datasets.py has it",
    (
        "recipes.md",
        'docker run --rm --cpus 8 --memory 32g --shm-size 8g -v "$PWD:/job" -w '
        "/job IMAGE \\",
    ): "needs Docker and an image of the reader's",
    ("README.md", "scripts/tune"): "makes .venv and 79 MB of photos: tests/studies has"
    " its parts",
    (
        "README.md",
        "scripts/test          # makes .venv, installs, then format, lint, "
        "types and the quick tests",
    ): "it runs these tests",
    ("accelerator.md", "scripts/accelerator_check"): "needs a GPU: tests/accelerator "
    "runs it on stand-ins",
    (
        "choice.md",
        "(num_workers, persistent_workers, pin_memory, prefetch_factor,",
    ): "a formula",
    ("contract.md", "schema: 1"): "a file, read in a test of its own",
    (
        "contract.md",
        "1 of 4 examples differs from the others: id 3: image is 1 x 16 x "
        "16, others are 3 x 16 x 16",
    ): "a sentence, compared in a test of its own",
    (
        "datasets.md",
        'if __name__ == "__main__":',
    ): "shows where what a script does goes",
    (
        "export.md",
        'arguments = TrainingArguments(output_dir="out", '
        '**load("autoloader.yaml").kwargs("transformers"))',
    ): _ECOSYSTEM,
    ("export.md", "autoloader tune --dataset train.py:make_trainer"): _ECOSYSTEM,
    (
        "export.md",
        "from autoloader.integrations.transformers import training_arguments",
    ): _ECOSYSTEM,
    (
        "export.md",
        "from autoloader.integrations.lightning import Recommended",
    ): _ECOSYSTEM,
    (
        "memory.md",
        "sum(PSS that maps no file) over host, trial and workers",
    ): "a formula",
    (
        "processes.md",
        "parent       the command; no torch, no CUDA; clock, deadline, files",
    ): "a drawing",
    (
        "scope.md",
        "1,600 of 1,600 examples, shuffled with seed 0; local files (ext4), "
        "decoded inside,",
    ): "the README's, compared in a test of its own",
}
"""Blocks that are neither run nor compared here, and why not."""

"""The house, read from the sources: what imports what, and what a file must have."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.imported import packages_in

ROOT = Path(__file__).parents[1]

PACKAGE = ROOT / "autoloader"

STOREYS: tuple[frozenset[str], ...] = (
    frozenset(
        {"autoloader", "__main__", "api", "cli", "commands", "options", "results"}
    ),
    frozenset(
        {
            "accelerating",
            "checking",
            "handover",
            "diagnosis",
            "fitting",
            "measuring",
            "opening",
            "pinning",
            "retuning",
            "retune_values",
            "searching",
            "sharing",
            "stepping",
            "tune_values",
            "tuning",
            "verifying",
            "watching",
        }
    ),
    frozenset({"report"}),
    frozenset({"integrations"}),
    frozenset({"export"}),
    frozenset({"trial"}),
    frozenset({"child"}),
    frozenset({"search"}),
    frozenset({"audit"}),
    frozenset({"measure"}),
    frozenset({"values"}),
    frozenset({"errors", "files", "units"}),
)
"""From top to bottom: a module imports from its own storey, and from those below."""

NOT_EVEN_DOWN = {
    ("child", "search"): "a trial's process does what it is told, and chooses nothing",
}
"""Imports that point down and are wrong all the same."""

FOR_TYPES_ONLY = {
    ("report", "measuring"): "a report names the result that it is handed",
    ("report", "retune_values"): "a report names the result that it is handed",
    ("report", "tune_values"): "a report names the result that it is handed",
}
"""Imports that point up, allowed under TYPE_CHECKING: nothing is loaded by them."""

SHARED_WITH_THE_PARENT = {
    "autoloader.child.failures",
    "autoloader.child.last_words",
    "autoloader.child.stages",
    "autoloader.child.wire",
}
"""Modules under `child` that the parent imports, so that they must stay light."""

TORCH_IS_THERE = (
    "autoloader.child.",
    "autoloader.export.frameworks.",
    "autoloader.integrations.",
)
"""Where torch may be imported: a child loads it, a training script has it loaded."""

MOST_LINES = 400

HEAVY = {"numpy", "optuna", "pandas", "torch"}
"""What makes a command slow to start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One name of a module that another imports."""

    importer: str
    imported: str
    line: int
    is_for_types: bool
    """Whether it stands under TYPE_CHECKING."""
    is_relative: bool = False

    def __str__(self) -> str:
        """Return where it stands and what it imports."""
        return f"{self.importer}:{self.line} imports {self.imported}"


def name_of(path: Path) -> str:
    """Return the dotted name of a module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}

TREES = {
    name: ast.parse(path.read_text(encoding="utf-8")) for name, path in SOURCES.items()
}


def types_only(tree: ast.Module) -> set[ast.AST]:
    """Return the nodes that stand under TYPE_CHECKING."""
    return {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for statement in block.body
        for node in ast.walk(statement)
    }


def imports_of(name: str) -> Iterator[Import]:
    """Return the modules that a module imports, at its head or within a function."""
    tree = TREES[name]
    for_types = types_only(tree)
    for node in ast.walk(tree):
        found: list[str] = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            found = [
                below if (below := f"{origin}.{alias.name}") in SOURCES else origin
                for alias in node.names
            ]
        for imported in found:
            yield Import(
                importer=name,
                imported=imported,
                line=getattr(node, "lineno", 0),
                is_for_types=node in for_types,
                is_relative=isinstance(node, ast.ImportFrom) and node.level > 0,
            )


IMPORTS = [found for name in SOURCES for found in imports_of(name)]


def part_of(module: str) -> str:
    """Return the part of the house that a module belongs to."""
    return module.split(".")[1] if "." in module else module


def storey_of(module: str) -> int:
    """Return the number of a module's storey, counted from the top."""
    part = part_of(module)
    return next(number for number, parts in enumerate(STOREYS) if part in parts)


def own_imports() -> list[Import]:
    """Return the imports of this package's own modules."""
    return [item for item in IMPORTS if item.imported.split(".")[0] == "autoloader"]


def test_every_part_has_its_storey() -> None:
    """A new part is put into the drawing before it is built."""
    drawn = frozenset().union(*STOREYS)

    assert {part_of(name) for name in SOURCES} <= drawn


def test_imports_point_down() -> None:
    """From the top of the list to its end, and within a storey."""
    upwards = [
        str(item)
        for item in own_imports()
        if storey_of(item.imported) < storey_of(item.importer)
        and not (
            item.is_for_types
            and (part_of(item.importer), part_of(item.imported)) in FOR_TYPES_ONLY
        )
    ]

    assert upwards == []


def test_what_must_not_be_imported_even_from_above_is_not() -> None:
    """The list of exceptions says why."""
    wrong = [
        str(item)
        for item in own_imports()
        if (part_of(item.importer), part_of(item.imported)) in NOT_EVEN_DOWN
    ]

    assert wrong == []


def test_no_two_modules_import_each_other() -> None:
    """Not over others either: what cannot be imported alone cannot be read alone."""
    below: dict[str, set[str]] = {name: set() for name in SOURCES}
    for item in own_imports():
        if not item.is_for_types and item.imported != item.importer:
            below[item.importer].add(item.imported)

    while free := [name for name, needs in below.items() if not needs & below.keys()]:
        for name in free:
            del below[name]

    assert below == {}


def test_the_parent_imports_nothing_heavy_of_the_child() -> None:
    """Only what parent and child share; the rest loads torch, as a trainer does."""
    wrong = [
        str(item)
        for item in own_imports()
        if part_of(item.imported) == "child"
        and item.imported not in SHARED_WITH_THE_PARENT
        and (
            part_of(item.importer) not in {"child", "integrations"}
            or item.importer in SHARED_WITH_THE_PARENT
        )
    ]

    assert wrong == []


def test_torch_is_imported_where_it_is_loaded_anyway() -> None:
    """In a child, and for a training script; never in the parent."""
    wrong = [
        str(item)
        for item in IMPORTS
        if item.imported.split(".")[0] == "torch"
        and not item.is_for_types
        and (
            not item.importer.startswith(TORCH_IS_THERE)
            or item.importer in SHARED_WITH_THE_PARENT
        )
    ]

    assert wrong == []


def test_optuna_is_imported_by_the_search_alone() -> None:
    """Another engine would be exchanged there."""
    wrong = [
        str(item)
        for item in IMPORTS
        if item.imported.split(".")[0] == "optuna"
        and not item.importer.startswith("autoloader.search.")
    ]

    assert wrong == []


def test_jinja_is_imported_where_pages_are_rendered() -> None:
    """Every other command does without it."""
    importers = {
        item.importer
        for item in IMPORTS
        if item.imported.split(".")[0] in {"jinja2", "markupsafe"}
    }

    assert importers == {"autoloader.report.html.rendering"}


def test_imports_are_absolute() -> None:
    """A module is named in full wherever it is named."""
    assert [str(item) for item in IMPORTS if item.is_relative] == []


@pytest.mark.parametrize("name", SOURCES)
def test_a_module_says_what_it_is_for(name: str) -> None:
    """In a docstring of at least one sentence."""
    docstring = ast.get_docstring(TREES[name])

    assert docstring is not None
    assert docstring.strip().split("\n\n")[0].endswith((".", ":", "`."))
    assert len(docstring.split()) > 2


@pytest.mark.parametrize("name", SOURCES)
def test_a_module_is_short_enough_to_be_read(name: str) -> None:
    """Before it has 400 lines it is split."""
    lines = SOURCES[name].read_text(encoding="utf-8").count("\n")

    assert lines <= MOST_LINES


def test_only_commands_and_reports_print() -> None:
    """Everything else returns values, or raises."""
    printing = [
        f"{name}:{node.lineno}"
        for name, tree in TREES.items()
        if part_of(name) not in {"commands", "report"}
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]

    assert printing == []


def listed(name: str) -> list[str] | None:
    """Return what a module's `__all__` lists, None where it has none."""
    for node in TREES[name].body:
        if isinstance(node, ast.Assign) and [
            target.id for target in node.targets if isinstance(target, ast.Name)
        ] == ["__all__"]:
            names = ast.literal_eval(node.value)
            return [str(item) for item in names]
    return None


def bound(name: str) -> set[str]:
    """Return the public names that a module binds at its head, and `__version__`."""
    names: set[str] = set()
    for node in TREES[name].body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {item.id for item in node.targets if isinstance(item, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return {item for item in names if item[0] != "_" or item == "__version__"}


def test_the_public_names_are_complete() -> None:
    """What `autoloader` binds is what it offers."""
    names = listed("autoloader")

    assert names is not None
    assert set(names) == bound("autoloader")


@pytest.mark.parametrize("name", [name for name in SOURCES if listed(name) is not None])
def test_public_names_are_sorted_and_there(name: str) -> None:
    """Constants, classes, functions, each by the alphabet, as ruff sorts them."""
    names = listed(name) or []

    assert names == sorted(
        names, key=lambda item: (not item.isupper(), not item[0].isupper(), item)
    )
    assert set(names) <= bound(name)


@pytest.mark.parametrize(
    "command",
    [
        ["-c", "import autoloader"],
        ["-c", "import autoloader.export.frameworks"],
        ["-m", "autoloader", "export", "tests/export/autoloader.yaml", "--to", "timm"],
        ["-m", "autoloader", "--help"],
        ["-m", "autoloader", "tune", "--help"],
        ["-m", "autoloader", "--version"],
    ],
)
def test_what_asks_for_nothing_heavy_loads_nothing_heavy(command: list[str]) -> None:
    """`import autoloader`, `--help` and `export` start at once."""
    found = subprocess.run(
        [sys.executable, "-X", "importtime", *command],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = packages_in(found.stderr)
    assert "autoloader" in loaded
    assert loaded & HEAVY == set()

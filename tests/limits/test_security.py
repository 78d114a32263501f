"""Nothing that is read runs code, nothing that is named steers a terminal."""

import ast
import io
import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from autoloader.child import host
from autoloader.cli import build_parser
from autoloader.commands import arguments
from autoloader.commands.study_file import flags_of
from autoloader.errors import AutoloaderError
from autoloader.export.config_file import settings_text
from autoloader.export.contract_file import read_contract
from autoloader.export.recommendation import load
from autoloader.report.console import print_check
from autoloader.trial import child
from tests.limits.hostile import SHOWN
from tests.limits.running import HERE, ROOT, SHORT_TUNE, Ran, after, run

UNSAFE = frozenset(
    {
        "__import__", "compile", "eval", "exec", "exec_module", "load_module",
        "importlib.import_module", "runpy.run_module", "runpy.run_path",
        "os.popen", "os.system", "tempfile.mktemp",
        "cloudpickle.load", "cloudpickle.loads", "dill.load", "dill.loads",
        "joblib.load", "marshal.load", "marshal.loads", "pandas.read_pickle",
        "pickle.Unpickler", "pickle.load", "pickle.loads", "shelve.open",
        "torch.hub", "torch.jit.load", "torch.load",
        "yaml.FullLoader", "yaml.Loader", "yaml.UnsafeLoader", "yaml.full_load",
        "yaml.full_load_all", "yaml.load", "yaml.load_all", "yaml.unsafe_load",
        "yaml.unsafe_load_all",
    }
)  # fmt: skip
"""What runs code that is only read, by whole name; methods by their last part."""

METHODS = frozenset({"exec_module", "load_module"})

EXCEPTIONS = {
    ("autoloader/api.py", "importlib.import_module"): "a module of this package",
    ("autoloader/report/cell.py", "importlib.import_module"): "IPython's display, in a "
    "notebook that has loaded it",
    ("autoloader/child/definitions.py", "pickle.load"): "what the user's own process "
    "defines, in a file that nobody else can write, and that lives as long as it runs",
    ("autoloader/child/live.py", "pickle.Unpickler"): "the same, of the live object",
    ("autoloader/child/live.py", "importlib.import_module"): "modules that it needs",
    ("autoloader/child/source.py", "exec_module"): "runs the file that the SPEC names",
    ("autoloader/child/source.py", "importlib.import_module"): "the SPEC's module",
    ("autoloader/measure/accelerator.py", "importlib.import_module"): "loads pynvml, "
    "by that name, where accelerators are asked for",
}
"""Why a use is safe, by file and name."""

ARRAYS = re.compile(r"(?:np|numpy)\.(?:load|save)")

STEERING = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f]"
)
"""All that moves a cursor, ends a line, or turns writing around, but a line's end."""

SOURCES = sorted((ROOT / "autoloader").rglob("*.py"))


def names_in(tree: ast.AST) -> Iterator[str]:
    """Yield the whole name of all that is named, under the name it has at home."""
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {item.asname: item.name for item in node.names if item.asname}
        elif isinstance(node, ast.ImportFrom):
            for item in node.names:
                whole = f"{node.module}.{item.name}"
                known[item.asname or item.name] = whole
                yield whole
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            first, dot, rest = ast.unparse(node).partition(".")
            yield f"{known.get(first, first)}{dot}{rest}"


def unsafe_in(tree: ast.AST) -> set[str]:
    """Return what of a source runs code that is only read, or reads it with pickle."""
    found = set()
    for name in names_in(tree):
        last = name.rpartition(".")[2]
        if name in UNSAFE or last in METHODS:
            found.add(last if last in METHODS else name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            given = {item.arg: ast.unparse(item.value) for item in node.keywords}
            called = ast.unparse(node.func)
            if ARRAYS.fullmatch(called) and given.get("allow_pickle") != "False":
                found.add(f"{called} with pickle")
            if given.get("shell") not in {None, "False"}:
                found.add(f"{called} in a shell")
    return found


def uses() -> set[tuple[str, str]]:
    """Return all unsafe names of the package, with the file that has them."""
    return {
        (str(path.relative_to(ROOT)), name)
        for path in SOURCES
        for name in unsafe_in(ast.parse(path.read_text(encoding="utf-8")))
    }


def test_nothing_stored_is_ever_run() -> None:
    """YAML by `safe_load`, arrays without pickle, no `eval`; each exception is told."""
    assert uses() == set(EXCEPTIONS)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import yaml\nyaml.load(text, yaml.SafeLoader)", {"yaml.load"}),
        ("import yaml as y\ny.full_load(text)", {"yaml.full_load"}),
        ("from pickle import loads as read\nread(data)", {"pickle.loads"}),
        ("import torch\nread = torch.load", {"torch.load"}),
        ("eval(text)", {"eval"}),
        ("spec.loader.exec_module(module)", {"exec_module"}),
        ("np.load(path)", {"np.load with pickle"}),
        ("np.save(path, x, allow_pickle=True)", {"np.save with pickle"}),
        ("subprocess.run(text, shell=True)", {"subprocess.run in a shell"}),
        ("import re, yaml\nre.compile(x)\nyaml.safe_load(x)\nmodel.eval()", set()),
        ("np.load(path, allow_pickle=False)\npickle.Pickler(file)", set()),
    ],
)
def test_what_runs_code_is_found_under_any_name(source: str, found: set[str]) -> None:
    """A rule that finds nothing keeps nothing out."""
    assert unsafe_in(ast.parse(source)) == found


def flags_of_study(path: Path) -> object:
    """Read a study file as `tune` does."""
    parsed = build_parser().parse_args(["tune", "--dataset", "x:y"])
    return flags_of(path, parsed.parser)


READERS: dict[str, Callable[[Path], object]] = {
    "recommendation": load,
    "study file": flags_of_study,
    "config": lambda path: settings_text(str(path)),
    "contract": read_contract,
}


@pytest.mark.parametrize("reader", READERS)
def test_a_yaml_file_that_asks_for_code_is_refused(reader: str, tmp_path: Path) -> None:
    """It is named, and nothing of it is run."""
    path, made = tmp_path / "asks.yaml", tmp_path / "made"
    path.write_text(f"dataset: !!python/object/apply:os.mkdir [{str(made)!r}]\n")

    with pytest.raises(AutoloaderError) as caught:
        READERS[reader](path)

    assert f"{path} is no YAML" in caught.value.message
    assert not made.exists()


def test_an_argument_that_asks_for_code_stays_text(tmp_path: Path) -> None:
    """`--arg` knows numbers, lists and words."""
    made = tmp_path / "made"
    text = f"!!python/object/apply:os.mkdir [{str(made)!r}]"

    found = arguments._argument(f"root={text}")

    assert found == ("root", text)
    assert not made.exists()


@pytest.mark.parametrize("name", ["stdout.txt", "stderr.txt"])
def test_a_log_is_never_written_through_a_link(name: str, tmp_path: Path) -> None:
    """Neither by the process of a trial, nor by the one that starts it."""
    own, logs = tmp_path / "own.txt", tmp_path / "logs"
    own.write_text("of the user's")
    logs.mkdir()
    (logs / name).symlink_to(own)

    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        child._log(logs / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "dup2", lambda file, descriptor: None)
        with pytest.raises(OSError, match="Too many levels of symbolic links"):
            host._redirect(logs)

    assert own.read_text() == "of the user's"


def test_a_log_is_its_owners_alone(tmp_path: Path) -> None:
    """Whatever the umask lets others do."""
    before = os.umask(0)
    try:
        child._log(tmp_path / "stderr.txt").close()
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "stderr.txt").stat().st_mode) == 0o600


def assert_tame(*texts: str) -> None:
    """Check that nothing of it steers a terminal."""
    for text in texts:
        assert STEERING.search(text) is None, repr(text)


def shown_to_people(ran: Ran) -> str:
    """Return what a check would have printed without `--json`."""
    stream = io.StringIO()
    print_check(ran.result, stream)
    return stream.getvalue()


def is_private(path: Path, root: Path) -> bool:
    """Whether a folder between the file and the root lets its owner in alone."""
    below = [folder for folder in path.parents if root in folder.parents]
    return any(stat.S_IMODE(item.stat().st_mode) == 0o700 for item in below)


@pytest.mark.slow
def test_names_in_a_dataset_steer_no_terminal_and_logs_are_private(
    tmp_path: Path,
) -> None:
    """Class, field and exception, in text and JSON; with a umask that hides nothing."""
    ran = run(
        "check", "--dataset", f"{HERE / 'hostile.py'}:named", "--batch-size", "8",
        "--config", "num_workers=1", "--config", "num_workers=2", "--json",
        folder=tmp_path, prefix=after("umask 0"),
    )  # fmt: skip

    assert ran.code == 1
    raised, changed = ran.result["runs"]
    assert raised["failure"]["exception"] == "ValueError"
    assert [item["code"] for item in changed["findings"]] == ["content_mismatch"]
    shown = shown_to_people(ran)
    assert SHOWN in shown
    assert_tame(ran.out, ran.err, shown)
    root = tmp_path / ".autoloader"
    files = [path for path in root.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if not is_private(path, root)] == []


@pytest.mark.full
def test_ids_of_a_dataset_steer_no_terminal(tmp_path: Path) -> None:
    """A missing one is named in a finding."""
    ran = run(
        "check", "--dataset", f"{HERE / 'hostile.py'}:stream", "--batch-size", "8",
        "--config", "num_workers=1", "--id", "id", "--json", folder=tmp_path,
    )  # fmt: skip

    assert [item["code"] for item in ran.result["findings"]] == ["missing_ids"]
    shown = shown_to_people(ran)
    assert SHOWN in shown
    assert_tame(ran.out, ran.err, shown)


@pytest.mark.full
def test_names_in_a_dataset_steer_no_terminal_of_a_tune(tmp_path: Path) -> None:
    """Progress, report, and the file, which is read again as it was written."""
    ran = run(
        "tune", "--dataset", f"{HERE / 'hostile.py'}:honest", *SHORT_TUNE,
        "--out", "found.yaml", "--best-effort", folder=tmp_path,
    )  # fmt: skip

    assert ran.code in {0, 4, 6}, ran.err
    text = (tmp_path / "found.yaml").read_text(encoding="utf-8")
    assert_tame(ran.out, ran.err, text)
    assert load(tmp_path / "found.yaml").data == yaml.safe_load(text)


@pytest.mark.full
def test_names_in_a_dataset_steer_no_terminal_of_a_measuring(tmp_path: Path) -> None:
    """In text and in JSON."""
    command = (
        "measure", "--dataset", f"{HERE / 'hostile.py'}:honest", "--batch-size", "8",
        "--config", "num_workers=0", "--config", "num_workers=1", "--rounds", "3",
    )  # fmt: skip

    shown, told = (
        run(*command, folder=tmp_path),
        run(*command, "--json", folder=tmp_path),
    )

    assert shown.code in {0, 6}, shown.err
    assert_tame(shown.out, shown.err, told.out, told.err)
    assert json.loads(told.out)["dataset"]

"""A SPEC becomes a dataset, or an error that says whose fault it is and the way out."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from autoloader.child.source import load_source
from autoloader.errors import AutoloaderError, DatasetError, UsageError
from autoloader.values.scope import SourceSpec

GUARD = (
    'put what the script does under `if __name__ == "__main__":`, '
    "so that importing it only defines things"
)

NO_DATASET = (
    "a Dataset has __getitem__ and __len__, or is an IterableDataset; "
    "a DataLoader or a function giving one does too"
)

MODULE = """\
from functools import partial
from types import SimpleNamespace

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

class Numbers(Dataset):
    def __init__(self, count=3, *, scale=1):
        self.count, self.scale = count, scale
    def __len__(self):
        return self.count
    def __getitem__(self, index):
        return index * self.scale

class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(3))

class Needy(Numbers):
    def __init__(self, root, split):
        super().__init__()

class Fails(Numbers):
    def __init__(self):
        raise FileNotFoundError("no photos in /data")

class Unsized(Dataset):
    def __getitem__(self, index):
        return index

class BadLength(Numbers):
    def __len__(self):
        raise RuntimeError("the index is not built")

class Factory:
    def __call__(self):
        return Numbers(5)

class Counting(Numbers):
    def __init__(self):
        super().__init__(sum(1 for _ in DataLoader(Numbers(4), batch_size=2)))

def make(count=2, **options):
    return Numbers(count, **options)

def loader():
    return DataLoader(Numbers(), batch_size=2)

def train():
    weight = torch.ones(1, requires_grad=True)
    weight.sum().backward()

def leave():
    raise SystemExit("bye")

def splits():
    return Numbers(), Numbers()

def refuses_number():
    return 42

def letters(*args, **kwargs):
    return list("abc")

train_set = Numbers(7)
a_loader = DataLoader(Numbers(), batch_size=2)
a_stream_loader = DataLoader(Stream(), batch_size=2)
nested = SimpleNamespace(deep=SimpleNamespace(data=Numbers(9)))
factory = Factory()
half = partial(Numbers, count=4)
pairs = [(1, 2), (3, 4)]
tensor = torch.arange(5)
table = {"a": 1}
empty = []
number = 42
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in a folder with a module, and forget what was imported afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    (tmp_path / "mydata.py").write_text(MODULE, encoding="utf-8")
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def load(spec: str, **arguments: Any) -> Any:
    """Return what a SPEC names."""
    return load_source(SourceSpec(spec=spec, arguments=tuple(arguments.items())))


def error_of(spec: str, **arguments: Any) -> AutoloaderError:
    """Return the error that a SPEC ends in."""
    with pytest.raises(AutoloaderError) as caught:
        load(spec, **arguments)
    return caught.value


def write(here: Path) -> Callable[[str, str], None]:
    """Return what writes a file of code."""

    def file(name: str, code: str) -> None:
        path = here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code, encoding="utf-8")

    return file


@pytest.mark.parametrize(
    ("spec", "length"),
    [
        ("mydata:train_set", 7),
        ("mydata.py:train_set", 7),
        ("./mydata.py:train_set", 7),
        ("mydata:Numbers", 3),
        ("mydata:make", 2),
        ("mydata:factory", 5),
        ("mydata:half", 4),
        ("mydata:nested.deep.data", 9),
        ("mydata:pairs", 2),
        ("mydata:tensor", 5),
        ("mydata:letters", 3),
        ("mydata:Counting", 2),
    ],
)
def test_what_can_feed_a_loader_is_found(spec: str, length: int) -> None:
    """Objects, classes, functions, callable objects, by module or by path."""
    assert len(load(spec)) == length


@pytest.mark.parametrize("spec", ["mydata:a_loader", "mydata:loader"])
def test_a_loader_is_given_as_it_is(spec: str) -> None:
    """Its settings are the baseline, so that it is not taken apart here."""
    found = load(spec)

    assert isinstance(found, DataLoader)
    assert found.batch_size == 2


@pytest.mark.parametrize("spec", ["mydata:Stream", "mydata:a_stream_loader"])
def test_a_stream_has_no_length_to_check(spec: str) -> None:
    """Whether it is supported is decided elsewhere."""
    assert load(spec) is not None


def test_arguments_reach_a_class_or_function() -> None:
    """Named ones, and those that it takes as keywords."""
    assert len(load("mydata:Numbers", count=11)) == 11
    assert load("mydata:make", count=4, scale=10)[2] == 20


def test_an_absolute_path_works_from_anywhere(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The file's folder is searched, so that it can import its neighbours."""
    write(here)("neighbour.py", "SIZE = 6\n")
    write(here)(
        "sized.py",
        "import neighbour\ndata = list(range(neighbour.SIZE))\n",
    )
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))

    assert len(load(f"{here / 'sized.py'}:data")) == 6


def test_a_module_of_a_package_is_found(here: Path) -> None:
    """The working folder is searched first."""
    write(here)("pkg/__init__.py", "")
    write(here)("pkg/data.py", "data = [1, 2]\n")

    assert load("pkg.data:data") == [1, 2]


def test_two_files_of_the_same_name_are_told_apart(here: Path) -> None:
    """The second does not give what the first had."""
    for folder, value in (("one", 1), ("two", 2), ("three", 3)):
        write(here)(f"{folder}/same.py", f"data = [{value}]\n")

    found = [load(f"{folder}/same.py:data") for folder in ("one", "two", "three")]

    assert found == [[1], [2], [3]]
    assert sys.modules["same"].data == [1]


@pytest.mark.parametrize("name", ["my-data", "2nd", "my.data", "größe", "json"])
def test_a_file_needs_no_name_that_could_be_imported(here: Path, name: str) -> None:
    """People name scripts as they like, and like modules that are loaded already."""
    write(here)(f"{name}.py", "class Data(list):\n    pass\ndata = Data([1])\n")

    found = load(f"{name}.py:data")

    module = sys.modules[type(found).__module__]
    assert found == [1]
    assert type(found) is module.Data
    assert type(found).__module__.isidentifier()


@pytest.mark.parametrize("spec", ["mydata", "mydata:", ":train_set", "", ":", ".a:b"])
def test_a_spec_of_another_form_is_refused(spec: str) -> None:
    """The form is shown, with an example."""
    error = error_of(spec)

    assert isinstance(error, UsageError)
    assert str(error) == (
        f"--dataset is module:attribute or file.py:attribute, got {spec!r}"
    )
    assert error.hint == "for example --dataset mypackage.data:train_set"


def test_a_missing_module_is_refused_with_the_closest_one() -> None:
    """Files of the working folder are known."""
    error = error_of("mydate:train_set")

    assert isinstance(error, UsageError)
    assert str(error) == "no module named 'mydate' for --dataset mydate"
    assert error.hint == "did you mean 'mydata'?"


def test_a_missing_module_that_is_like_none_says_where_modules_are_looked_for(
    here: Path,
) -> None:
    """The working folder is often the wrong one."""
    error = error_of("qqqq.zzzz:train_set")

    assert str(error) == "no module named 'qqqq' for --dataset qqqq.zzzz"
    assert error.hint == (
        f"modules are looked for in {here} and in the installed packages"
    )


def test_a_file_named_without_its_ending_is_recognised(here: Path) -> None:
    """A path is no module's name."""
    write(here)("sub/train.py", "data = [1]\n")

    error = error_of("sub/train:data")

    assert str(error) == "no module named 'sub/train' for --dataset sub/train"
    assert error.hint == "a file is named with its ending: sub/train.py:attribute"


def test_a_missing_submodule_is_no_missing_package(here: Path) -> None:
    """The part that is missing is named."""
    write(here)("pkg/__init__.py", "")

    error = error_of("pkg.nothing:data")

    assert isinstance(error, UsageError)
    assert str(error) == "no module named 'pkg.nothing' for --dataset pkg.nothing"


def test_a_missing_file_is_refused_with_the_closest_one(here: Path) -> None:
    """Files beside it are known."""
    error = error_of("mydat.py:train_set")

    assert isinstance(error, UsageError)
    assert str(error) == f"there is no file {here / 'mydat.py'}"
    assert error.hint == "did you mean 'mydata.py'?"


@pytest.mark.parametrize("spec", ["uses.py:data", "uses:data", "missing_it.py:data"])
def test_a_package_that_the_module_misses_is_the_datasets_fault(
    here: Path, spec: str
) -> None:
    """The module itself is there; what it imports is not."""
    name = spec.partition(":")[0]
    write(here)(f"{name.removesuffix('.py')}.py", "import missing_it_not\n")

    error = error_of(spec)

    assert isinstance(error, DatasetError)
    assert str(error) == (
        f"{name} cannot be imported: "
        "ModuleNotFoundError: No module named 'missing_it_not'"
    )
    assert error.hint == "pip install what provides 'missing_it_not'"


def test_a_name_that_another_module_lacks_is_the_datasets_fault(here: Path) -> None:
    """That is no missing package."""
    write(here)("uses.py", "from mydata import nothing\n")

    error = error_of("uses:data")

    assert isinstance(error, DatasetError)
    assert str(error).startswith(
        "uses cannot be imported: ImportError: cannot import name 'nothing' from"
    )
    assert error.hint is None


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
        ("raise ModuleNotFoundError\n", "ModuleNotFoundError"),
        ("def broken(:\n", "SyntaxError: invalid syntax (fails.py, line 1)"),
    ],
)
def test_a_module_that_raises_is_the_datasets_fault(
    here: Path, code: str, words: str
) -> None:
    """Type and words of the exception are passed on, and nothing half made stays."""
    write(here)("fails.py", code)

    error = error_of("fails.py:data")

    assert isinstance(error, DatasetError)
    assert str(error) == f"fails.py cannot be imported: {words}"
    assert error.hint is None
    assert "fails" not in sys.modules


@pytest.mark.parametrize("name", ["trains.py", "trains"])
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "for batch in DataLoader(list(range(9))):\n    pass\n",
            "iterates a DataLoader when it is imported",
        ),
        (
            "try:\n    next(iter(DataLoader(list(range(9)))))\nexcept Exception:\n"
            "    pass\n",
            "iterates a DataLoader when it is imported",
        ),
        (
            "torch.ones(1, requires_grad=True).sum().backward()\n",
            "calls backward() when it is imported",
        ),
        ("import sys\nsys.exit()\n", "ends the program when it is imported (exit 0)"),
        ("raise SystemExit(3)\n", "ends the program when it is imported (exit 3)"),
        (
            "import argparse\nparser = argparse.ArgumentParser()\n"
            "parser.add_argument('root')\nparser.parse_args()\n",
            "ends the program when it is imported (exit 2)",
        ),
    ],
)
def test_a_script_that_works_on_import_is_named_and_the_guard_shown(
    here: Path, name: str, code: str, words: str
) -> None:
    """It is stopped before it trains, and nothing of the stopping stays."""
    iterate, backward = DataLoader.__iter__, torch.autograd.backward
    write(here)(
        "trains.py", f"import torch\nfrom torch.utils.data import DataLoader\n{code}"
    )

    error = error_of(f"{name}:data")

    assert isinstance(error, UsageError)
    assert str(error) == f"{name} {words}"
    assert error.hint == GUARD
    assert (DataLoader.__iter__, torch.autograd.backward) == (iterate, backward)


def test_a_script_that_reads_optional_flags_on_import_gets_none(here: Path) -> None:
    """It sees its own name and no flags of ours; ours are back afterwards."""
    write(here)(
        "flags.py",
        "import argparse, sys\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--size', type=int, default=2)\n"
        "data = [sys.argv] * parser.parse_args().size\n",
    )
    before = [*sys.argv]

    found = load("flags.py:data")

    assert found == [["flags.py"], ["flags.py"]]
    assert sys.argv == before


def test_a_guarded_script_is_no_matter(here: Path) -> None:
    """What stands under the guard does not run."""
    write(here)("guarded.py", "data = [1]\nif __name__ == '__main__':\n    1 / 0\n")

    assert load("guarded.py:data") == [1]


def test_a_missing_attribute_is_refused_with_the_closest_one() -> None:
    """Names of the module are known."""
    error = error_of("mydata:train_sets")

    assert isinstance(error, UsageError)
    assert str(error) == "mydata has no attribute 'train_sets'"
    assert error.hint == "did you mean 'train_set'?"


def test_a_missing_attribute_that_is_like_none_says_what_there_is() -> None:
    """What the module defines itself is listed."""
    error = error_of("mydata:qqqq")

    assert str(error) == "mydata has no attribute 'qqqq'"
    assert error.hint == (
        "it defines BadLength, Counting, Factory, Fails, Needy, Numbers, Stream, "
        "Unsized"
    )


def test_a_missing_attribute_of_an_empty_module_has_no_hint(here: Path) -> None:
    """There is nothing to propose."""
    write(here)("bare.py", "")

    assert error_of("bare:qqqq").hint is None


def test_a_missing_attribute_below_another_is_named_whole() -> None:
    """The path is said as it was given."""
    error = error_of("mydata:nested.deep.date")

    assert str(error) == "mydata has no attribute 'nested.deep.date'"
    assert error.hint == "did you mean 'data'?"


def test_an_attribute_that_raises_is_the_datasets_fault(here: Path) -> None:
    """A module may make its attributes when they are asked for."""
    write(here)("lazy.py", "def __getattr__(name):\n    raise OSError('no disk')\n")

    error = error_of("lazy:data")

    assert isinstance(error, DatasetError)
    assert str(error) == "lazy:data cannot be looked up: OSError: no disk"


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("mydata:number", "an int"),
        ("mydata:table", "a dict"),
        ("mydata:refuses_number", "an int"),
        ("mydata:Unsized", "an Unsized"),
        ("mydata:torch", "a module"),
    ],
)
def test_what_is_no_dataset_is_refused(spec: str, kind: str) -> None:
    """What a dataset has is said."""
    error = error_of(spec)

    assert isinstance(error, UsageError)
    assert str(error) == f"{spec} is {kind}, which is no dataset"
    assert error.hint == NO_DATASET


def test_a_pair_of_datasets_is_refused() -> None:
    """Train and test together look like a dataset of two examples."""
    error = error_of("mydata:splits")

    assert isinstance(error, UsageError)
    assert str(error) == "mydata:splits is a tuple of datasets, and one is needed"
    assert error.hint == "write a function that returns the one, and name it"


def test_an_empty_dataset_is_refused() -> None:
    """Nothing can be measured with it."""
    error = error_of("mydata:empty")

    assert isinstance(error, UsageError)
    assert str(error) == "mydata:empty is empty: len() is 0"
    assert error.hint == "check the path or the split that it reads"


def test_a_length_that_raises_is_the_datasets_fault() -> None:
    """Type and words of the exception are passed on."""
    error = error_of("mydata:BadLength")

    assert isinstance(error, DatasetError)
    assert str(error) == (
        "len(mydata:BadLength) raises RuntimeError: the index is not built"
    )


def test_a_class_that_needs_arguments_says_which() -> None:
    """All of them stand in the hint."""
    error = error_of("mydata:Needy")

    assert isinstance(error, UsageError)
    assert str(error) == "mydata:Needy needs the argument 'root'"
    assert error.hint == "give it: --arg root=VALUE --arg split=VALUE"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("counts", "did you mean 'count'?"), ("qqqq", "it takes count, scale")],
)
def test_an_unknown_argument_is_refused(name: str, hint: str) -> None:
    """The known ones are proposed."""
    error = error_of("mydata:Numbers", **{name: 1})

    assert isinstance(error, UsageError)
    assert str(error) == f"mydata:Numbers takes no argument {name!r}"
    assert error.hint == hint


def test_an_argument_where_none_is_taken_is_refused() -> None:
    """A function without parameters says so."""
    error = error_of("mydata:loader", size=1)

    assert str(error) == "mydata:loader takes no argument 'size'"
    assert error.hint == "it takes none"


@pytest.mark.parametrize(
    ("spec", "kind"),
    [("mydata:train_set", "a Numbers"), ("mydata:a_loader", "a DataLoader")],
)
def test_an_argument_for_a_finished_object_is_refused(spec: str, kind: str) -> None:
    """It cannot be given any more."""
    error = error_of(spec, count=1)

    assert isinstance(error, UsageError)
    assert str(error) == f"{spec} is {kind} and takes no --arg"
    assert error.hint == "a class or a function takes arguments"


def test_a_constructor_that_raises_is_the_datasets_fault() -> None:
    """Type and words of the exception are passed on."""
    error = error_of("mydata:Fails")

    assert isinstance(error, DatasetError)
    assert str(error) == (
        "mydata:Fails cannot be constructed: FileNotFoundError: no photos in /data"
    )


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("mydata:train", "calls backward() when it is called"),
        ("mydata:leave", "ends the program when it is called (exit bye)"),
    ],
)
def test_a_function_that_trains_is_no_dataset(spec: str, words: str) -> None:
    """The training function is easily named by mistake."""
    error = error_of(spec)

    assert isinstance(error, UsageError)
    assert str(error) == f"{spec} {words}"

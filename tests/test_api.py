"""`autoloader.tune`, `check` and `measure` ask for what the commands do."""

import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import autoloader
from autoloader import handover
from autoloader.commands import check as check_command
from autoloader.commands import measure as measure_command
from autoloader.commands import tune as tune_command
from autoloader.errors import UsageError
from autoloader.results import Checked, Tuned
from autoloader.values.job import CHILD_VARIABLE
from autoloader.values.scope import SourceSpec
from autoloader.values.target import Target
from tests.datasets import Honest
from tests.report.fakes import config, result

FOUND = result({config(2): 1000.0}, target=Target(share_of_best=0.95), sources={})


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.py").touch()
    return tmp_path


Seen = list[tuple[Namespace, Any]]


@pytest.fixture
def tuned(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Return what tunes are asked for; none is run."""
    seen: Seen = []

    def result_of(args: Namespace, request: Any) -> Any:
        seen.append((args, request))
        return FOUND

    monkeypatch.setattr(tune_command, "result_of", result_of)
    return seen


@pytest.mark.usefixtures("here")
def test_a_spec_is_taken_as_the_command_takes_it(tuned: Seen) -> None:
    """With arguments as they are."""
    found = autoloader.tune(
        "data.py:train", batch_size=[8, 16], budget="1m", arg={"root": "/data"}
    )

    ((_args, request),) = tuned
    assert request["source"] == SourceSpec(
        spec="data.py:train", arguments=(("root", "/data"),)
    )
    assert request["space"].batch_size == (8, 16)
    assert request["budget_s"] == 60.0
    assert found.result is FOUND


@pytest.mark.usefixtures("here")
def test_an_object_is_there_while_it_is_read_and_has_a_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The name is what people read; the file is gone when all is done."""
    paths: list[Path] = []

    def result_of(args: Namespace, request: Any) -> Any:
        source = request.source
        assert source.spec == "tests.datasets.Honest object"
        assert source.live is not None
        paths.append(Path(source.live.file))
        assert paths[0].is_file()
        return FOUND

    monkeypatch.setattr(measure_command, "result_of", result_of)

    autoloader.measure(Honest(), config={"num_workers": 1})

    assert not paths[0].exists()


@pytest.mark.usefixtures("here")
def test_a_loader_that_is_watched_is_the_loader(tuned: Seen) -> None:
    """Who watches a training tunes what it read."""
    autoloader.tune(autoloader.watch([1, 2, 3], quiet=True))

    ((_args, request),) = tuned
    assert request["source"].spec == "builtins.list object"


@pytest.mark.parametrize(
    "call",
    [
        lambda **options: autoloader.tune(Honest(), **options),
        lambda **options: autoloader.check(Honest(), **options),
        lambda **options: autoloader.measure(Honest(), **options),
    ],
    ids=["tune", "check", "measure"],
)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "--batch-size must be a whole number of at least 1, got "),
        ({"allow": "no_code"}, "--allow no_code is no finding code"),
        ({"hang_after": "soon"}, "a duration such as 90s, 3m or 1h30m is needed, got "),
        ({"nosuch": 1}, "() has no argument 'nosuch'"),
    ],
)
@pytest.mark.usefixtures("here")
def test_wrong_options_are_told_before_anything_is_pickled(
    call: Callable[..., object],
    options: dict[str, object],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the words of the command."""

    def never(_found: object) -> None:
        pytest.fail("it was pickled")

    monkeypatch.setattr(handover, "handed_over", never)

    with pytest.raises(UsageError) as caught:
        call(**options)

    assert message in caught.value.message


@pytest.mark.usefixtures("here")
def test_a_target_that_cannot_be_met_is_told_at_once() -> None:
    """As the command tells it, and a file that cannot be written."""
    with pytest.raises(UsageError) as target:
        autoloader.tune(Honest(), target="step")
    with pytest.raises(UsageError) as out:
        autoloader.tune(Honest(), out="none/autoloader.yaml")
    with pytest.raises(UsageError) as contract:
        autoloader.check(Honest(), write_contract="none/contract.yaml")

    assert target.value.message == (
        "--target step needs the training step, and there is no --step"
    )
    assert out.value.message.startswith("--out none/autoloader.yaml cannot be written")
    assert contract.value.message.startswith(
        "--write-contract none/contract.yaml cannot be written"
    )


@pytest.mark.parametrize("dataset", [None, 3, {"a": 1}])
@pytest.mark.usefixtures("here")
def test_what_can_be_no_dataset_is_told_at_once(dataset: object) -> None:
    """A path that was read to nothing, say."""
    with pytest.raises(UsageError) as caught:
        autoloader.check(dataset)

    assert caught.value.message == f"check() needs a dataset, got {dataset!r}"
    assert caught.value.hint == (
        "a Dataset, a DataLoader, a function giving one, or its SPEC"
    )


@pytest.mark.usefixtures("here")
def test_a_spec_that_names_nothing_is_told_at_once() -> None:
    """By the rule of `--dataset`."""
    with pytest.raises(UsageError) as caught:
        autoloader.tune("photos")

    assert caught.value.message == (
        "--dataset needs module:attribute or path/file.py:attribute, got 'photos'"
    )


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.usefixtures("here")
def test_what_is_large_to_hand_over_is_told_with_its_size(
    quiet: bool,
    tuned: Seen,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each process reads it."""
    monkeypatch.setattr(handover, "LARGE_BYTES", 10)

    autoloader.tune([1, 2, 3], quiet=quiet)

    size = tuned[0][1]["source"].live.size_bytes
    assert capsys.readouterr().err == (
        ""
        if quiet
        else f"caution: {size} B of builtins.list object are handed to each process "
        "that is started (a function that makes it is handed over as a few bytes)\n"
    )


@pytest.mark.usefixtures("here", "tuned")
def test_a_result_is_read_by_people_and_by_notebooks() -> None:
    """It is the report of the command."""
    found = autoloader.tune([1, 2, 3])

    assert isinstance(found, Tuned)
    assert found.state == "met"
    assert found.recommendation is FOUND.recommendation
    assert found.written == Path("autoloader.yaml")
    assert str(found).startswith("Target met: 2 workers")
    assert "autoloader.watch(loader) in a training prints the --target" in str(found)
    assert found._repr_html_().startswith("<pre>Target met: ")
    assert "&quot;autoloader.yaml&quot;" in found._repr_html_()
    assert found.to_dict()["state"] == "met"


@pytest.mark.usefixtures("here")
def test_a_check_returns_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its request is that of the command."""
    seen: list[Any] = []

    def result_of(args: Namespace, request: Any) -> Any:
        seen.append(request)
        return "what was found"

    monkeypatch.setattr(check_command, "result_of", result_of)

    found = autoloader.check("data.py:train", config="num_workers=3", label="1")

    assert found == Checked("what was found")  # type: ignore[arg-type]  # a stand-in
    assert seen[0].configs == ("num_workers=3",)
    assert seen[0].scope.label == "1"


@pytest.mark.parametrize(
    "first",
    ["import autoloader", "from autoloader.measure.machine import read_machine"],
)
def test_measure_is_the_function_whatever_is_imported_first(first: str) -> None:
    """A package of ours has the same name."""
    code = (
        f"{first}\n"
        "import autoloader\n"
        "from autoloader.measure.load import __doc__\n"
        "from autoloader.measure import noise\n"
        "assert callable(autoloader.measure), autoloader.measure\n"
        "assert noise.__name__ == 'autoloader.measure.noise'\n"
    )

    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_script_that_calls_itself_is_told_to_have_a_guard(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that imports it would ask for children of its own, and so on."""
    monkeypatch.setenv(CHILD_VARIABLE, "1")

    with pytest.raises(UsageError) as caught:
        autoloader.check("data.py:train")

    assert caught.value.message == (
        "check() is called while a process of its own imports the script"
    )
    assert caught.value.hint == (
        'put the call under `if __name__ == "__main__":`, or give the dataset itself '
        "instead of its SPEC"
    )


class Trains:
    """A step that is made once."""

    def __call__(self, batch: Any) -> None:
        """Take a batch."""


def count(example: Any) -> int:
    """Count one."""
    return 1


@pytest.mark.usefixtures("here")
def test_a_step_and_what_is_counted_may_be_functions_themselves(tuned: Seen) -> None:
    """They have names for people, and files for children while it runs."""
    autoloader.tune(
        "data.py:train", step=Trains, target="step", unit={"a": count, "b": "data.py:b"}
    )

    ((_args, request),) = tuned
    source = request["source"]
    assert request["step"] == f"{__name__}.Trains"
    assert [(unit.name, unit.spec) for unit in request["scope"].units] == [
        ("a", f"{__name__}.count"),
        ("b", "data.py:b"),
    ]
    assert [item.flag for item in source.functions] == ["--step", "--unit a"]
    assert source.live is None
    assert source.is_live
    paths = [Path(item.live.file) for item in source.functions]
    assert not any(path.exists() for path in paths)


@pytest.mark.usefixtures("here", "tuned")
def test_a_step_that_cannot_be_pickled_is_told_by_its_part() -> None:
    """With the way out: it is made where it runs."""
    step = Trains()
    step.log = Path("data.py").open()  # type: ignore[attr-defined]  # noqa: SIM115

    with step.log, pytest.raises(UsageError) as caught:  # type: ignore[attr-defined]
        autoloader.tune("data.py:train", step=step, target="step")

    assert caught.value.message == (
        "step.log (TextIOWrapper) cannot be pickled, and other processes get "
        f"{__name__}.Trains object by pickle"
    )
    assert caught.value.hint == (
        "give a class, which is made where it runs, or its SPEC: module:attribute or "
        "path/file.py:attribute"
    )


@pytest.mark.usefixtures("here")
def test_a_check_takes_no_step() -> None:
    """Be it a function or its name."""
    with pytest.raises(UsageError, match=r"^check\(\) has no argument 'step'$"):
        autoloader.check(Honest(), step=Trains)  # type: ignore[call-arg]

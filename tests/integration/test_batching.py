"""Every form of batching passes the gate, and its liars do not, in real processes."""

from pathlib import Path

import pytest
import yaml
from torch.utils.data import DataLoader

from autoloader.checking import CheckRequest, CheckResult, check
from autoloader.errors import DatasetError, UsageError
from autoloader.search.space import SpaceRequest
from autoloader.values.outcome import Verdict
from autoloader.values.scope import ScopeRequest, SourceSpec
from tests.datasets import Honest
from tests.loaders import UnevenLists

LOADERS = Path(__file__).parents[1] / "loaders.py"

FORMS = [
    ("uneven_lists", 101),
    ("single_examples", 101),
    ("own_batches", 20),
    ("streamed_batches", 20),
    ("weighted", 101),
    ("keyed", 40),
    ("one_rank_of_four", 26),
    ("out_of_order", 101),
    ("padding", 101),
    ("as_lists", 101),
    ("dropping_last", 96),
]

IN_CI = {"own_batches", "streamed_batches", "single_examples", "one_rank_of_four"}
"""Forms that run with the slow tests; the others with the full ones."""


def run(name: str, folder: Path, *, examples: int | None = None) -> CheckResult:
    """Check one of the loaders, with 2 workers, kept and not."""
    return check(
        CheckRequest(
            source=SourceSpec(spec=f"{LOADERS}:{name}"),
            scope=ScopeRequest(examples=examples),
            folder=folder,
        )
    )


def examples_of(result: CheckResult) -> list[int]:
    """Return how many examples each run compared."""
    return [item.examples for _, item in result.runs if isinstance(item, Verdict)]


@pytest.mark.parametrize(
    ("name", "examples"), [form for form in FORMS if form[0] == "uneven_lists"]
)
def test_a_batch_sampler_of_the_users_own_passes(
    name: str, examples: int, tmp_path: Path
) -> None:
    """Lists of any length arrive as they were drawn."""
    result = run(name, tmp_path)

    assert result.passed, result.to_dict()
    assert examples_of(result) == [examples, examples]


@pytest.mark.parametrize(
    ("name", "examples"),
    [
        pytest.param(
            *form, marks=pytest.mark.slow if form[0] in IN_CI else pytest.mark.full
        )
        for form in FORMS
    ],
)
def test_every_form_of_batching_passes(
    name: str, examples: int, tmp_path: Path
) -> None:
    """No form of batching is accused, and all its examples are compared."""
    result = run(name, tmp_path)

    assert result.passed, result.to_dict()
    assert examples_of(result) == [examples, examples]


@pytest.mark.slow
def test_a_part_of_lists_keeps_the_last_one(tmp_path: Path) -> None:
    """A scope of whole lists: the first ones and the last, about as many as asked."""
    result = run("uneven_lists", tmp_path, examples=40)

    assert result.passed, result.to_dict()
    assert all(30 <= count <= 40 for count in examples_of(result))


def test_a_buffer_that_is_used_again_is_refused(tmp_path: Path) -> None:
    """Batches arrive otherwise than their worker made them."""
    result = run("reused_buffer", tmp_path)

    codes = {
        finding.code
        for _, item in result.runs
        if isinstance(item, Verdict)
        for finding in item.findings
    }
    assert "collate_mismatch" in codes


def test_a_collate_that_depends_on_the_process_is_refused(tmp_path: Path) -> None:
    """It converts every row of every batch; whole batches are compared all the same."""
    result = run("converting_loader", tmp_path)

    findings = [
        finding
        for _, item in result.runs
        if isinstance(item, Verdict)
        for finding in item.findings
    ]
    assert {finding.code for finding in findings} == {"collate_mismatch"}


def test_a_sampler_that_is_used_up_is_the_datasets_fault(tmp_path: Path) -> None:
    """The second epoch would be empty everywhere, so no trial is blamed."""
    with pytest.raises(
        DatasetError,
        match=r"^reference_unstable: the second pass over the sampler is empty$",
    ):
        run("one_shot_lists", tmp_path)


def test_a_batch_size_beside_a_batch_sampler_is_refused(tmp_path: Path) -> None:
    """It could not be set in the training either."""
    request = CheckRequest(
        source=SourceSpec(spec=f"{LOADERS}:uneven_lists"),
        batch_size=8,
        folder=tmp_path,
    )

    with pytest.raises(
        UsageError, match=r"takes no --batch-size: its batch_sampler makes the batches$"
    ):
        check(request)


def test_settings_beside_a_batch_sampler_name_no_batch_size(tmp_path: Path) -> None:
    """`DataLoader(dataset, batch_sampler=..., **yaml["dataloader"])` must work."""
    from autoloader.measure.machine import read_machine
    from autoloader.report.console import view_for
    from autoloader.tune_values import TuneRequest
    from autoloader.tuning import tune
    from autoloader.values.target import Target

    out = tmp_path / "autoloader.yaml"
    target = Target(examples_per_s=50.0, memory_bytes=2**33)
    request = TuneRequest(
        source=SourceSpec(spec=f"{LOADERS}:uneven_lists"),
        target=target,
        out=out,
        space=SpaceRequest(num_workers=(0, 1)),
        budget_s=20.0,
        folder=tmp_path / ".autoloader",
    )
    machine = read_machine()
    with (
        (tmp_path / "progress").open("w") as stream,
        view_for(
            stream, quiet=True, dataset="x", target=target, machine=machine
        ) as view,
    ):
        tune(request, machine, view)

    settings = yaml.safe_load(out.read_text())["dataloader"]
    loader = DataLoader(Honest(), batch_sampler=UnevenLists(), **settings)
    assert sum(len(labels) for _, labels in loader) == 101

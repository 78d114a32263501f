"""A diagnosis names stage and id, in real processes."""

from pathlib import Path

import pytest

from autoloader.diagnosis import Diagnosis, DiagnosisRequest, diagnose
from autoloader.report.console import print_diagnosis
from autoloader.values.diagnosis import StageName
from autoloader.values.scope import ScopeRequest, SourceSpec

TROUBLES = Path(__file__).parents[1] / "troubles.py"


def run(name: str, folder: Path, *, transform: str | None = None) -> Diagnosis:
    """Diagnose one of the datasets that fail."""
    return diagnose(
        DiagnosisRequest(
            source=SourceSpec(spec=f"{TROUBLES}:{name}"),
            scope=ScopeRequest(examples="all"),
            transform=transform,
            folder=folder,
        )
    )


def first_lines(found: Diagnosis, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the first five lines that are printed."""
    print_diagnosis(found.to_dict(), None)
    return "\n".join(capsys.readouterr().out.splitlines()[:5])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "stage", "ids"),
    [
        ("Undecodable", StageName.ACCESS, (17,)),
        ("Untransformable", StageName.TRANSFORM, (23,)),
        ("KillsItself", StageName.ACCESS, (11,)),
        ("Records", StageName.COLLATE, (3,)),
        ("twins", StageName.COLLATE, (2, 5)),
    ],
)
def test_the_first_stage_that_fails_is_named_with_its_id(
    name: str,
    stage: StageName,
    ids: tuple[int, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Stage, id, and where to look stand in the first five lines."""
    found = run(name, tmp_path)

    assert found.breakdown is not None
    assert found.breakdown.stage is stage
    assert sorted(found.breakdown.ids) == list(ids)
    assert found.exit_code == 3
    assert found.settings == ()
    said = first_lines(found, capsys)
    assert stage.words in said
    assert all(str(index) in said for index in ids)
    assert "look at" in said


@pytest.mark.slow
def test_examples_that_fail_only_together_are_all_needed(tmp_path: Path) -> None:
    """Neither of them fails by itself."""
    found = run("twins", tmp_path)

    assert found.breakdown is not None
    assert found.breakdown.evidence in {
        f"ids {pair} show it together, and none can be left out"
        for pair in ("2, 5", "5, 2")
    }


@pytest.mark.slow
def test_a_batch_that_no_worker_can_send_is_named_before_it_is_waited_for(
    tmp_path: Path,
) -> None:
    """A worker would only print why, and the loader wait for ever."""
    found = run("unsendable", tmp_path)

    assert found.breakdown is not None
    assert found.breakdown.stage is StageName.HAND_OVER
    assert found.breakdown.evidence is not None
    assert found.breakdown.evidence.startswith("batch['key'] (with_lambda.")
    assert found.exit_code == 1


@pytest.mark.slow
def test_what_only_workers_show_is_narrowed_to_its_id(tmp_path: Path) -> None:
    """One process reads it; one id is enough, and another one does not do."""
    found = run("RaisesInWorkers", tmp_path)

    assert found.breakdown is not None
    assert found.breakdown.stage is StageName.WORKERS
    assert found.breakdown.ids == (31,)
    assert found.exit_code == 1
    assert found.narrowed is not None
    assert found.narrowed.is_smallest
    assert found.narrowed.shown_by_others is False
    assert [setting.is_right for setting in found.settings] == [True, False]


@pytest.mark.full
def test_a_dataset_that_blocks_with_workers_is_narrowed_to_its_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each probe waits for a few seconds, and none for longer."""
    found = run("BlocksInWorkers", tmp_path)

    assert found.breakdown is not None
    assert found.breakdown.ids == (29,)
    assert "workers, id 29" in first_lines(found, capsys)


@pytest.mark.slow
def test_what_does_not_fail_has_stages_and_a_record_sheet(tmp_path: Path) -> None:
    """Access and transform told apart, collate and hand-over read, eight epochs."""
    found = run("Files", tmp_path)

    assert found.breakdown is None
    assert found.exit_code == 0
    assert found.stages.transform == "transform"
    assert {item.id for item in found.stages.examples} == set(range(40))
    costs = {stage.stage: stage for stage in found.stages.batches}
    assert costs[StageName.COLLATE].costs
    assert costs[StageName.HAND_OVER].costs
    assert len(found.sheet) == 8
    assert all(row.seconds for row in found.sheet)


@pytest.mark.full
def test_a_transform_may_be_named(tmp_path: Path) -> None:
    """Any attribute that is called, a method as well."""
    found = run("Augments", tmp_path, transform="augment")

    assert found.stages.transform == "augment"
    assert all(item.transform_s > 0 for item in found.stages.examples)

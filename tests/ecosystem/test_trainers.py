"""What trainers train on is tuned and checked; what was found is put into them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from autoloader.child.source import load_source
from autoloader.errors import UsageError
from autoloader.measure import machine
from autoloader.values.scope import SourceSpec
from tests.ecosystem.frameworks import LENGTH, Line, Numbers, framework, labels_in
from tests.export.exported import a_recommendation, without
from tests.fakes import a_machine

if TYPE_CHECKING:
    from autoloader.export.recommendation import Recommendation

pytestmark = pytest.mark.filterwarnings("default")  # what they warn of is their own

ROOT = Path(__file__).parents[2]

FEW = without(batch_size=5, num_workers=2, prefetch_factor=3, pin_memory=False)

ALL = list(range(LENGTH))


@pytest.fixture(autouse=True)
def this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the machine of the recommendations the one that runs."""
    monkeypatch.setattr(machine, "read_machine", lambda: a_machine(8))
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)


def make_trainer(batch_size: int = 4) -> Any:
    """Return a Trainer, as a training script makes one."""
    import tempfile

    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(
        output_dir=tempfile.gettempdir(),
        use_cpu=True,
        report_to=[],
        per_device_train_batch_size=batch_size,
        dataloader_drop_last=True,
    )
    return Trainer(model=Line(), args=arguments, train_dataset=Numbers())


def checked(spec: str, folder: Path, *flags: str) -> dict[str, Any]:
    """Return what `autoloader check` says of a SPEC, in a process of its own."""
    command = [sys.executable, "-m", "autoloader", "check", "--dataset", spec]
    done = subprocess.run(
        [*command, "--json", *flags],
        cwd=folder,
        env={**_environment(), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}


def test_the_loader_of_a_trainer_is_a_plain_one() -> None:
    """Of the size that a process has; on the CPU, without what Accelerate adds."""
    framework("transformers")
    from torch.utils.data import DataLoader, RandomSampler

    from autoloader.integrations.transformers import train_loader

    loader = train_loader(make_trainer())

    assert type(loader) is DataLoader
    assert (loader.batch_size, loader.drop_last) == (4, True)
    assert isinstance(loader.sampler, RandomSampler)
    assert labels_in(loader) == ALL


def test_a_function_that_returns_a_trainer_is_a_source() -> None:
    """`--dataset train.py:make_trainer --arg batch_size=6`."""
    framework("transformers")
    source = SourceSpec(spec=f"{__file__}:make_trainer", arguments=(("batch_size", 6),))

    found = load_source(source)

    assert (found.batch_size, len(found.dataset)) == (6, LENGTH)


@pytest.mark.full
def test_a_trainer_passes_the_check(tmp_path: Path) -> None:
    """With real workers."""
    framework("transformers")

    found = checked(f"{__file__}:make_trainer", tmp_path)

    assert found["passed"], found


@pytest.mark.full
def test_a_data_module_passes_the_check(tmp_path: Path) -> None:
    """The class is made and set up as a Trainer would."""
    framework("lightning")
    spec = "tests.ecosystem.modules:NumbersModule"

    found = checked(spec, tmp_path, "--arg", "batch_size=5")

    assert found["passed"], found


def test_arguments_are_those_of_training_arguments(tmp_path: Path) -> None:
    """They are accepted, and a Trainer has them."""
    transformers = framework("transformers")
    from autoloader.integrations.transformers import train_loader, training_arguments

    arguments = transformers.TrainingArguments(
        **training_arguments(
            a_recommendation(FEW, sizes=(4, 5)),
            output_dir=str(tmp_path),
            use_cpu=True,
            report_to=[],
        )
    )
    trainer = transformers.Trainer(
        model=Line(), args=arguments, train_dataset=Numbers()
    )

    loader = train_loader(trainer)
    assert (loader.num_workers, loader.prefetch_factor) == (2, 3)
    assert (loader.batch_size, loader.persistent_workers) == (5, True)


def a_lightning_trainer(recommendation: Recommendation) -> Any:
    """Return a Trainer of one epoch with the callback, which writes nothing."""
    pytorch = framework("lightning.pytorch")
    from autoloader.integrations.lightning import Recommended

    return pytorch.Trainer(
        accelerator="cpu",
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[Recommended(recommendation)],
    )


def fitted(recommendation: Recommendation, datamodule: Any, model: Any) -> Any:
    """Train an epoch with the callback, and return the Trainer."""
    trainer = a_lightning_trainer(recommendation)
    trainer.fit(model, datamodule=datamodule)
    return trainer


def test_a_callback_trains_with_the_recommended_settings() -> None:
    """Each example once, with the sampler and batch size of the DataModule."""
    framework("lightning")
    from tests.ecosystem.modules import LineModule, NumbersModule

    model = LineModule()
    trainer = fitted(a_recommendation(FEW), NumbersModule(batch_size=5), model)

    loader = trainer.train_dataloader
    assert (loader.num_workers, loader.prefetch_factor) == (2, 3)
    assert (loader.batch_size, loader.persistent_workers) == (5, True)
    assert model.seen == ALL


def test_a_callback_changes_the_loader_of_a_module_too() -> None:
    """Where there is no DataModule."""
    framework("lightning")
    from tests.ecosystem.modules import MakesItsLoader

    model = MakesItsLoader()
    trainer = fitted(a_recommendation(without(**FEW | {"batch_size": 4})), None, model)

    assert trainer.train_dataloader.num_workers == 2
    assert sorted(model.seen) == ALL


def test_a_searched_batch_size_is_taken_another_is_told() -> None:
    """The one that training was meant to have is the user's."""
    framework("lightning")
    from autoloader.integrations.lightning import apply
    from tests.ecosystem.modules import NumbersModule

    searched, kept = NumbersModule(batch_size=4), NumbersModule(batch_size=4)
    apply(a_recommendation(FEW, sizes=(4, 5)), searched)
    apply(a_recommendation(FEW, sizes=(5,)), kept)

    assert searched.train_dataloader().batch_size == 5
    with pytest.warns(UserWarning, match="makes batches of 4, the settings were meas"):
        assert kept.train_dataloader().batch_size == 4


def test_a_recommendation_is_put_in_place_of_an_older_one() -> None:
    """Not around it."""
    framework("lightning")
    from autoloader.integrations.lightning import apply
    from tests.ecosystem.modules import NumbersModule

    module: Any = NumbersModule(batch_size=5)
    apply(a_recommendation(FEW), module)
    apply(a_recommendation(without(**FEW | {"num_workers": 1})), module)

    assert module.train_dataloader().num_workers == 1
    assert module.train_dataloader.args[1].__name__ == "train_dataloader"


def test_a_loader_that_fit_is_handed_cannot_be_changed() -> None:
    """The way out is one line."""
    pytorch = framework("lightning.pytorch")
    from torch.utils.data import DataLoader

    from autoloader.integrations.lightning import Recommended
    from tests.ecosystem.modules import LineModule

    trainer = pytorch.Trainer(
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        callbacks=[Recommended(a_recommendation(FEW))],
    )
    with pytest.raises(UsageError) as caught:
        trainer.fit(LineModule(), DataLoader(Numbers(), batch_size=5))

    assert caught.value.message == (
        "trainer.fit() was handed a loader, which a callback cannot change"
    )
    assert caught.value.hint == "hand it autoloader.load(FILE).dataloader(dataset)"


def test_a_loader_that_fit_is_handed_beside_the_modules_own_is_told() -> None:
    """That one is trained with."""
    trainer = a_lightning_trainer(a_recommendation(FEW))
    from torch.utils.data import DataLoader

    from tests.ecosystem.modules import MakesItsLoader

    with pytest.warns(UserWarning, match="num_workers=0, not the recommended 2"):
        trainer.fit(MakesItsLoader(), DataLoader(Numbers(), batch_size=5))


def test_several_training_loaders_are_refused() -> None:
    """As a source, and where a recommendation is put in."""
    framework("lightning")
    from autoloader.integrations.lightning import apply, train_loader
    from tests.ecosystem.modules import SeveralModule

    module = SeveralModule()
    with pytest.raises(UsageError) as as_source:
        train_loader(module)
    apply(a_recommendation(FEW), module)
    with pytest.raises(UsageError) as applied:
        module.train_dataloader()

    assert as_source.value.message == (
        "SeveralModule trains with a dict, and one DataLoader is needed"
    )
    assert applied.value.message == (
        "the training loader is a dict, and one DataLoader is needed"
    )
    assert applied.value.hint == "recommendation.kwargs() has the settings for each"

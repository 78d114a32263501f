"""Exported settings reach the loaders of trainers: transformers, LightningCLI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from autoloader.export.frameworks import Naming, export_to
from tests.ecosystem.frameworks import Line, Numbers, Stream, framework
from tests.export.exported import WITHOUT_WORKERS, a_recommendation, without

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("default")  # what they warn of is their own

FEW = without(batch_size=5, num_workers=2, prefetch_factor=3, pin_memory=False)


def a_trainer(folder: Path, dataset: Any, **arguments: Any) -> Any:
    """Return a Trainer of transformers with these arguments."""
    transformers = framework("transformers")
    chosen = transformers.TrainingArguments(
        output_dir=str(folder), use_cpu=True, report_to=[], **arguments
    )
    return transformers.Trainer(model=Line(), args=chosen, train_dataset=dataset)


def arguments_in(text: str) -> dict[str, Any]:
    """Return the arguments that exported text defines."""
    scope: dict[str, Any] = {}
    exec(compile(text, "exported", "exec"), scope)  # noqa: S102  # what is tested
    found: dict[str, Any] = scope["dataloader_arguments"]
    return found


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [(FEW, (2, 3, False, True)), (WITHOUT_WORKERS, (0, None, False, False))],
)
def test_training_arguments_reach_the_loader(
    settings: dict[str, Any], wanted: tuple[Any, ...], tmp_path: Path
) -> None:
    """Pinning, which is on by default there, is turned off."""
    export = export_to(a_recommendation(settings, sizes=(4, 5)), "transformers")

    trainer = a_trainer(tmp_path, Numbers(), **arguments_in(export.text))

    loader = trainer.get_train_dataloader()
    found = (
        loader.num_workers,
        loader.prefetch_factor,
        loader.pin_memory,
        loader.persistent_workers,
    )
    assert found == wanted
    assert loader.batch_sampler.batch_size == settings["batch_size"]
    assert trainer.args.train_batch_size == settings["batch_size"]


def test_the_prefetch_factor_reaches_the_loader_of_a_stream(tmp_path: Path) -> None:
    """From 5.15 on, as the warning says."""
    export = export_to(a_recommendation(FEW, stream=True), "transformers")

    arguments = arguments_in(export.text)
    trainer = a_trainer(tmp_path, Stream(), max_steps=1, **arguments)

    assert trainer.get_train_dataloader().prefetch_factor == 3
    assert export.warnings[0].startswith("transformers before 5.15 has prefetch_facto")


def test_what_is_left_out_without_workers_is_refused(tmp_path: Path) -> None:
    """By `TrainingArguments` itself."""
    with pytest.raises(ValueError, match="dataloader_prefetch_factor can only be set"):
        a_trainer(
            tmp_path, Numbers(), dataloader_num_workers=0, dataloader_prefetch_factor=2
        )


def cli_of(folder: Path, text: str, **options: Any) -> Any:
    """Return a LightningCLI that read exported text as its config."""
    cli = framework("lightning.pytorch.cli")
    from tests.ecosystem.modules import LineModule

    config = folder / "loading.yaml"
    config.write_text(text, encoding="utf-8")
    return cli.LightningCLI(
        LineModule,
        run=False,
        args=["--config", str(config)],
        save_config_callback=None,
        trainer_defaults={"logger": False, "accelerator": "cpu"},
        **options,
    )


def test_lightning_hands_the_settings_to_the_data_module(tmp_path: Path) -> None:
    """Whose class the script names."""
    framework("lightning")
    from tests.ecosystem.modules import NumbersModule

    export = export_to(a_recommendation(FEW, sizes=(4, 5)), "lightning")
    cli = cli_of(tmp_path, export.text, datamodule_class=NumbersModule)

    loader = cli.datamodule.train_dataloader()
    assert (loader.num_workers, loader.prefetch_factor) == (2, 3)
    assert (loader.batch_size, loader.persistent_workers) == (5, True)


def test_lightning_makes_the_class_that_the_file_names(tmp_path: Path) -> None:
    """With arguments that it calls in its own way."""
    framework("lightning")
    naming = Naming(
        class_path="tests.ecosystem.modules.RenamedModule",
        names={"num_workers": "workers", "batch_size": "bs"},
    )

    export = export_to(a_recommendation(FEW, sizes=(4, 5)), "lightning", naming)
    cli = cli_of(tmp_path, export.text)

    assert type(cli.datamodule).__name__ == "RenamedModule"
    assert (cli.datamodule.workers, cli.datamodule.bs) == (2, 5)

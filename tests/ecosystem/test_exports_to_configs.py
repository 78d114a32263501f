"""Exported configs are read by MMEngine and Ultralytics, where they are installed.

Both need OpenCV with its windows, so that `scripts/test --ecosystem` leaves them out.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import pytest

from autoloader.export.frameworks import export_to
from tests.ecosystem.frameworks import LENGTH, Numbers, framework
from tests.export.exported import WITHOUT_WORKERS, a_recommendation, without

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("default")  # what they warn of is their own

FEW = without(batch_size=5, num_workers=2, prefetch_factor=3, pin_memory=False)

BY_HAND = "pip install it into .venv-ecosystem"

BASE = """\
train_dataloader = dict(
    batch_size=4,
    num_workers=1,
    persistent_workers=True,
    sampler=dict(type="DefaultSampler", shuffle=False),
)
"""


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [(FEW, (2, 3, False, True)), (WITHOUT_WORKERS, (0, None, False, False))],
)
def test_mmengine_makes_the_loader_of_a_config_that_inherits(
    settings: dict[str, Any], wanted: tuple[Any, ...], tmp_path: Path
) -> None:
    """What its base keeps is turned off where there are no workers."""
    config = framework("mmengine.config", how=BY_HAND)
    runner = framework("mmengine.runner", how=BY_HAND)
    (tmp_path / "base.py").write_text(BASE)
    text = export_to(a_recommendation(settings, sizes=(5, 64)), "mmengine").text
    (tmp_path / "mine.py").write_text(f'_base_ = ["base.py"]\n{text}')

    read = config.Config.fromfile(tmp_path / "mine.py").train_dataloader.to_dict()
    loader = runner.Runner.build_dataloader({"dataset": Numbers(), **read})

    found = (
        loader.num_workers,
        loader.prefetch_factor,
        loader.pin_memory,
        loader.persistent_workers,
    )
    assert found == wanted
    assert loader.batch_size == settings["batch_size"]
    assert sum(len(batch["labels"]) for batch in loader) == LENGTH


def test_ultralytics_reads_the_words_and_has_the_rest_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Four batches ahead, and workers that live as long as the loader."""
    monkeypatch.setenv("YOLO_CONFIG_DIR", str(tmp_path))
    cfg = framework("ultralytics.cfg", how=BY_HAND)
    build = framework("ultralytics.data.build", how=BY_HAND)
    export = export_to(a_recommendation(FEW, sizes=(5, 64), ranks=4), "ultralytics")

    words = shlex.split(export.text, comments=True)
    pairs = dict(cfg.parse_key_value_pair(word) for word in words[2:])
    arguments = cfg.get_cfg(overrides=pairs)
    loader = build.build_dataloader(
        Numbers(), batch=arguments.batch // 4, workers=1, device="cpu"
    )

    assert words[:2] == ["yolo", "train"]
    assert (arguments.batch, arguments.workers) == (20, 2)
    assert (loader.prefetch_factor, loader.batch_size) == (4, 5)
    assert type(loader).__name__ == "InfiniteDataLoader"
    assert export.warnings[0].startswith("prefetch_factor=3 cannot be set: Ultralytic")

"""Exported text that makes a loader does: torch, torchdata, Accelerate, Hydra, timm."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import yaml
from torch.utils.data import BatchSampler, SequentialSampler

from autoloader.export.frameworks import Naming, export_to
from tests.ecosystem.frameworks import LENGTH, Numbers, framework, labels_in
from tests.export.exported import WITHOUT_WORKERS, a_recommendation, without

pytestmark = pytest.mark.filterwarnings("default")  # what they warn of is their own

ALL = list(range(LENGTH))

FEW = without(batch_size=5, num_workers=2, prefetch_factor=3, pin_memory=False)


def run(text: str, **names: Any) -> dict[str, Any]:
    """Run exported Python as a training script would, and return its names."""
    scope = {"dataset": Numbers(), **names}
    exec(compile(text, "exported", "exec"), scope)  # noqa: S102  # what is tested
    return scope


def settings_of(loader: Any) -> tuple[Any, ...]:
    """Return what was tuned, as a loader has it."""
    return (
        loader.num_workers,
        loader.prefetch_factor,
        loader.pin_memory,
        loader.persistent_workers,
    )


@pytest.mark.parametrize("name", ["torch", "stateful"])
def test_the_call_makes_a_loader(name: str) -> None:
    """With workers, which are kept, and two epochs."""
    if name == "stateful":
        framework("torchdata.stateful_dataloader")

    loader = run(export_to(a_recommendation(FEW), name).text)["loader"]

    assert settings_of(loader) == (2, 3, False, True)
    assert loader.batch_size == 5
    assert labels_in(loader) == ALL
    assert labels_in(loader) == ALL


@pytest.mark.parametrize("name", ["torch", "stateful"])
def test_the_call_makes_a_loader_without_workers(name: str) -> None:
    """PyTorch refuses a prefetch factor there."""
    if name == "stateful":
        framework("torchdata.stateful_dataloader")

    loader = run(export_to(a_recommendation(WITHOUT_WORKERS), name).text)["loader"]

    assert settings_of(loader) == (0, None, False, False)
    assert labels_in(loader) == ALL


@pytest.mark.parametrize("name", ["torch", "stateful", "accelerate"])
def test_the_users_own_batches_are_handed_on(name: str) -> None:
    """A batch_sampler stands in the text, by the name that the script gives it."""
    if name == "stateful":
        framework("torchdata.stateful_dataloader")
    if name == "accelerate":
        framework("accelerate")
    settings = {"num_workers": 0, "pin_memory": False}
    batches = BatchSampler(SequentialSampler(Numbers()), 7, drop_last=False)

    text = export_to(a_recommendation(settings), name).text
    loader = run(text, batch_sampler=batches)["loader"]

    assert [len(batch["labels"]) for batch in loader] == [7, 7, 7, 3]


def test_the_place_of_a_stateful_loader_can_be_stored() -> None:
    """What people take it for."""
    framework("torchdata.stateful_dataloader")
    loader = run(export_to(a_recommendation(FEW), "stateful").text)["loader"]

    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    again = run(export_to(a_recommendation(FEW), "stateful").text)["loader"]
    again.load_state_dict(state)

    assert labels_in(again) == ALL[5:]


@pytest.mark.parametrize("settings", [FEW, WITHOUT_WORKERS])
def test_accelerate_prepares_the_loader_as_it_was_set(settings: dict[str, Any]) -> None:
    """`prepare` copies what the loader has; a batch is that of a process."""
    framework("accelerate")

    scope = run(export_to(a_recommendation(settings), "accelerate").text)

    loader = scope["loader"]
    assert type(loader).__name__ == "DataLoaderShard"
    workers = settings["num_workers"]
    prefetch, is_kept = (3, True) if workers else (None, False)
    assert settings_of(loader) == (workers, prefetch, False, is_kept)
    assert loader.total_batch_size == settings["batch_size"]
    assert labels_in(loader) == ALL
    assert scope["accelerator"].dataloader_config.split_batches is False


@pytest.mark.parametrize("settings", [FEW, WITHOUT_WORKERS])
def test_hydra_makes_what_lacks_the_dataset_alone(settings: dict[str, Any]) -> None:
    """`_partial_`, and the script adds what the loader has beside."""
    framework("hydra")
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    text = export_to(a_recommendation(settings), "hydra").text
    make = instantiate(OmegaConf.create(yaml.safe_load(text)))
    loader = make(Numbers(), drop_last=True)

    assert loader.num_workers == settings["num_workers"]
    assert loader.batch_size == settings["batch_size"]
    assert len(labels_in(loader)) == LENGTH // loader.batch_size * loader.batch_size


class Module:
    """A class of the user's, which takes the settings under names of its own."""

    def __init__(self, bs: int, workers: int, **others: Any) -> None:
        self.bs, self.workers, self.others = bs, workers, others


def test_hydra_makes_a_class_of_ones_own() -> None:
    """As configs of DataModules do."""
    framework("hydra")
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    naming = Naming(
        class_path=f"{__name__}.Module",
        names={"batch_size": "bs", "num_workers": "workers"},
    )
    text = export_to(a_recommendation(FEW), "hydra", naming).text
    found = instantiate(OmegaConf.create(yaml.safe_load(text)))

    assert (found.bs, found.workers) == (5, 2)
    assert found.others == {
        "prefetch_factor": 3,
        "pin_memory": False,
        "persistent_workers": True,
    }


class Pictures(torch.utils.data.Dataset[Any]):
    """What `create_loader` of timm asks of a dataset: pictures, and a transform."""

    def __init__(self) -> None:
        self.transform: Any = None

    def __len__(self) -> int:
        """Return how many there are."""
        return LENGTH

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        """Return a picture of one colour, and its number."""
        if not 0 <= index < LENGTH:
            raise IndexError(index)
        return torch.full((3, 8, 8), float(index)), index


def timm_loader(settings: dict[str, Any]) -> Any:
    """Return the loader that `train.py` makes of its arguments, without a GPU."""
    data = framework("timm.data")
    return data.create_loader(
        Pictures(),
        input_size=(3, 8, 8),
        batch_size=settings.get("batch_size", 5),
        num_workers=settings["workers"],
        pin_memory=settings["pin_mem"],
        use_prefetcher=False,
    )


def test_timm_has_what_its_flags_say_and_the_rest_of_its_own() -> None:
    """Workers that are kept, and PyTorch's prefetch factor, as the warnings say."""
    export = export_to(a_recommendation(FEW, sizes=(5, 9)), "timm")

    loader = timm_loader(export.settings)

    assert settings_of(loader) == (2, 2, False, True)
    assert loader.batch_size == 5
    assert [warning.split("=")[0] for warning in export.warnings] == ["prefetch_factor"]
    assert sorted(int(label) for _, labels in loader for label in labels) == ALL


def test_timm_runs_without_workers() -> None:
    """From 1.0.29 on, as the warning says."""
    export = export_to(a_recommendation(WITHOUT_WORKERS), "timm")

    loader = timm_loader(export.settings)

    assert settings_of(loader) == (0, None, False, False)
    assert export.warnings[0].startswith("timm before 1.0.29 cannot run without work")

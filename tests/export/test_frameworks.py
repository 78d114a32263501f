"""Exact keys of each framework, what it cannot express, and text that parses.

That the frameworks take these is shown in `tests/ecosystem`.
"""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from autoloader.errors import UsageError
from autoloader.export.frameworks import NAMES, Export, Naming, export_to, exports
from tests.export.exported import WITHOUT_WORKERS, a_recommendation, without

if TYPE_CHECKING:
    from autoloader.export.recommendation import Recommendation

LOADER = {
    "num_workers": 6,
    "prefetch_factor": 4,
    "pin_memory": True,
    "persistent_workers": True,
}

TORCH = "torch.utils.data.DataLoader"

WITH_WORKERS: dict[str, dict[str, Any]] = {
    "torch": {"batch_size": 64, **LOADER},
    "stateful": {"batch_size": 64, **LOADER},
    "transformers": {
        "dataloader_num_workers": 6,
        "dataloader_prefetch_factor": 4,
        "dataloader_pin_memory": True,
        "dataloader_persistent_workers": True,
    },
    "accelerate": {
        "dataloader": {"batch_size": 64, **LOADER},
        "dataloader_config": {"split_batches": False},
    },
    "lightning": {"data": LOADER},
    "hydra": {"_target_": TORCH, "_partial_": True, "batch_size": 64, **LOADER},
    "timm": {"workers": 6, "pin_mem": True},
    "ultralytics": {"workers": 6},
    "mmengine": {"train_dataloader": LOADER},
    "composer": {"train_loader": LOADER},
    "detectron2": {"DATALOADER": {"NUM_WORKERS": 6}},
    "detectron2-lazy": {"dataloader": {"train": LOADER}},
    "nemo": {"model": {"train_ds": {"num_workers": 6, "pin_memory": True}}},
    "fairseq": {"num_workers": 6},
}

ALONE = {"num_workers": 0, "pin_memory": False}

NO_WORKERS: dict[str, dict[str, Any]] = {
    "torch": {"batch_size": 64, **ALONE},
    "stateful": {"batch_size": 64, **ALONE},
    "transformers": {"dataloader_num_workers": 0, "dataloader_pin_memory": False},
    "accelerate": {
        "dataloader": {"batch_size": 64, **ALONE},
        "dataloader_config": {"split_batches": False},
    },
    "lightning": {"data": ALONE},
    "hydra": {"_target_": TORCH, "_partial_": True, "batch_size": 64, **ALONE},
    "timm": {"workers": 0, "pin_mem": False},
    "ultralytics": {"workers": 0},
    "mmengine": {"train_dataloader": {**ALONE, "persistent_workers": False}},
    "composer": {
        "train_loader": {
            **ALONE,
            "prefetch_factor": None,
            "persistent_workers": False,
        }
    },
    "detectron2": {"DATALOADER": {"NUM_WORKERS": 0}},
    "detectron2-lazy": {"dataloader": {"train": ALONE}},
    "nemo": {"model": {"train_ds": {"num_workers": 0, "pin_memory": False}}},
    "fairseq": {"num_workers": 0},
}

ONE_SIZE = {
    "torch": ("batch_size", 32),
    "stateful": ("batch_size", 32),
    "transformers": ("per_device_train_batch_size", 32),
    "accelerate": ("dataloader.batch_size", 32),
    "lightning": ("data.batch_size", 32),
    "hydra": ("batch_size", 32),
    "timm": ("batch_size", 32),
    "ultralytics": ("batch", 128),
    "mmengine": ("train_dataloader.batch_size", 32),
    "composer": ("global_train_batch_size", 128),
    "detectron2": ("SOLVER.IMS_PER_BATCH", 128),
    "detectron2-lazy": ("dataloader.train.total_batch_size", 128),
    "nemo": ("model.train_ds.batch_size", 32),
    "fairseq": ("batch_size", 32),
}
"""Where each framework has its batch size, and what it is for 32 on each of 4 ranks."""

MAKES_A_LOADER = {"torch", "stateful", "accelerate", "hydra"}
"""What is written makes a loader, whose own batch size would be 1."""

GROUPED = (
    "with {option} (the default) workers hand over single images, and what each "
    "prepares ahead are {factor} of these, not {factor} batches of 64"
)


def flat(settings: dict[str, Any], above: str = "") -> dict[str, Any]:
    """Return nested settings by dotted path."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            found |= flat(value, f"{above}{name}.")
        else:
            found[f"{above}{name}"] = value
    return found


def code_of(export: Export) -> str:
    """Return the text without its comments."""
    lines = export.text.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("#"))


def said(export: Export) -> str:
    """Return the comments as one line."""
    lines = [line[1:].strip() for line in export.text.splitlines() if line[:1] == "#"]
    return " ".join(lines)


def written_in(export: Export) -> dict[str, Any]:
    """Return the settings that the text itself holds, by dotted path."""
    if export.language == "yaml":
        return flat(yaml.safe_load(export.text))
    if export.language == "shell":
        return words_in(shlex.split(export.text, comments=True))
    found: dict[str, Any] = {}
    for node in ast.walk(ast.parse(export.text)):
        if isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant):
            found[str(node.arg)] = node.value.value
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            found[ast.unparse(node.targets[0])] = node.value.value
    return found


def words_in(words: list[str]) -> dict[str, Any]:
    """Return flags, or `name=value` behind a command."""
    if words[:2] == ["yolo", "train"]:
        pairs = [word.split("=") for word in words[2:]]
        return {name: int(value) for name, value in pairs}
    found: dict[str, Any] = {}
    for place, word in enumerate(words):
        if word.startswith("--"):
            behind = words[place + 1 : place + 2]
            is_switch = not behind or behind[0].startswith("--")
            name = word[2:].replace("-", "_")
            found[name] = True if is_switch else int(behind[0])
    return found


def test_every_framework_is_tested() -> None:
    """A new one is put into the tables above."""
    assert set(NAMES) == set(WITH_WORKERS) == set(NO_WORKERS) == set(ONE_SIZE)
    assert list(exports(a_recommendation())) == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_keys_are_the_frameworks_own(name: str) -> None:
    """With workers, and all that they can have."""
    export = export_to(a_recommendation(), name)

    assert export.to == name
    assert export.settings == WITH_WORKERS[name]


@pytest.mark.parametrize("name", NAMES)
def test_without_workers_nothing_is_written_that_needs_them(name: str) -> None:
    """But what is on by default, and refused then, is turned off."""
    export = export_to(a_recommendation(WITHOUT_WORKERS), name)

    assert export.settings == NO_WORKERS[name]


@pytest.mark.parametrize("settings", [None, WITHOUT_WORKERS])
@pytest.mark.parametrize("sizes", [(64,), (32, 64)])
@pytest.mark.parametrize("name", NAMES)
def test_the_text_is_what_the_settings_say(
    name: str, sizes: tuple[int, ...], settings: dict[str, Any] | None
) -> None:
    """Python, YAML and flags are parsed and hold just these values."""
    export = export_to(a_recommendation(settings, sizes=sizes), name)

    found = written_in(export)

    wanted = flat(export.settings)
    if name in {"accelerate", "mmengine"}:  # calls, whose names are in the code
        wanted = {key.rpartition(".")[2]: value for key, value in wanted.items()}
    if name == "timm":  # a switch that is off is left out
        wanted = {key: value for key, value in wanted.items() if value is not False}
    assert found == wanted


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_size_that_was_searched_is_written(name: str) -> None:
    """Per process or device as it is; over all ranks times their number."""
    settings = without(batch_size=32)

    export = export_to(a_recommendation(settings, sizes=(32, 64), ranks=4), name)

    key, value = ONE_SIZE[name]
    assert flat(export.settings)[key] == value
    assert "another batch size trains differently" in said(export)
    assert ("32 x 4 ranks" in said(export)) == (value == 128)


@pytest.mark.parametrize("name", sorted(set(NAMES) - MAKES_A_LOADER))
def test_a_batch_size_that_was_not_searched_is_the_users_own(name: str) -> None:
    """It is named in a comment: the settings hold for it."""
    settings = without(batch_size=32)

    export = export_to(a_recommendation(settings, sizes=(32,), ranks=4), name)

    key, value = ONE_SIZE[name]
    assert key not in flat(export.settings)
    assert re.search(rf"keep \S+ at {value} \(examples of", said(export))
    assert "no other was searched" in said(export)


@pytest.mark.parametrize("name", sorted(MAKES_A_LOADER))
def test_what_makes_a_loader_names_its_batch_size(name: str) -> None:
    """DataLoader's own default would be 1."""
    export = export_to(a_recommendation(), name)

    assert flat(export.settings)[ONE_SIZE[name][0]] == 64
    assert "batch_size counts examples of one training process (rank)" in said(export)


def test_a_file_that_says_nothing_of_the_space_searched_nothing() -> None:
    """The evidence may have been cut off by hand."""
    recommendation = a_recommendation(sizes=(32, 64))
    recommendation.data["study"] = None
    recommendation.data["scope"] = "gone"

    export = export_to(recommendation, "transformers")

    assert "per_device_train_batch_size" not in export.settings
    assert export.warnings == ()


@pytest.mark.parametrize(
    ("name", "settings", "warnings"),
    [
        ("torch", without(), []),
        ("stateful", without(), []),
        ("transformers", without(), []),
        ("accelerate", without(), []),
        ("lightning", without(), []),
        ("hydra", without(), []),
        ("mmengine", without(), []),
        ("composer", without(), []),
        ("timm", without(prefetch_factor=2), []),
        ("timm", WITHOUT_WORKERS, [
            "timm before 1.0.29 cannot run without workers: it keeps them, which "
            "PyTorch refuses where there are none",
        ]),
        ("timm", without(persistent_workers=False), [
            "prefetch_factor=4 cannot be set: timm has prefetch_factor=2 at all times, "
            "which was not what was measured",
            "persistent_workers=False cannot be set: timm has persistent_workers=True "
            "at all times, which was not what was measured",
        ]),
        ("ultralytics", without(), []),
        ("ultralytics", without(prefetch_factor=2, pin_memory=False), [
            "prefetch_factor=2 cannot be set: Ultralytics, on a CUDA device, has "
            "prefetch_factor=4 at all times, which was not what was measured",
            "pin_memory=False cannot be set: Ultralytics, on a CUDA device, has "
            "pin_memory=True at all times, which was not what was measured",
        ]),
        ("detectron2", without(prefetch_factor=2), [
            "pin_memory=True cannot be set: a yacs config has pin_memory=False at all "
            "times, which was not what was measured",
            "persistent_workers=True cannot be set: a yacs config has "
            "persistent_workers=False at all times, which was not what was measured",
            GROUPED.format(option="DATALOADER.ASPECT_RATIO_GROUPING", factor=2),
        ]),
        ("detectron2", WITHOUT_WORKERS, []),
        ("detectron2-lazy", without(), [
            GROUPED.format(option="aspect_ratio_grouping", factor=4),
        ]),
        ("detectron2-lazy", without(batch_size=1), []),
        ("nemo", without(), [
            "prefetch_factor=4 cannot be set: NeMo has prefetch_factor=2 at all times, "
            "which was not what was measured",
            "persistent_workers=True cannot be set: NeMo, without Lhotse, has "
            "persistent_workers=False at all times, which was not what was measured",
        ]),
        ("fairseq", without(batch_size=12, prefetch_factor=2), [
            "batches of 12 are cut to a multiple of 8 unless "
            "--required-batch-size-multiple 1 is given",
        ]),
        ("fairseq", WITHOUT_WORKERS, [
            "pin_memory=False cannot be set: fairseq has pin_memory=True at all times, "
            "which was not what was measured",
        ]),
    ],
)  # fmt: skip
def test_what_cannot_be_set_is_a_warning(
    name: str, settings: dict[str, Any], warnings: list[str]
) -> None:
    """Only where the framework has something else, in the text as well."""
    export = export_to(a_recommendation(settings), name)

    assert list(export.warnings) == warnings
    assert all(f"warning: {warning}" in said(export) for warning in warnings)
    assert said(export).count("warning:") == len(warnings)


def test_a_stream_has_pytorchs_prefetch_factor_in_older_transformers() -> None:
    """Its Trainer handed none to the loader of an IterableDataset."""
    export = export_to(a_recommendation(stream=True), "transformers")
    plain = export_to(
        a_recommendation(without(prefetch_factor=2), stream=True), "transformers"
    )

    assert export.settings["dataloader_prefetch_factor"] == 4
    assert export.warnings == (
        "transformers before 5.15 has prefetch_factor=2 for a stream, whatever is set",
    )
    assert plain.warnings == ()


@pytest.mark.parametrize("name", ["transformers", "accelerate"])
def test_a_stream_that_one_process_reads_for_all_is_a_warning(name: str) -> None:
    """Measured was a loader of each rank's own."""
    several = export_to(
        a_recommendation(without(prefetch_factor=2), stream=True, ranks=2), name
    )
    single = export_to(
        a_recommendation(without(prefetch_factor=2), stream=True, ranks=1), name
    )

    assert len(several.warnings) == 1
    assert several.warnings[0].startswith("of a stream only the main process reads")
    assert single.warnings == ()


@pytest.mark.parametrize("name", NAMES)
def test_a_best_effort_is_told_in_the_text(name: str) -> None:
    """It is exported all the same."""
    export = export_to(a_recommendation(met=False), name)

    assert export.warnings[0] == (
        "the target (2,000 examples/s) was not met: these are the best settings that "
        "were found, and they are too slow"
    )
    assert f"warning: {export.warnings[0]}" in said(export)


@pytest.mark.parametrize("name", sorted({*MAKES_A_LOADER, "lightning", "mmengine"}))
def test_batches_of_the_users_own_are_left_to_it(name: str) -> None:
    """A batch_sampler takes the place of the batch size."""
    export = export_to(a_recommendation(without("batch_size")), name)

    assert not any("batch_size" in key for key in flat(export.settings))
    assert export.warnings == ()


@pytest.mark.parametrize("name", ["torch", "stateful", "accelerate", "hydra"])
def test_a_dataset_that_makes_batches_is_not_batched_again(name: str) -> None:
    """`batch_size=None` is no value that is missing: without it there would be 1."""
    export = export_to(a_recommendation(without(batch_size=None)), name)

    key = ONE_SIZE[name][0]
    assert flat(export.settings)[key] is None
    assert written_in(export)[key.rpartition(".")[2]] is None


def test_the_sampler_of_batches_is_handed_on_in_the_text() -> None:
    """Where the text makes the loader."""
    lists = a_recommendation(without("batch_size"))

    assert "    batch_sampler=batch_sampler,\n" in export_to(lists, "torch").text
    assert "(dataset, batch_sampler=batch_sampler)" in said(export_to(lists, "hydra"))


@pytest.mark.parametrize(
    ("settings", "warning"),
    [
        (
            without("batch_size"),
            "the tuned loader has a batch_sampler of its own, and timm cannot be "
            "handed one: the settings hold for that loader",
        ),
        (
            without(batch_size=None),
            "the tuned dataset makes its batches itself (batch_size=None), and timm "
            "makes them of single examples: the settings hold for that dataset",
        ),
    ],
)
def test_batches_that_a_framework_cannot_be_handed_are_a_warning(
    settings: dict[str, Any], warning: str
) -> None:
    """The settings were measured with them."""
    export = export_to(a_recommendation(settings), "timm")

    assert export.warnings[0] == warning


def refusal(
    name: str,
    naming: Naming | None = None,
    recommendation: Recommendation | None = None,
) -> UsageError:
    """Return the error that an export ends in."""
    with pytest.raises(UsageError) as caught:
        export_to(recommendation or a_recommendation(), name, naming)
    return caught.value


def test_an_unknown_framework_is_answered_with_the_closest() -> None:
    """Or with all of them."""
    close, far = refusal("litning"), refusal("jax")

    assert close.message == "there is no framework 'litning' to export to"
    assert close.hint == "did you mean 'lightning'?"
    assert far.hint == f"frameworks are {', '.join(NAMES)}"


def test_names_of_the_users_own_are_written() -> None:
    """A DataModule's arguments, and where the file chooses its class."""
    naming = Naming(
        class_path="data.Photos", names={"num_workers": "workers", "batch_size": "bs"}
    )
    recommendation = a_recommendation(sizes=(32, 64))

    cli = export_to(recommendation, "lightning", naming)
    hydra = export_to(recommendation, "hydra", naming)

    rest = {key: LOADER[key] for key in LOADER if key != "num_workers"}
    arguments = {"bs": 64, "workers": 6, **rest}
    assert cli.settings == {
        "data": {"class_path": "data.Photos", "init_args": arguments}
    }
    assert "bs counts examples of one training process (rank)" in said(cli)
    assert hydra.settings == {"_target_": "data.Photos", **arguments}


def test_a_template_that_divides_its_batch_size_is_told() -> None:
    """Of lightning-hydra-template, where there are several ranks."""
    several = said(export_to(a_recommendation(ranks=4), "hydra"))
    single = said(export_to(a_recommendation(), "hydra"))

    assert "divides batch_size by the number of devices: there it is 256" in several
    assert "divides batch_size" not in single


def test_names_do_not_fit_where_the_framework_has_its_own() -> None:
    """A flag that does nothing is a mistake."""
    error = refusal("timm", Naming(class_path="data.Photos"))

    assert error.message == (
        "timm has names of its own: --class and --rename do not fit"
    )
    assert error.hint == "they fit --to lightning and --to hydra"


def test_pytorchs_own_class_is_not_renamed() -> None:
    """Hydra calls it with what is written."""
    error = refusal("hydra", Naming(names={"num_workers": "workers"}))

    assert error.message == "--rename fits --to hydra together with --class only"
    assert error.hint == "without it the class is PyTorch's DataLoader"


def test_two_settings_of_one_name_are_refused() -> None:
    """One of them would be lost."""
    error = refusal("lightning", Naming(names={"num_workers": "pin_memory"}))

    assert error.message == "--rename gives two settings the name 'pin_memory'"


@pytest.mark.parametrize(
    ("naming", "message", "hint"),
    [
        (
            {"class_path": "data.Photos()"},
            "--class is a dotted path such as data.Photos, got 'data.Photos()'",
            None,
        ),
        (
            {"names": {"num_worker": "workers"}},
            "--rename knows no setting 'num_worker'",
            "did you mean 'num_workers'?",
        ),
        (
            {"names": {"num_workers": "my workers"}},
            "an argument's name is needed for --rename, got 'my workers'",
            "--rename num_workers=workers",
        ),
    ],
)
def test_names_that_can_be_none_are_refused(
    naming: dict[str, Any], message: str, hint: str | None
) -> None:
    """They are written into code."""
    with pytest.raises(UsageError) as caught:
        Naming(**naming)

    assert caught.value.message == message
    assert caught.value.hint == hint


@pytest.mark.parametrize("name", NAMES)
def test_a_file_cannot_write_code(name: str) -> None:
    """Whatever its dataset is called stays within a comment, and can be seen."""
    spec = "x:y\nimport os\r\u2028os.remove('a')\n\u202e: !!python"
    honest, hostile = a_recommendation(), a_recommendation(dataset=spec)

    exported = export_to(hostile, name)

    assert code_of(exported) == code_of(export_to(honest, name))
    assert "\u202e" not in exported.text
    assert "\r" not in exported.text


def test_the_text_says_what_it_is_of() -> None:
    """The dataset, the least version, and where it goes."""
    export = export_to(a_recommendation(), "transformers")

    assert export.text == (
        "# DataLoader settings of mypackage.data:train_set, found by autoloader\n"
        "# transformers 4.38 or newer: TrainingArguments(..., **dataloader_arguments)\n"
        "# keep per_device_train_batch_size at 64 (examples of one device): the "
        "settings were\n"
        "#   measured with it, and no other was searched\n"
        "# one process a device is meant, as torchrun starts them\n"
        "dataloader_arguments = dict(\n"
        "    dataloader_num_workers=6,\n"
        "    dataloader_prefetch_factor=4,\n"
        "    dataloader_pin_memory=True,\n"
        "    dataloader_persistent_workers=True,\n"
        ")\n"
    )
    assert export.to_dict() == {
        "to": "transformers",
        "language": "python",
        "text": export.text,
        "settings": export.settings,
        "warnings": [],
    }


def test_the_manual_has_every_framework() -> None:
    """A row of its table each."""
    page = Path(__file__).parents[2] / "autoloader" / "docs" / "export.md"

    rows = re.findall(r"^\| `([a-z][a-z0-9-]+)` \|", page.read_text(), re.MULTILINE)

    assert rows == list(NAMES)

"""Keyword arguments of the Python API stand for flags, with the same words."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from autoloader.cli import build_parser
from autoloader.commands import check, measure, tune
from autoloader.commands.keywords import args_of, arguments_of
from autoloader.errors import UsageError
from autoloader.export.recommendation import Recommendation

if TYPE_CHECKING:
    from argparse import Namespace

SPEC = "mypackage.data:train_set"


def parsed(*words: str) -> dict[str, Any]:
    """Return what the command line makes of the same wishes."""
    found = vars(build_parser().parse_args([*words, "--dataset", SPEC]))
    return {name: value for name, value in found.items() if name in COMPARED}


COMPARED = frozenset(
    {
        "batch_size", "num_workers", "prefetch_factor", "pin_memory", "target",
        "persistent_workers", "memory", "budget", "examples", "seed", "id", "label",
        "out", "unit", "allow", "config", "fresh", "exhaustive", "contract", "verify",
        "trials", "ranks", "hang_after", "strict", "quiet", "dataset", "rounds",
    }
)  # fmt: skip


def asked(command: Any, **keywords: object) -> dict[str, Any]:
    """Return what keyword arguments make of them."""
    found = vars(args_of(command, SPEC, keywords))
    return {name: value for name, value in found.items() if name in COMPARED}


@pytest.mark.parametrize(
    ("keywords", "flags"),
    [
        ({}, []),
        ({"batch_size": 64}, ["--batch-size", "64"]),
        ({"batch_size": np.int64(64)}, ["--batch-size", "64"]),
        ({"batch_size": [32, 64]}, ["--batch-size", "32,64"]),
        ({"batch_size": "32,64"}, ["--batch-size", "32,64"]),
        ({"num_workers": range(9)}, ["--num-workers", "0:8"]),
        ({"num_workers": "0:8"}, ["--num-workers", "0:8"]),
        ({"num_workers": 4}, ["--num-workers", "4"]),
        ({"prefetch_factor": (2, 4)}, ["--prefetch-factor", "2,4"]),
        ({"prefetch_factor": range(2, 5)}, ["--prefetch-factor", "2,3,4"]),
        ({"pin_memory": True}, ["--pin-memory", "yes"]),
        ({"persistent_workers": "search"}, ["--persistent-workers", "search"]),
        ({"target": 2000}, ["--target", "2000"]),
        ({"target": 2000.0}, ["--target", "2000"]),
        ({"target": 0.5}, ["--target", "0.5"]),
        ({"target": "95%"}, ["--target", "95%"]),
        ({"memory": 8 * 2**30}, ["--memory", str(8 * 2**30)]),
        ({"memory": "8GiB"}, ["--memory", "8GiB"]),
        ({"budget": 90}, ["--budget", "90"]),
        ({"budget": "3m"}, ["--budget", "3m"]),
        ({"examples": "all", "verify": "all"}, ["--examples=all", "--verify=all"]),
        ({"seed": 7, "id": "0", "label": "1"}, ["--seed=7", "--id=0", "--label=1"]),
        ({"out": Path("a b.yaml")}, ["--out", "a b.yaml"]),
        ({"out": "-x.yaml"}, ["--out=-x.yaml"]),
        ({"unit": {"tokens": "data:count"}}, ["--unit", "tokens=data:count"]),
        ({"unit": ["tokens=data:count"]}, ["--unit", "tokens=data:count"]),
        ({"allow": "missing_ids"}, ["--allow", "missing_ids"]),
        ({"allow": ["a", "b"]}, ["--allow", "a", "--allow", "b"]),
        ({"fresh": True, "strict": False}, ["--fresh"]),
        ({"quiet": True, "trials": None}, ["--quiet"]),
    ],
)
def test_natural_types_stand_for_flags(
    keywords: dict[str, object], flags: list[str]
) -> None:
    """Numbers, lists, ranges, paths; None is as if nothing had been said."""
    assert asked(tune, **keywords) == parsed("tune", *flags)


class TestConfigs:
    """Settings of loaders come in many forms."""

    FORMS = (
        "num_workers=2",
        {"num_workers": 2, "persistent_workers": True, "prefetch_factor": None},
        Path("fast.yaml"),
        Recommendation({"dataloader": {"num_workers": 4, "batch_size": 8}}),
    )

    TEXTS = (
        "num_workers=2",
        "num_workers=2,persistent_workers=yes",
        "fast.yaml",
        "num_workers=4,batch_size=8",
    )

    @pytest.mark.parametrize("command", [check, measure])
    def test_a_list_of_them_keeps_its_order(self, command: Any) -> None:
        """The first one is what others are compared with."""
        assert asked(command, config=self.FORMS)["config"] == list(self.TEXTS)

    @pytest.mark.parametrize(("form", "text"), list(zip(FORMS, TEXTS, strict=True)))
    def test_one_needs_no_list(self, form: object, text: str) -> None:
        """A mapping is one, though it holds several settings."""
        assert asked(measure, config=form)["config"] == [text]


@pytest.mark.parametrize(
    ("command", "keywords", "message", "hint"),
    [
        (
            tune,
            {"batchsize": 64},
            "tune() has no argument 'batchsize'",
            "did you mean 'batch_size'?",
        ),
        (check, {"budget": 60}, "check() has no argument 'budget'", None),
        (measure, {"json": True}, "measure() has no argument 'json'", None),
        (
            tune,
            {"batch_size": object},
            "batch_size must be one value, got <class 'object'>",
            None,
        ),
        (
            tune,
            {"batch_size": []},
            "batch_size is empty",
            "leave batch_size out, and its default holds",
        ),
        (
            tune,
            {"num_workers": range(0, 9, 2)},
            "num_workers must be a range of every number in it, got range(0, 9, 2)",
            "for example num_workers=range(0, 9), which is 0 to 8",
        ),
        (
            tune,
            {"num_workers": [0, 1]},
            "num_workers must be one value, got [0, 1]",
            None,
        ),
        (tune, {"budget": float("nan")}, "budget must be one value, got nan", None),
        (tune, {"label": "a\0b"}, "label must be one value, got 'a\\x00b'", None),
        (tune, {"fresh": "yes"}, "fresh must be True or False, got 'yes'", None),
        (
            measure,
            {"config": [3]},
            "config must be a text, a file or a mapping, got 3",
            "for example config={'num_workers': 4}",
        ),
        (
            tune,
            {"trials": 3, "exhaustive": True},
            "argument --exhaustive: not allowed with argument --trials",
            "`autoloader tune --help` shows the flags",
        ),
        (
            tune,
            {"order": "random"},
            None,  # the words are Python's, and others in each version
            "`autoloader tune --help` shows the flags",
        ),
    ],
)
def test_what_is_no_flag_is_refused(
    command: Any, keywords: dict[str, object], message: str | None, hint: str | None
) -> None:
    """The name, the value, the rule."""
    with pytest.raises(UsageError) as caught:
        args_of(command, SPEC, keywords)

    assert message is None or caught.value.message == message
    assert hint is None or caught.value.hint == hint


def test_an_unknown_name_is_told_with_all_there_are() -> None:
    """Where none is like it."""
    with pytest.raises(UsageError) as caught:
        args_of(check, SPEC, {"xyzzy": 1})

    assert caught.value.hint == (
        "it has allow, batch_size, config, contract, epoch_examples, examples, "
        "hang_after, id, isolation, label, on_epoch, order, quiet, ranks, seed, "
        "start_method, strict, transforms, write_contract"
    )


def test_arguments_of_a_function_stay_as_they_are() -> None:
    """They are read as no YAML: a text stays one, though it looks like a number."""
    given = {"root": "/data", "size": "224", "splits": ["a", "b"], "scale": None}

    assert arguments_of(given) == tuple(given.items())
    assert arguments_of(None) == ()


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        (
            ["root=/data"],
            "arg must be a mapping of names to values, got ['root=/data']",
            "for example arg={'root': '/data/train'}",
        ),
        (
            {"not a name": 1},
            "arg must have names as keys, got 'not a name'",
            "for example arg={'root': '/data/train'}",
        ),
        (
            {"root": b"/data"},
            "arg['root'] must be a plain value, got b'/data'",
            "give a function without arguments that makes the dataset",
        ),
    ],
)
def test_arguments_that_cannot_be_sent_are_refused(
    given: object, message: str, hint: str
) -> None:
    """They go to other processes as JSON."""
    with pytest.raises(UsageError) as caught:
        arguments_of(given)

    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_a_request_is_the_same_by_keywords_and_by_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One place makes it of both."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.py").touch()
    from autoloader.commands.arguments import source_of

    words = ["tune", "--dataset", "data.py:train", "--batch-size", "8,16"]
    by_flags = build_parser().parse_args([*words, "--num-workers", "0:2"])
    source = source_of(by_flags)
    by_keywords: Namespace = args_of(
        tune, "data.py:train", {"batch_size": [8, 16], "num_workers": range(3)}
    )

    assert tune.request_of(by_keywords, source) == tune.request_of(by_flags, source)

"""Which study a folder holds, how far it came, and what is kept apart from it."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autoloader.search.differences import key_differences, what_differs
from autoloader.search.folder import StudyFolder, StudyKey, StudyState
from autoloader.search.space import Space, SpaceRequest
from autoloader.search.study_code import code_digests
from autoloader.values.config import LoaderConfig
from autoloader.values.contract import Contract
from autoloader.values.gate import GatePolicy
from autoloader.values.scope import LiveObject, ScopeRequest, SourceSpec, UnitSpec
from tests.fakes import a_machine, a_scope, some_facts

SPACE = Space(
    num_workers=(0, 2),
    prefetch_factor=(2,),
    pin_memory=(False,),
    persistent_workers=(False, True),
    batch_size=(32, None),
)


def a_state(*, finished: bool = False) -> StudyState:
    """Return how far some study came."""
    return StudyState(
        finished=finished,
        spent_s=12.5,
        scope=a_scope(),
        facts=some_facts(baseline=LoaderConfig(num_workers=0, batch_size=8)),
        space=SPACE,
        memory_bytes=2**33,
    )


def a_key(spec: str = "data.py:train", **changed: Any) -> StudyKey:
    """Return the key of a study of `spec`, some parts changed."""
    parts: dict[str, Any] = {
        "source": SourceSpec(spec=spec),
        "scope": ScopeRequest(),
        "space": SpaceRequest(),
        "machine": a_machine(),
        "ranks": 1,
        "isolation": "auto",
        "policy": GatePolicy(),
    }
    return StudyKey.of(**{**parts, **changed})


def left(root: Path, key: StudyKey, *, finished: bool = False) -> Path:
    """Leave a study of this key behind; return its folder."""
    folder = StudyFolder(root, key)
    folder.make()
    folder.write(a_state(finished=finished))
    return folder.path


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Dataset, scope and space included."""
    folder = StudyFolder(tmp_path, a_key())
    folder.make()

    folder.write(a_state())

    assert folder.read() == a_state()
    assert folder.cautions() == []
    assert not folder.is_empty
    assert folder.path.stat().st_mode & 0o777 == 0o700


def test_a_study_that_never_began_has_no_state(tmp_path: Path) -> None:
    """And nothing to say of it."""
    folder = StudyFolder(tmp_path / "none", a_key())

    assert folder.read() is None
    assert folder.cautions() == []
    assert folder.is_empty


@pytest.mark.parametrize(
    "changed",
    [
        {"source": SourceSpec(spec="data.py:train", arguments=(("root", "/x"),))},
        {"scope": ScopeRequest(seed=1)},
        {"scope": ScopeRequest(examples=100)},
        {"scope": ScopeRequest(order="as-is")},
        {"scope": ScopeRequest(transforms="fixed")},
        {"scope": ScopeRequest(label="1")},
        {"scope": ScopeRequest(id="0")},
        {"scope": ScopeRequest(epoch_examples=9)},
        {"scope": ScopeRequest(start_method="spawn")},
        {"scope": ScopeRequest(on_epoch="data.py:begin")},
        {"scope": ScopeRequest(contract=Contract(examples=3))},
        {"scope": ScopeRequest(cache="cold")},
        {"scope": ScopeRequest(units=(UnitSpec(name="t", spec="data.py:count"),))},
        {"space": SpaceRequest(num_workers=(1, 2))},
        {"machine": a_machine(4)},
        {"machine": replace(a_machine(), python="3.14.0")},
        {"ranks": 2},
        {"isolation": "fresh"},
        {"policy": GatePolicy(allowed=("missing_ids",))},
        {"policy": GatePolicy(is_strict=True)},
        {"policy": GatePolicy(hang_after_s=90.0)},
        {"memory_bytes": 2**32},
    ],
)
def test_what_changes_a_reading_is_another_study(changed: dict[str, Any]) -> None:
    """Each flag of its own, and the versions of what runs."""
    assert a_key(**changed).folder_name != a_key().folder_name


def a_live_object(signature: str, file: str) -> SourceSpec:
    """Return the source of an object that was handed over."""
    live = LiveObject(file=file, size_bytes=9, signature=signature)
    return SourceSpec(spec="__main__.Photos object", live=live)


def test_a_live_object_is_known_by_its_signature(tmp_path: Path) -> None:
    """Not by the file that it is read from, which is another one each time."""
    key = a_key(source=a_live_object("1", "/tmp/a/object"))
    again = a_key(source=a_live_object("1", "/tmp/b/object"))
    other = a_key(source=a_live_object("2", "/tmp/a/object"))
    left(tmp_path, key)

    ((message, _hint),) = StudyFolder(tmp_path, other).cautions()

    assert key.folder_name == again.folder_name
    assert key.folder_name.startswith("main-Photos-object-")
    assert key.to_dict()["source"] == {
        "spec": "__main__.Photos object",
        "arguments": [],
    }
    assert message == (
        "an unfinished study of this dataset is kept apart: the code of --dataset has "
        "changed"
    )


def test_another_torch_is_another_study(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its loader is what is measured."""
    before = a_key().folder_name
    monkeypatch.setattr("importlib.metadata.version", lambda name: "99.0")

    assert a_key().folder_name != before
    assert a_key().software == {"python": "3.11.7", "torch": "99.0"}


def test_the_time_of_the_reference_is_no_part_of_a_study() -> None:
    """It follows the budget, and the budget may be raised."""
    longer = a_key(scope=ScopeRequest(time_limit_s=99.0))

    assert longer.folder_name == a_key().folder_name


def test_a_changed_file_is_another_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the dataset, of what is called before an epoch, of a unit."""
    monkeypatch.chdir(tmp_path)
    specs = {"a": "data.py:train", "b": "epochs.py:begin", "c": "units.py:count"}
    for spec in specs.values():
        Path(spec.partition(":")[0]).write_text("a = 1\n")

    before = code_digests(specs)
    Path("units.py").write_text("a = 2\n")
    after = code_digests(specs)

    assert list(before) == ["a", "b", "c"]
    assert [name for name in specs if before[name] != after[name]] == ["c"]
    assert all(before.values())


def test_the_file_of_a_module_is_found_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package's file would run where only torch's own processes may."""
    package = tmp_path / "seldom_named"
    (package / "below").mkdir(parents=True)
    for place in ("__init__.py", "data.py", "below/__init__.py"):
        (package / place).write_text("raise SystemExit('it was imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    names = ("seldom_named", "seldom_named.data", "seldom_named.below")
    specs = {name: f"{name}:train" for name in names}

    before = code_digests(specs)
    (package / "data.py").write_text("a = 1\n")
    after = code_digests(specs)

    assert [name for name in names if before[name] != after[name]] == [names[1]]
    assert all(before.values())
    assert "seldom_named" not in sys.modules


@pytest.mark.parametrize(
    "spec", ["none.py:x", "no_such_module:x", "os.path.none:x", "sys:x", ".:x", "\0:x"]
)
def test_code_that_is_not_found_has_no_digest(spec: str) -> None:
    """The child says what is wrong with it."""
    assert code_digests({"--dataset": spec}) == {"--dataset": ""}


def test_keys_differ_in_their_parts() -> None:
    """By dotted names, long values cut; what is missing was not given."""
    old = {"scope": {"seed": 0, "label": None}, "ranks": 1, "gone": "x" * 99}
    new = {"scope": {"seed": 1, "label": "y"}, "ranks": 1, "come": [1]}

    found = key_differences(old, new)

    assert [item.sentence for item in found] == [
        "its scope.seed was 0, now 1",
        "its scope.label was not given, now 'y'",
        "its come was not given, now [1]",
        f"its gone was '{'x' * 37}...{'x' * 16}..., now not given",
    ]


def test_equal_keys_do_not_differ() -> None:
    """Whatever is in them."""
    assert key_differences(a_key().to_dict(), a_key().to_dict()) == ()


def test_an_unfinished_study_that_is_kept_apart_is_told(tmp_path: Path) -> None:
    """Which parts differ, and the way back to it."""
    old = left(tmp_path, a_key())
    changed = a_key(scope=ScopeRequest(seed=1), ranks=2)

    cautions = StudyFolder(tmp_path, changed).cautions()

    assert cautions == [
        (
            "an unfinished study of this dataset is kept apart: its scope.seed was 0, "
            "now 1; its ranks was 1, now 2",
            f"the flags of then go on with it; rm -r {old} where it is of no use",
        )
    ]


@pytest.mark.parametrize(
    ("then", "now", "words"),
    [
        (2**32, 2**33, "its memory was 4.0 GiB, now 8.0 GiB"),
        (None, 3 * 2**29, "its memory was not given, now 1.5 GiB"),
        (2**32, None, "its memory was 4.0 GiB, now not given"),
        (2**32, 2**32 + 1, "its memory was 4294967296, now 4294967297"),
    ],
)
def test_a_study_under_another_memory_is_kept_apart(
    then: int | None, now: int | None, words: str, tmp_path: Path
) -> None:
    """What one refuses for its size, the other may take."""
    left(tmp_path, a_key(memory_bytes=then))

    ((message, hint),) = StudyFolder(tmp_path, a_key(memory_bytes=now)).cautions()

    assert message == f"an unfinished study of this dataset is kept apart: {words}"
    assert hint is not None
    assert hint.startswith("the flags of then go on with it; ")


def test_a_password_is_neither_kept_nor_a_part_of_the_study(tmp_path: Path) -> None:
    """A new one is no other dataset; another host is, and it is told without one."""
    arguments = {
        name: (("url", f"postgres://user:{name}@{host}/x"),)
        for name, host in (("old", "a"), ("new", "a"), ("secret", "b"))
    }
    old, new, secret = (
        a_key(source=SourceSpec(spec="data.py:make", arguments=found))
        for found in arguments.values()
    )
    file = left(tmp_path, old) / "study.json"

    ((message, _),) = StudyFolder(tmp_path, secret).cautions()

    assert new.folder_name == old.folder_name
    assert StudyFolder(tmp_path, new).read() == a_state()
    assert "postgres://user:***@a/x" in file.read_text()
    assert ":old@" not in file.read_text()
    assert "postgres://user:***@b/x" in message


def test_a_study_of_other_code_cannot_be_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that it can only be removed."""
    monkeypatch.chdir(tmp_path)
    Path("data.py").write_text("a = 1\n")
    old = left(tmp_path, a_key())
    Path("data.py").write_text("a = 2\n")

    cautions = StudyFolder(tmp_path, a_key("./data.py:train")).cautions()

    assert cautions == [
        (
            "an unfinished study of this dataset is kept apart: its source.spec was "
            "'data.py:train', now './data.py:train'; the code of --dataset has "
            "changed",
            f"rm -r {old} where it is of no use any more",
        )
    ]


def test_three_differences_are_named(tmp_path: Path) -> None:
    """The rest is counted."""
    left(tmp_path, a_key())
    request = ScopeRequest(seed=1, label="y", id="x", order="as-is", cache="cold")

    ((message, _),) = StudyFolder(tmp_path, a_key(scope=request)).cautions()

    assert message.endswith(
        "its scope.seed was 0, now 1; its scope.order was not given, now 'as-is'; "
        "its scope.label was not given, now 'y'; 2 more differ"
    )


def test_the_study_last_worked_on_is_told(tmp_path: Path) -> None:
    """Older ones are found as well."""
    older = left(tmp_path, a_key(ranks=2))
    newer = left(tmp_path, a_key(ranks=3))
    os.utime(older / "study.json", (1000, 1000))
    os.utime(newer / "study.json", (2000, 2000))
    folder = StudyFolder(tmp_path, a_key())

    assert [path for path, _ in folder.kept_apart()] == [newer, older]
    assert "its ranks was 3, now 1" in folder.cautions()[0][0]
    assert len(folder.cautions()) == 1


def test_a_study_that_is_gone_on_with_needs_no_word_of_others(tmp_path: Path) -> None:
    """A finished one begins anew, so that the other is worth knowing again."""
    left(tmp_path, a_key(ranks=2))
    folder = StudyFolder(tmp_path, a_key())
    folder.make()

    folder.write(a_state())
    while_open = folder.cautions()
    folder.write(a_state(finished=True))

    assert while_open == []
    assert len(folder.cautions()) == 1


def test_what_is_no_unfinished_study_of_the_dataset_is_not_told(
    tmp_path: Path,
) -> None:
    """Finished ones, other datasets, measurings, and what is damaged."""
    left(tmp_path, a_key(ranks=2), finished=True)
    left(tmp_path, a_key("other.py:train"))
    older = left(tmp_path, a_key(ranks=3)) / "study.json"
    older.write_text(json.dumps({**json.loads(older.read_text()), "schema": 1}))
    for number, text in enumerate(["{", "[]", '{"kind": "measure"}', '{"key": 3}']):
        (tmp_path / f"odd-{number}").mkdir()
        (tmp_path / f"odd-{number}" / "study.json").write_text(text)
    (tmp_path / "odd-pipe").mkdir()
    os.mkfifo(tmp_path / "odd-pipe" / "study.json")

    assert StudyFolder(tmp_path, a_key()).kept_apart() == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"spent_s": "long"}, "spent_s must be float, got 'long'"),
        (
            {"spent_s": -1},
            "it cannot be used: spent_s must be at least 0, got -1.0",
        ),
        ({"spent_s": 10**400}, "spent_s must be a finite number, got "),
        (
            {"memory_bytes": 0},
            "it cannot be used: memory_bytes must be at least 1, got 0",
        ),
        ({"memory_bytes": "8GiB"}, "memory_bytes must be int | None, got '8GiB'"),
        ({"finished": 1}, "finished must be bool, got 1"),
        ({"scope": []}, "scope must be a mapping, got []"),
        ({"scope": {}}, "scope lacks the field 'examples'"),
        ({"space": {"num_workers": 3}}, "space lacks the field 'prefetch_factor'"),
    ],
)
def test_a_damaged_state_is_told_with_its_place(
    tmp_path: Path, changed: dict[str, Any], words: str
) -> None:
    """The study begins anew, and what it had is kept."""
    key = a_key()
    file = left(tmp_path, key) / "study.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changed}))
    folder = StudyFolder(tmp_path, key)

    ((message, hint),) = folder.cautions()

    assert message.startswith(f"{file}: {words}")
    assert message.endswith(": the study begins anew")
    assert hint == "its outcomes are kept beside it, under another name"
    assert folder.read() is None


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{", ": it is no JSON, Expecting property name enclosed in double quotes: "),
        (b"[]", ": study must be a mapping, got list"),
        (b"[" * 100_000, ": it is no JSON, maximum recursion depth exceeded"),
        (b"\xff", " cannot be read: it is no UTF-8 text, invalid start byte at byte 0"),
    ],
)
def test_a_state_that_is_no_json_is_told(
    tmp_path: Path, data: bytes, words: str
) -> None:
    """Nothing is made of half a file."""
    key = a_key()
    file = left(tmp_path, key) / "study.json"
    file.write_bytes(data)

    ((message, _),) = StudyFolder(tmp_path, key).cautions()

    assert message.startswith(f"{file}{words}")


@pytest.mark.parametrize("changed", [{"schema": 1}, {"key": {}}])
def test_the_state_of_another_study_is_not_taken(
    tmp_path: Path, changed: dict[str, Any]
) -> None:
    """Not of another version, nor where somebody renamed a folder."""
    key = a_key()
    file = left(tmp_path, key) / "study.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changed}))

    assert StudyFolder(tmp_path, key).read() is None


def test_what_differs_in_a_dataset_is_one_sentence() -> None:
    """The study begins anew then."""
    facts = some_facts()
    (field,) = facts.fields
    baseline = LoaderConfig(num_workers=0, batch_size=8).to_dict()

    assert what_differs(facts, replace(facts, example_s=9.0)) is None
    assert [
        what_differs(facts, replace(facts, length=7)),
        what_differs(facts, replace(facts, label="1")),
        what_differs(facts, replace(facts, fields=(replace(field, dtype="int8"),))),
        what_differs(facts, replace(facts, baseline=baseline)),
    ] == [
        "the dataset has 7 examples, the study began with 1600",
        "the label is '1', the study began with None",
        "the fields of an example are not those that the study began with",
        "the settings of your DataLoader are not those that the study began with",
    ]


def test_a_step_makes_another_study_and_its_code_belongs_to_it(tmp_path: Path) -> None:
    """A study without one keeps the name that it had before there were steps."""
    step = tmp_path / "train.py"
    step.write_text("def step(batch): ...\n")
    without, with_step = a_key(), a_key(step=f"{step}:step")

    step.write_text("def step(batch): batch.sum()\n")
    changed = a_key(step=f"{step}:step")

    assert "step" not in without.to_dict()
    names = {key.folder_name for key in (without, with_step, changed)}
    assert len(names) == 3
    (differs,) = key_differences(with_step.to_dict(), changed.to_dict())
    assert differs.sentence == "the code of --step has changed"
    (given,) = key_differences(without.to_dict(), a_key(step="train:step").to_dict())
    assert given.sentence == "its step was not given, now 'train:step'"

"""The contract's file: what is written is read back, what people break is told."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autoloader.errors import StoredFileError, UsageError
from autoloader.export.contract_file import read_contract, write_contract
from autoloader.values.contract import (
    Axes,
    Contract,
    ContractField,
    ContractLabel,
    Padding,
    Rules,
)
from tests.whole_contract import CONTRACT

SPEC = "mypackage.data:train_set"

BODY = """\
schema: 1
dataset: mypackage.data:train_set
examples: 50000
fields:
- path: image
  type: tensor
  dtype: float32
  shape: [3, null, null]
  axes: channels_first
  random: true
- path: caption
  type: str
  optional: true
- path: '0'
  type: int
  shape: []
label:
  path: '0'
  low: 0
  high: 9
equal_sizes:
- ['image[1]', 'image[2]']
padding:
- mask: mask
  of: image
  axis: 1
rules:
  shapes: fixed
  incomplete: refuse
  filtered: false
seen: 2048
of: 50000
"""


def written(folder: Path, text: str) -> Path:
    """Write a file as a person would."""
    path = folder / "contract.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_file_is_for_people_to_edit(tmp_path: Path) -> None:
    """Comments first, one shape a line, nothing that equals its default."""
    path = tmp_path / "contract.yaml"

    assert write_contract(path, CONTRACT, dataset=SPEC)

    head, _, body = path.read_text(encoding="utf-8").partition("\n\n")
    assert body == BODY
    assert all(line.startswith("#") for line in head.splitlines())
    assert max(map(len, head.splitlines())) <= 88
    for key in yaml.safe_load(body):
        assert key in {"schema", "dataset"} or key in head
    for rule in ("shapes", "incomplete", "filtered"):
        assert re.search(rf"^#   {rule} ", head, re.MULTILINE)


NAMES = st.text(
    st.characters(exclude_categories=["Cs"]), max_size=12
) | st.sampled_from(
    [
        "",
        "0",
        "1.5",
        "null",
        "yes",
        "on",
        "~",
        "1:30",
        "meta.key",
        "größe",
        "- x",
        "#",
        "a\x85b",
    ]
)
COUNTS = st.integers(0, 10**12)
LABELS = st.tuples(st.integers(-5, 5), st.integers(0, 10**9)).map(
    lambda pair: (pair[0], pair[0] + pair[1])
) | st.just((None, None))


@st.composite
def fields(draw: st.DrawFn, path: str) -> ContractField:
    """Return a field of any kind."""
    shape = draw(st.none() | st.lists(st.none() | COUNTS, max_size=5).map(tuple))
    images: list[Axes | None] = [None, "channels_first", "channels_last"]
    return ContractField(
        path=path,
        type=draw(NAMES),
        dtype=draw(st.none() | NAMES),
        shape=shape,
        axes=draw(
            st.sampled_from(images if shape and len(shape) in {3, 4} else [None])
        ),
        random=draw(st.booleans()),
        optional=draw(st.booleans()),
    )


@st.composite
def contracts(draw: st.DrawFn) -> Contract:
    """Return a contract of any kind."""
    paths = draw(st.lists(NAMES, max_size=4, unique=True))
    found = tuple(draw(fields(path)) for path in paths)
    sizes = [(f.path, a) for f in found for a in range(len(f.shape or ()))]
    low, high = draw(LABELS)
    group = tuple(f"{path}[{axis}]" for path, axis in sizes)
    rules = [
        Rules(),
        Rules(shapes="free"),
        Rules(incomplete="allow", filtered=True),
    ]
    return Contract(
        examples=draw(st.none() | COUNTS),
        fields=found,
        label=ContractLabel(path=paths[0], low=low, high=high) if paths else None,
        equal_sizes=(group, group[:2]) if len(group) > 1 else (),
        padding=tuple(Padding(mask=draw(NAMES), of=p, axis=a) for p, a in sizes[:2]),
        rules=draw(st.sampled_from(rules)),
        seen=draw(COUNTS),
        of=draw(st.none() | COUNTS),
    )


@settings(deadline=None)
@given(contract=contracts(), dataset=NAMES)
@example(contract=Contract(), dataset="a\x85b\r\n\u2028\ufeff c")
def test_what_was_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, contract: Contract, dataset: str
) -> None:
    """Exactly, and a second writing of the same leaves the file as it is."""
    path = tmp_path_factory.mktemp("contract") / "contract.yaml"

    write_contract(path, contract, dataset=dataset)

    assert read_contract(path) == contract
    assert not write_contract(path, contract, dataset=dataset)


def test_a_file_that_says_the_same_keeps_its_comments(tmp_path: Path) -> None:
    """What people wrote into it is theirs."""
    path = written(tmp_path, f"# mine\n{BODY}")

    assert not write_contract(path, CONTRACT, dataset=SPEC)
    assert path.read_text(encoding="utf-8").startswith("# mine\n")


def test_a_file_that_says_something_else_is_not_replaced(tmp_path: Path) -> None:
    """Unless that is asked for."""
    path = written(tmp_path, BODY.replace("high: 9", "high: 8"))
    before = path.read_text(encoding="utf-8")

    with pytest.raises(UsageError) as caught:
        write_contract(path, CONTRACT, dataset="other:set")

    assert caught.value.message == f"{path} exists and differs in dataset, label"
    assert caught.value.hint == (
        "name another file to compare the two, or remove this one first"
    )
    assert path.read_text(encoding="utf-8") == before
    assert write_contract(path, CONTRACT, dataset=SPEC, replace=True)
    assert read_contract(path) == CONTRACT


def test_a_file_of_another_kind_is_not_replaced(tmp_path: Path) -> None:
    """Somebody else's YAML stays what it is."""
    path = written(tmp_path, "a: 1\n")

    with pytest.raises(UsageError) as caught:
        write_contract(path, CONTRACT, dataset=SPEC)

    assert caught.value.message == (
        f"{path} exists and cannot be read as a contract: "
        f"{path} is no contract: it lacks 'schema'"
    )
    assert caught.value.hint == "name another file, or remove this one first"
    assert path.read_text(encoding="utf-8") == "a: 1\n"


@pytest.mark.parametrize("name", ["missing.yaml", ".", "contract.yaml/below"])
def test_where_there_is_no_file_the_way_to_one_is_told(
    tmp_path: Path, name: str
) -> None:
    """A folder is none either."""
    written(tmp_path, BODY)
    path = tmp_path / name

    with pytest.raises(UsageError) as caught:
        read_contract(path)

    assert caught.value.message == f"there is no contract at {path}"
    assert caught.value.hint == (
        f"`autoloader check --dataset SPEC --write-contract {path}` writes one"
    )


def test_a_file_that_cannot_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the reason of the system."""
    path = written(tmp_path, BODY)

    def refuse(*_arguments: object, **_keywords: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("autoloader.export.contract_file.read_text", refuse)

    with pytest.raises(
        StoredFileError, match=f"^{re.escape(str(path))} cannot be read: Permission"
    ):
        read_contract(path)


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    """Such as a picture under the wrong name."""
    path = tmp_path / "contract.yaml"
    path.write_bytes(b"\xff\xd8")

    with pytest.raises(
        StoredFileError,
        match=f"^{re.escape(str(path))} cannot be read: it is no UTF-8 text, invalid "
        "start byte at byte 0$",
    ):
        read_contract(path)


def test_an_emptied_section_is_as_a_missing_one(tmp_path: Path) -> None:
    """What is not said is not held."""
    path = written(tmp_path, "schema: 1\nfields:\nlabel: ~\nrules:\nexamples: null\n")

    assert read_contract(path) == Contract()


def test_a_section_holds_what_it_names_and_defaults_otherwise(tmp_path: Path) -> None:
    """One rule may be written alone."""
    path = written(
        tmp_path,
        "schema: 1\nrules: {shapes: free}\nfields: [{path: '', type: tensor}]\n",
    )

    assert read_contract(path) == Contract(
        fields=(ContractField(path="", type="tensor"),), rules=Rules(shapes="free")
    )


QUOTES = "write names that look like numbers in quotes: path: '0'"

BROKEN = [
    ("[", "{} is no YAML in line 1: expected the node content, but found "
     "'<stream end>'",
     None),
    ("schema: 1\nexamples: 1\n  of: 2\n",
     "{} is no YAML in line 3: mapping values are not allowed here", None),
    ("a: \x01", "{} is no YAML: unacceptable character #x0001: special characters are "
     "not allowed", None),
    ("", "{} is no contract: a mapping is needed, got NoneType", None),
    ("- 1", "{} is no contract: a mapping is needed, got list", None),
    ("examples: 3", "{} is no contract: it lacks 'schema'", "schema: 1"),
    ("schema: 2", "{} has schema 2, this version reads 1",
     "upgrade the package, or write it again"),
    ("schema: 1\nfeilds: []", "{} has an unknown section 'feilds'",
     "did you mean 'fields'?"),
    ("schema: 1\ndataset: 3", "{}: dataset must be str, got 3", QUOTES),
    ("schema: 1\nexamples: many", "{}: contract.examples must be int | None, "
     "got 'many'", None),
    ("schema: 1\nseen: true", "{}: contract.seen must be int, got True", None),
    ("schema: 1\nfields: {path: x}", "{}: fields must be a list, got dict", None),
    ("schema: 1\nfields: [{path: x, type: int}, 3]",
     "{}: fields[1] must be a mapping, got int", None),
    ("schema: 1\nfields: [{path: x, type: int}, {path: 0, type: int}]",
     "{}: fields[1].path must be str, got 0", QUOTES),
    ("schema: 1\nfields: [{path: x}]", "{}: fields[0] lacks the field 'type'", None),
    ("schema: 1\nfields: [{path: x, type: int, shap: [3]}]",
     "{}: fields[0] has no field 'shap'", "did you mean 'shape'?"),
    ("schema: 1\nfields: [{path: x, type: int, shape: [3, any]}]",
     "{}: fields[0].shape[1] must be int | None, got 'any'", None),
    ("schema: 1\nfields: [{path: x, type: int, shape: [-3]}]",
     "{}: fields[0] cannot be used: a size of 'x' must be at least 0, got -3", None),
    ("schema: 1\npadding: [{mask: m}]", "{}: padding[0] lacks the field 'of'", None),
    ("schema: 1\nlabel: {path: y, low: 3}",
     "{}: label cannot be used: a label has both low and high, or neither", None),
    ("schema: 1\nlabel: y", "{}: label must be a mapping, got str", None),
    ("schema: 1\nrules: {shapes: loose}",
     "{}: rules.shapes must be 'fixed' | 'free', got 'loose'", None),
    ("schema: 1\nrules: {filtered: true}", "{}: rules cannot be used: filtered: true "
     "needs incomplete: allow, got incomplete: refuse", None),
    ("schema: 1\nequal_sizes: [[a, 'b[0]']]", "{}: contract cannot be used: a size "
     "must be written FIELD[axis], such as input_ids[0], got 'a'", None),
    ("schema: 1\nequal_sizes: [[1, 2]]",
     "{}: contract.equal_sizes[0][0] must be str, got 1", QUOTES),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sentence", "hint"), BROKEN, ids=[text for text, _, _ in BROKEN]
)
def test_what_is_wrong_in_a_file_is_told_with_its_place(
    tmp_path: Path, text: str, sentence: str, hint: str | None
) -> None:
    """Key, value, rule and the way out."""
    path = written(tmp_path, text)

    with pytest.raises(StoredFileError) as caught:
        read_contract(path)

    assert caught.value.message == sentence.format(path)
    assert caught.value.hint == hint


def test_the_page_shows_a_file_that_can_be_read(tmp_path: Path) -> None:
    """`autoloader help contract` is what people copy from."""
    page = Path(__file__).parents[2] / "autoloader" / "docs" / "contract.md"
    shown = page.read_text(encoding="utf-8").partition("**An example.**\n\n")[2]
    text = shown.partition("\n\n")[0]

    found = read_contract(written(tmp_path, text.replace("\n    ", "\n").lstrip()))

    assert found.fields[0].shape == (3, None, None)
    assert found.label == ContractLabel(path="label", low=0, high=9)

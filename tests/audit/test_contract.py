"""Examples are held against a contract, and what breaks it is said without content."""

from dataclasses import replace

import pytest

from autoloader.audit import contract as module
from autoloader.audit.contract import ContractCheck, Kind, Kinds
from autoloader.audit.contract_watch import ContractWatch, count_finding
from autoloader.values.contract import (
    Axes,
    Contract,
    ContractField,
    ContractLabel,
    Rules,
)

NONE: Kinds = (("", "none", None, None),)


def tensor(name: str, *shape: int, dtype: str = "float32") -> Kind:
    """Return what a tensor of an example is."""
    return (name, "tensor", dtype, shape)


def field(name: str, *shape: int | None, axes: Axes | None = None) -> ContractField:
    """Return a field that must be such a tensor."""
    return ContractField(
        path=name, type="tensor", dtype="float32", shape=shape, axes=axes
    )


IMAGE = field("image", 3, 16, 16)
MASK = field("mask", 16, 16)
GOOD = (tensor("image", 3, 16, 16), tensor("mask", 16, 16))


def words(
    kinds: Kinds, *fields: ContractField, rules: Rules | None = None
) -> tuple[str, ...]:
    """Return what breaks a contract of these fields."""
    contract = Contract(fields=fields, rules=rules or Rules())
    return ContractCheck(contract).violations(kinds, None)


def test_an_example_as_the_contract_has_it_keeps_it() -> None:
    """Nothing is said of it."""
    assert words(GOOD, IMAGE, MASK) == ()


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (
            tensor("image", 1, 16, 16),
            "image is 1 x 16 x 16, the contract says 3 x 16 x 16",
        ),
        (tensor("image", 16, 16), "image is 16 x 16, the contract says 3 x 16 x 16"),
        (tensor("image", 7), "image is of length 7, the contract says 3 x 16 x 16"),
        (tensor("image"), "image is a single number, the contract says 3 x 16 x 16"),
        (
            ("image", "tensor", "float32", None),
            "image is without a regular shape, the contract says 3 x 16 x 16",
        ),
        (
            tensor("image", 3, 16, 16, dtype="uint8"),
            "image is uint8, the contract says float32",
        ),
        (("image", "str", None, None), "image is str, the contract says tensor"),
        (("image", "none", None, None), "image is None"),
    ],
)
def test_a_field_that_is_otherwise_is_told(kind: Kind, sentence: str) -> None:
    """What it is, and what it should be."""
    assert words((kind, GOOD[1]), IMAGE, MASK) == (sentence,)


def test_missing_and_further_fields_are_told() -> None:
    """Places in a list read as such."""
    kinds = (GOOD[0], tensor("depth", 4))

    assert words(kinds, IMAGE, MASK, field("0", 1)) == (
        "mask is missing",
        "field 0 is missing",
        "depth is not in the contract",
    )


def test_none_is_told_where_it_stands() -> None:
    """As the example, or above fields, once."""
    below = (field("meta.a", 1), field("meta.b", 1))

    assert words(NONE, IMAGE, MASK) == ("example is None",)
    assert words(NONE, field("", 3)) == ("example is None",)
    assert words(NONE, replace(field("", 3), optional=True)) == ()
    assert words((GOOD[0], ("meta", "none", None, None)), IMAGE, *below) == (
        "meta is None",
    )


def test_an_optional_field_may_be_missing_or_none_but_not_otherwise() -> None:
    """What is there must be right."""
    optional = ContractField(path="mask", type="tensor", shape=(16, 16), optional=True)

    assert words(GOOD[:1], IMAGE, optional) == ()
    assert words((GOOD[0], ("mask", "none", None, None)), IMAGE, optional) == ()
    assert words((GOOD[0], tensor("mask", 8, 8)), IMAGE, optional) == (
        "mask is 8 x 8, the contract says 16 x 16",
    )


def test_none_is_told_of_a_field_of_any_type_as_well() -> None:
    """Its shape is not asked for then."""
    kinds: Kinds = (("x", "none", None, None),)
    loose = ContractField(path="x", type="varies", shape=())

    assert words(kinds, loose) == ("x is None",)
    assert words(kinds, replace(loose, optional=True)) == ()


def test_what_is_not_named_is_not_held() -> None:
    """Fields, types, dtypes, shapes and single sizes."""
    loose = ContractField(path="x", type="varies", dtype="varies", shape=(None, 4))

    assert words((tensor("y", 1),)) == ()
    assert words((tensor("x", 9, 4, dtype="uint8"),), loose) == ()
    assert words((("x", "Frame", None, (1, 4)),), loose) == ()
    assert words((tensor("x", 9, 5),), loose) == (
        "x is 9 x 5, the contract says any x 4",
    )
    assert words((tensor("x", 1),), field("x", None)) == ()
    assert words((tensor("x"),), field("x", None)) == (
        "x is a single number, the contract says of any length",
    )
    assert words((tensor("x", 1),), ContractField(path="x", type="tensor")) == ()


def test_free_shapes_hold_the_number_of_dimensions_alone() -> None:
    """And where the channels are."""
    free = Rules(shapes="free")
    image = field("image", 3, 16, 16, axes="channels_first")

    assert words((tensor("image", 1, 99, 7),), image, rules=free) == ()
    assert words((tensor("image", 16, 16),), image, rules=free) == (
        "image is 16 x 16, the contract says 3 dimensions",
    )
    assert words((tensor("image", 16, 16, 3),), image, rules=free) == (
        "image is 16 x 16 x 3, the contract says channels first",
    )


@pytest.mark.parametrize(
    ("axes", "shape", "keeps"),
    [
        ("channels_first", (1, 20, 30), True),
        ("channels_first", (20, 30, 3), False),
        ("channels_last", (20, 30, 4), True),
        ("channels_last", (4, 20, 30), False),
        ("channels_first", (8, 3, 20, 30), True),
        ("channels_first", (8, 20, 30, 3), False),
        ("channels_last", (8, 20, 30, 3), True),
    ],
)
def test_channels_stay_where_they_are(
    axes: Axes, shape: tuple[int, ...], keeps: bool
) -> None:
    """With a leading axis of time as well."""
    image = field("image", *[None] * len(shape), axes=axes)

    assert (words((tensor("image", *shape),), image) == ()) is keeps


def test_sizes_that_must_be_equal_are_compared_within_an_example() -> None:
    """Where a field is missing, the others are still compared."""
    names = ("ids", "mask", "types")
    contract = Contract(
        fields=tuple(
            ContractField(path=name, type="tensor", shape=(None,), optional=True)
            for name in names
        ),
        equal_sizes=(tuple(f"{name}[0]" for name in names),),
    )
    check = ContractCheck(contract)

    def said(**sizes: int) -> tuple[str, ...]:
        kinds = tuple(tensor(name, size) for name, size in sizes.items())
        return check.violations(kinds, None)

    assert said(ids=5, mask=5, types=5) == ()
    assert said(ids=5, mask=5, types=4) == ("ids[0], mask[0] and types[0] differ",)
    assert said(ids=5, mask=4) == ("ids[0] and mask[0] differ",)
    assert said(ids=5) == ()


LABELLED = Contract(
    fields=(IMAGE, ContractField(path="y", type="int", shape=())),
    label=ContractLabel(path="y", low=0, high=9),
)
WITH_LABEL = (GOOD[0], ("y", "int", None, ()))


@pytest.mark.parametrize(
    ("kinds", "value", "said"),
    [
        (WITH_LABEL, 0, ()),
        (WITH_LABEL, 9, ()),
        (WITH_LABEL, 10, ("label is outside 0 to 9",)),
        (WITH_LABEL, -123, ("label is outside 0 to 9",)),
        (WITH_LABEL, None, ("label is no whole number of 0 to 9",)),
        (GOOD[:1], None, ("y is missing",)),
        (NONE, None, ("example is None",)),
    ],
)
def test_a_label_outside_its_range_is_told_without_its_value(
    kinds: Kinds, value: int | None, said: tuple[str, ...]
) -> None:
    """Kinds are remembered, labels are not."""
    check = ContractCheck(LABELLED)
    check.violations(kinds, 5)

    assert check.violations(kinds, value) == said


def test_a_label_is_held_where_fields_are_not() -> None:
    """It may be missing then as well; without a range nothing is held."""
    label = ContractLabel(path="y", low=0, high=9)

    assert ContractCheck(Contract(label=label)).violations(NONE, None) == (
        "label is missing",
    )
    free = Contract(label=ContractLabel(path="y"))
    assert ContractCheck(free).violations(WITH_LABEL, 10**9) == ()


def test_words_are_remembered_for_so_many_kinds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A dataset of images that all differ in size does not fill the memory."""
    monkeypatch.setattr(module, "MOST_CACHED", 3)
    check = ContractCheck(Contract(fields=(IMAGE,)))

    for size in [*range(1, 20), 3, 16]:
        is_good = size == 16
        found = check.violations((tensor("image", 3, size, size),), None)
        assert (found == ()) is is_good
        assert len(check._known) <= 3


def test_one_example_that_breaks_the_contract_is_named() -> None:
    """By its id, in one sentence."""
    watch = ContractWatch(Contract(fields=(IMAGE,)))

    kept = [
        watch.note(number, (tensor("image", 1 if number == 3 else 3, 16, 16),), None)
        for number in range(4)
    ]

    assert kept == [True, True, True, False]
    finding = watch.finding()
    assert finding is not None
    assert finding.code == "contract_violation"
    assert (finding.count, finding.ids, finding.epoch) == (1, (3,), None)
    assert finding.message == (
        "1 of 4 examples breaks the contract: id 3: "
        "image is 1 x 16 x 16, the contract says 3 x 16 x 16"
    )
    assert finding.hint == (
        "usual cause: a file that is damaged, or of another form than the rest; mend "
        "or leave out what is named, correct the contract, or have it named only: "
        "rules: {incomplete: allow}"
    )


def test_many_examples_are_counted_and_few_named() -> None:
    """Ten ids and the three commonest faults."""
    watch = ContractWatch(Contract(fields=(IMAGE,)))

    for number, size in enumerate([1, 2, 2, 4, 4, 4, 5, 6, *[1] * 6, 3]):
        watch.note(f"n{number}", (tensor("image", size, 16, 16),), None)

    finding = watch.finding()
    assert finding is not None
    assert finding.count == 14
    assert finding.ids == tuple(f"n{number}" for number in range(10))
    says = "the contract says 3 x 16 x 16"
    assert finding.message == (
        "14 of 15 examples break the contract: ids n0, n1, n2, n3, n4, n5, n6, n7, n8, "
        f"n9 and 4 more: image is 1 x 16 x 16, {says}; image is 4 x 16 x 16, {says}; "
        f"image is 2 x 16 x 16, {says}; and 2 other faults"
    )


def test_where_all_is_well_nothing_is_found() -> None:
    """Nor before anything was read."""
    watch = ContractWatch(Contract(fields=(IMAGE, MASK)))

    assert watch.finding() is None
    assert watch.note(0, GOOD, None)
    assert watch.finding() is None
    assert watch.seen == 1


@pytest.mark.parametrize("filtered", [True, False])
def test_all_ids_are_kept_only_where_a_loader_may_leave_them_out(
    filtered: bool,
) -> None:
    """A dataset that is broken throughout must not fill the memory."""
    rules = Rules(incomplete="allow", filtered=filtered)
    watch = ContractWatch(Contract(fields=(IMAGE,), rules=rules))

    for number in range(50):
        watch.note(number, NONE if number % 2 else GOOD[:1], None)

    assert watch.incomplete == (list(range(1, 50, 2)) if filtered else [])


@pytest.mark.parametrize(
    ("declared", "length", "message"),
    [
        (101, 100, "the dataset has 100 examples, the contract says 101"),
        (3, 1, "the dataset has 1 example, the contract says 3"),
        (101, 101, None),
        (None, 100, None),
        (101, None, None),
    ],
)
def test_a_dataset_of_another_length_is_told(
    declared: int | None, length: int | None, message: str | None
) -> None:
    """Where both are known."""
    finding = count_finding(Contract(examples=declared), length)

    assert (finding.message if finding else None) == message
    if finding is not None and declared is not None and length is not None:
        assert finding.code == "contract_violation"
        assert finding.count == declared - length
        assert finding.hint == (
            "usual cause: files that are missing or new; if that is meant, correct "
            "`examples` in the contract"
        )

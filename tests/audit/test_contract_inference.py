"""What all examples keep becomes the contract; what few do otherwise is named."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoloader.audit import contract_inference as module
from autoloader.audit.contract import ContractCheck, Kind, Kinds
from autoloader.audit.contract_inference import ContractBuilder
from autoloader.values.contract import (
    Axes,
    Contract,
    ContractField,
    ContractLabel,
    Padding,
    Rules,
)

NONE: Kinds = (("", "none", None, None),)


def tensor(name: str, *shape: int, dtype: str = "float32") -> Kind:
    """Return what a tensor of an example is."""
    return (name, "tensor", dtype, shape)


def image(*shape: int) -> Kinds:
    """Return what an example of one image is made of."""
    return (tensor("image", *shape),)


def noted(*examples: Kinds, label: str | None = None) -> ContractBuilder:
    """Return a builder that has seen these examples, with their places as ids."""
    builder = ContractBuilder(label)
    for number, kinds in enumerate(examples):
        builder.note(number, kinds)
    return builder


def test_what_all_have_in_common_is_held() -> None:
    """With everything that the caller knows beside it."""
    kinds = (*image(3, 16, 16), ("name", "str", None, None))
    padding = (Padding(mask="m", of="image", axis=2), Padding(mask="m", of="name"))

    contract = noted(*[kinds] * 5).build(
        examples=100,
        of=100,
        random=frozenset({"image"}),
        padding=padding,
        rules=Rules(shapes="free"),
    )

    assert contract == Contract(
        examples=100,
        fields=(
            ContractField(
                path="image",
                type="tensor",
                dtype="float32",
                shape=(3, 16, 16),
                axes="channels_first",
                random=True,
            ),
            ContractField(path="name", type="str"),
        ),
        padding=padding[:1],
        rules=Rules(shapes="free"),
        seen=5,
        of=100,
    )


def test_what_varies_is_free() -> None:
    """Sizes one by one; types, dtypes and numbers of dimensions as a whole."""
    first = (
        tensor("a", 3, 7),
        tensor("b", 1),
        tensor("c", 2),
        ("d", "int", None, ()),
        tensor("e", 1),
    )
    second = (
        tensor("a", 3, 9),
        tensor("b", 1, dtype="uint8"),
        tensor("c", 2, 2),
        ("d", "float", None, ()),
        ("e", "tensor", "float32", None),
    )

    fields = noted(first, second, first).build().fields

    assert [(f.type, f.dtype, f.shape) for f in fields] == [
        ("tensor", "float32", (3, None)),
        ("tensor", "varies", (1,)),
        ("tensor", "float32", None),
        ("varies", None, ()),
        ("tensor", "float32", None),
    ]


def test_what_some_lack_is_optional() -> None:
    """In the first example or in later ones, missing or None, also above fields."""
    fields = (
        noted(
            (tensor("a", 1), tensor("b", 1), ("meta", "none", None, None)),
            (tensor("a", 1), tensor("c", 1), ("meta.x", "int", None, ())),
            (tensor("a", 1), ("b", "none", None, None), ("d", "none", None, None)),
        )
        .build()
        .fields
    )

    assert {field.path: (field.type, field.optional) for field in fields} == {
        "a": ("tensor", False),
        "b": ("tensor", True),
        "meta": ("none", True),
        "c": ("tensor", True),
        "meta.x": ("int", True),
        "d": ("none", True),
    }


def test_an_example_that_is_none_tells_nothing_of_the_others() -> None:
    """It counts as seen, and breaks their contract."""
    contract = noted(NONE, image(3, 8, 8), image(3, 8, 8)).build()

    assert contract.seen == 3
    assert [field.optional for field in contract.fields] == [False]
    assert ContractCheck(contract).violations(NONE, None) == ("example is None",)


def test_a_dataset_of_nothing_but_none_has_that_as_its_contract() -> None:
    """And one that was not read, or has no fields, holds nothing."""
    nothing = noted(NONE).build()

    assert nothing.fields == (ContractField(path="", type="none"),)
    assert ContractCheck(nothing).violations(NONE, None) == ()
    assert noted().build() == Contract()
    assert noted(()).build() == Contract(seen=1)


def test_a_field_that_is_none_throughout_is_held_to_that() -> None:
    """A value in its place is something else."""
    kinds = (tensor("a", 1), ("b", "none", None, None))
    contract = noted(kinds, kinds).build()

    assert ContractCheck(contract).violations(kinds, None) == ()
    assert ContractCheck(contract).violations((kinds[0], tensor("b", 1)), None) == (
        "b is tensor, the contract says none",
    )


@pytest.mark.parametrize(
    ("shapes", "axes"),
    [
        ([(3, 16, 16)], "channels_first"),
        ([(3, 16, 16), (1, 9, 40)], "channels_first"),
        ([(16, 16, 3), (20, 30, 4)], "channels_last"),
        ([(7, 3, 16, 16), (4, 3, 16, 16)], "channels_first"),
        ([(7, 16, 16, 3)], "channels_last"),
        ([(3, 16, 16), (16, 16, 3)], None),
        ([(5, 16, 16)], None),
        ([(3, 3, 16)], None),
        ([(0, 16, 16)], None),
        ([(3, 16)], None),
        ([(3, 16, 16), (16, 16)], None),
    ],
)
def test_where_an_image_has_its_channels_is_seen(
    shapes: list[tuple[int, ...]], axes: Axes | None
) -> None:
    """One to four of them, both other sizes larger, in every example."""
    contract = noted(*[image(*shape) for shape in shapes]).build()

    assert contract.fields[0].axes == axes


def test_text_has_no_channels() -> None:
    """Only tensors and arrays are images."""
    contract = noted((("x", "Frame", None, (3, 16, 16)),)).build()

    assert contract.fields[0].axes is None


def test_sizes_that_vary_together_are_found() -> None:
    """Not those that are equal by being constant, or were equal but once."""

    def text(length: int, other: int) -> Kinds:
        return (
            tensor("ids", length),
            tensor("mask", length, 4),
            tensor("pixels", 4),
            tensor("table", other),
        )

    contract = noted(text(5, 5), text(4, 4), text(9, 8)).build()

    assert contract.equal_sizes == (("ids[0]", "mask[0]"),)


def test_sizes_that_are_not_always_there_are_not_held_equal() -> None:
    """Nor those of fields whose number of dimensions varies."""
    contract = noted(
        (tensor("a", 5), tensor("b", 5), tensor("c", 5), tensor("d", 5)),
        (tensor("a", 4), tensor("c", 4, 1), tensor("d", 4)),
        (tensor("a", 3), tensor("b", 3), tensor("c", 3), tensor("d", 3)),
    ).build()

    assert contract.equal_sizes == (("a[0]", "d[0]"),)


def labels(*values: int | None, type_: str = "int") -> Contract:
    """Return the contract of examples with such labels."""
    builder = ContractBuilder("y")
    for number, value in enumerate(values):
        builder.note(number, (("y", type_, None, ()),), value)
    return builder.build()


def test_the_range_of_labels_is_that_of_those_seen() -> None:
    """Both ends included."""
    assert labels(4, 9, -1, 5).label == ContractLabel(path="y", low=-1, high=9)


def test_labels_that_are_no_whole_numbers_have_no_range() -> None:
    """One of them is enough."""
    assert labels(4, None, 5).label == ContractLabel(path="y")
    assert labels(None, type_="str").label == ContractLabel(path="y")


def test_examples_without_a_label_leave_its_range_alone() -> None:
    """Missing, None, or in an example that is None."""
    builder = ContractBuilder("y")
    builder.note(0, (tensor("x", 1), ("y", "int", None, ())), 3)
    builder.note(1, (tensor("x", 1),), None)
    builder.note(2, (tensor("x", 1), ("y", "none", None, None)), None)
    builder.note(3, NONE, None)

    assert builder.build().label == ContractLabel(path="y", low=3, high=3)


def test_a_label_above_fields_is_named_without_a_range() -> None:
    """And one that no example has is not named."""
    kinds: Kinds = (("y.a", "int", None, ()),)

    assert noted(kinds, label="y").build().label == ContractLabel(path="y")
    assert noted(kinds, label="z").build().label is None


def kinds_of(*names: str, most: int) -> st.SearchStrategy[Kinds]:
    """Return what examples may be made of."""
    kind = st.tuples(
        st.sampled_from(names),
        st.sampled_from(["tensor", "int", "none"]),
        st.sampled_from([None, "float32", "uint8"]),
        st.none() | st.lists(st.integers(0, 5), max_size=4).map(tuple),
    ).map(lambda kind: (kind[0], "none", None, None) if kind[1] == "none" else kind)
    return st.lists(kind, min_size=1, max_size=most).map(tuple)


KINDS = kinds_of("", most=1) | kinds_of("a", "b", "a.c", "0", most=4)


@settings(deadline=None)
@given(examples=st.lists(KINDS, min_size=1, max_size=8))
def test_every_example_keeps_the_contract_that_was_inferred_from_it(
    examples: list[Kinds],
) -> None:
    """Whatever it is made of, but for one that is None among others."""
    contract = noted(*examples).build()

    assert Contract.from_dict(contract.to_dict()) == contract
    check = ContractCheck(contract)
    for kinds in examples:
        said = check.violations(kinds, None)
        assert said == () or (kinds == NONE and said == ("example is None",))


def test_the_odd_one_of_four_is_named() -> None:
    """The known case: three in colour, one grey."""
    builder = noted(*[image(3, 16, 16)] * 3, image(1, 16, 16))

    assert builder.build().fields[0].shape == (None, 16, 16)
    assert builder.majority().fields[0].shape == (3, 16, 16)
    finding = builder.deviations()
    assert finding is not None
    assert finding.code == "contract_violation"
    assert (finding.count, finding.ids) == (1, (3,))
    assert finding.message == (
        "1 of 4 examples differs from the others: id 3: "
        "image is 1 x 16 x 16, others are 3 x 16 x 16"
    )
    assert finding.hint == (
        "usual cause: a file of another form than the rest, such as a grey image among "
        "coloured ones; convert it in the dataset, leave it out, or give a collate_fn "
        "that takes both"
    )


def test_few_of_a_thousand_are_named_whatever_is_odd_about_them() -> None:
    """Type, dtype, shape, fields, and nothing at all."""
    good = (*image(3, 8, 8), ("y", "int", None, ()))
    odd: dict[int, Kinds] = {
        5: (image(8, 8, 3)[0], good[1]),
        50: (tensor("image", 3, 8, 8, dtype="uint8"), good[1]),
        500: (good[0], ("y", "str", None, None)),
        600: good[:1],
        700: (*good, ("z", "int", None, ())),
        800: (good[0], ("y", "none", None, None)),
        999: NONE,
    }

    finding = noted(*[odd.get(number, good) for number in range(1000)]).deviations()

    assert finding is not None
    assert (finding.count, finding.ids) == (7, tuple(odd))
    assert finding.message.startswith(
        "7 of 1000 examples differ from the others: "
        "ids 5, 50, 500, 600, 700, 800, 999: "
    )
    assert finding.message.endswith("; and 4 other faults")


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ((tensor("a", 1), ("z", "int", None, ())), "z is there, others have none"),
        ((("a", "str", None, None),), "a is str, others are tensor"),
        ((), "a is missing"),
        (NONE, "example is None"),
    ],
)
def test_what_is_odd_is_said_by_what_the_others_are(odd: Kinds, said: str) -> None:
    """No contract says so here."""
    finding = noted(*[(tensor("a", 1),)] * 9, odd).deviations()

    assert finding is not None
    assert finding.message == f"1 of 10 examples differs from the others: id 9: {said}"


def test_a_value_where_the_others_have_none_is_odd() -> None:
    """Whether the others lack the field or have None in it."""
    kinds = (tensor("a", 1), ("b", "none", None, None))

    finding = noted(*[kinds] * 3, (tensor("a", 1), tensor("b", 2))).deviations()

    assert finding is not None
    assert finding.ids == (3,)
    assert finding.message.endswith("b is tensor, others are none")


def test_sizes_that_vary_anyway_make_nobody_odd() -> None:
    """A hundred texts of a hundred lengths."""
    builder = noted(*[(tensor("ids", length),) for length in range(100)])

    assert builder.deviations() is None
    assert builder.majority().fields[0].shape == (None,)


def test_two_halves_are_both_right_unless_something_must_differ() -> None:
    """Then the commonest, the first of equals, is what the others are."""
    builder = noted(*[image(3, 8, 8)] * 2, *[image(1, 8, 8)] * 2)

    assert builder.deviations() is None
    finding = builder.deviations(share=0)
    assert finding is not None
    assert finding.ids == (2, 3)


def test_a_field_that_half_of_them_have_is_optional_to_most() -> None:
    """From three quarters on it is missed, up to one quarter it is odd."""

    def of_eight(count: int) -> tuple[int, ...]:
        both, one = (tensor("a", 1), tensor("b", 1)), (tensor("a", 1),)
        finding = noted(*[both] * count, *[one] * (8 - count)).deviations()
        return () if finding is None else tuple(int(item) for item in finding.ids)

    assert of_eight(2) == (0, 1)
    assert of_eight(3) == of_eight(4) == of_eight(5) == ()
    assert of_eight(6) == (6, 7)


def test_many_kinds_are_kept_without_their_sizes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The contract is as exact, and what is odd otherwise is still named."""
    monkeypatch.setattr(module, "MOST_LEAVES", 10)
    sizes = [(3, 5 + number, 6 + number % 7) for number in range(1000)]
    builder = noted(*[image(*size) for size in sizes], NONE)

    assert len(builder._groups) == 12
    assert builder.seen == 1001
    assert builder.build().fields[0].shape == (3, None, None)
    finding = builder.deviations()
    assert finding is not None
    assert finding.ids == (1000,)


def test_beyond_that_kinds_are_no_longer_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are counted, and widen the contract."""
    monkeypatch.setattr(module, "MOST_LEAVES", 10)
    builder = ContractBuilder("f0")
    for number in range(1000):
        builder.note(number, ((f"f{number}", "int", None, ()),), number)

    assert len(builder._groups) == 20
    contract = builder.build()
    assert contract.seen == 1000
    assert len(contract.fields) == 1000
    assert all(field.optional for field in contract.fields)
    assert contract.label == ContractLabel(path="f0", low=0, high=999)


def test_at_most_ten_ids_of_a_kind_are_kept() -> None:
    """A million examples of one kind are one entry."""
    builder = noted(*[image(3, 8, 8)] * 90, *[image(1, 8, 8)] * 30)

    finding = builder.deviations()

    assert finding is not None
    assert (finding.count, finding.ids) == (30, tuple(range(90, 100)))
    assert "98, 99 and 20 more: image" in finding.message

"""Which examples a gate reads, and how scope and facts are kept."""

import dataclasses
import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from autoloader.errors import StoredFileError
from autoloader.values.scope import (
    DatasetFacts,
    FieldFacts,
    LiveObject,
    Scope,
    ScopeRequest,
    SourceSpec,
)


def scope(examples: int, epoch: int) -> Scope:
    """Return a scope of so many examples of an epoch."""
    return Scope(
        examples=examples,
        distinct=examples,
        of=epoch,
        epoch_examples=epoch,
        order="shuffled",
        seed=0,
        transforms="fixed",
        drop_last=False,
    )


SIZES = st.integers(1, 70)
EPOCHS = st.integers(1, 400)
WANTED = st.integers(0, 500)


@settings(deadline=None)
@given(data=st.data(), epoch=EPOCHS, size=SIZES, wanted=WANTED)
def test_first_and_last_entry_belong_to_every_gate(
    data: st.DataObject, epoch: int, size: int, wanted: int
) -> None:
    """Entries are read once each, in order, and never more than there are."""
    examples = data.draw(st.integers(1, epoch))

    positions = scope(examples, epoch).gate_positions(size, wanted)

    assert positions[0] == 0
    assert positions[-1] == examples - 1
    assert positions == sorted(set(positions))


@settings(deadline=None)
@given(data=st.data(), epoch=EPOCHS, size=SIZES, wanted=WANTED)
def test_the_last_batch_has_the_size_that_it_has_in_the_real_epoch(
    data: st.DataObject, epoch: int, size: int, wanted: int
) -> None:
    """What happens to an incomplete batch is seen in each gate that has room for it."""
    examples = data.draw(st.integers(1, epoch))
    assume(examples >= 2 * size)

    positions = scope(examples, epoch).gate_positions(size, wanted)

    assert len(positions) % size == epoch % size


@settings(deadline=None)
@given(data=st.data(), epoch=EPOCHS, size=SIZES, wanted=WANTED)
def test_a_gate_reads_no_more_than_was_wanted_and_one_batch(
    data: st.DataObject, epoch: int, size: int, wanted: int
) -> None:
    """A whole and the last batch are the least."""
    examples = data.draw(st.integers(1, epoch))
    assume(examples >= 2 * size)

    positions = scope(examples, epoch).gate_positions(size, wanted)

    assert len(positions) <= max(wanted, 2 * size, 2)


@settings(deadline=None)
@given(epoch=EPOCHS, size=SIZES)
def test_a_scope_that_is_an_epoch_is_read_whole(epoch: int, size: int) -> None:
    """Nothing is left out where all was asked for."""
    positions = scope(epoch, epoch).gate_positions(size, epoch)

    assert positions == list(range(epoch))


def test_a_scope_too_small_for_two_batches_is_read_whole() -> None:
    """There is no room for a last batch of the real size."""
    positions = scope(100, 1000).gate_positions(64, 512)

    assert positions == list(range(100))


def test_the_middle_is_left_out_of_a_short_gate() -> None:
    """512 of 1,000 examples in batches of 64: seven whole batches, and one of 40."""
    positions = scope(900, 1000).gate_positions(64, 512)

    assert positions == [*range(7 * 64 + 39), 899]


FACTS = DatasetFacts(
    kind="map",
    name="Photos",
    length=101,
    fields=(
        FieldFacts(
            path="0", type="tensor", dtype="float32", shape=(3, None), random=True
        ),
        FieldFacts(path="1", type="int", dtype=None, shape=(), random=False),
        FieldFacts(path="2", type="str", dtype=None, shape=None, random=False),
    ),
    label="1",
    baseline={"num_workers": 2, "batch_size": 8},
    batching="size",
    batch_examples=1.0,
    example_s=0.001,
    example_cpu_s=0.001,
    example_bytes=12,
    tensors=1,
    start_method="fork",
    free_shapes=("0",),
)


@pytest.mark.parametrize(
    "value",
    [
        SourceSpec(spec="data:train", arguments=(("root", "/data"), ("sizes", [1, 2]))),
        ScopeRequest(),
        ScopeRequest(examples="all", order="as-is", label="meta.y", epoch_examples=7),
        scope(100, 1000),
        FACTS,
        dataclasses.replace(FACTS, baseline=None, label=None, free_shapes=()),
    ],
)
def test_what_is_said_of_a_scope_comes_back_equal_from_json(
    value: SourceSpec | ScopeRequest | Scope | DatasetFacts,
) -> None:
    """Tuples, None and unions of types survive the pipe and the file."""
    restored = type(value).from_dict(json.loads(json.dumps(value.to_dict())))

    assert restored == value


def test_fields_are_random_or_fixed() -> None:
    """Each field is one of the two."""
    assert FACTS.random_fields == ("0",)
    assert FACTS.fixed_fields == ("1", "2")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"order": "sorted"},
            "ScopeRequest.order must be 'shuffled' | 'as-is' | None, got 'sorted'",
        ),
        (
            {"examples": "most"},
            "ScopeRequest.examples must be int | 'all' | None, got 'most'",
        ),
        ({"sed": 1}, "ScopeRequest has no field 'sed'"),
    ],
)
def test_a_request_of_another_form_is_refused(
    values: dict[str, object], sentence: str
) -> None:
    """Choices are named as they are written."""
    with pytest.raises(StoredFileError) as caught:
        ScopeRequest.from_dict(values)

    assert str(caught.value) == sentence


def test_a_live_object_travels_as_others_do() -> None:
    """In the order that a child gets."""
    value = SourceSpec(
        spec="__main__.Photos object",
        live=LiveObject(
            file="/tmp/x/object",
            size_bytes=9,
            signature="1",
            modules=("torch",),
            search_path=("/home",),
            start_method="spawn",
            main_file="/tmp/x/main",
        ),
    )

    assert SourceSpec.from_dict(json.loads(json.dumps(value.to_dict()))) == value

"""Section F: collating, types of examples, dtypes."""

from tests.conformance.hazard import Case, Hazard

NONE: frozenset[str] = frozenset()
BOTH = ("passed", "passed")
"""Fresh and kept workers."""
BY_ID = ("contract_violation", r"id 3\b")
"""The example that differs from the others is named before any batch is made."""

HAZARDS = [
    Hazard(
        id="python-number-dtype-drift",
        kind="F",
        cases=(
            Case(
                dataset="examples.py:IntsThenFloats",
                says=("dataset",),
                words=("contract_violation", "weight"),
            ),
            Case(
                dataset="examples.py:IntLabelsAmongFloats",
                says=("dataset",),
                words=(*BY_ID, "label"),
            ),
            Case(
                dataset="examples.py:DtypesDiffer",
                says=("dataset",),
                words=(*BY_ID, "pixels"),
            ),
            Case(
                dataset="examples.py:FloatInWorker",
                says=("dtype_mismatch", "dtype_mismatch"),
            ),
        ),
    ),
    Hazard(
        id="ragged-samples",
        kind="F",
        cases=(
            Case(
                dataset="examples.py:Ragged",
                says=("dataset",),
                words=("contract_violation", "tokens"),
            ),
            *(
                Case(
                    dataset=f"examples.py:{name}",
                    says=("dataset",),
                    words=(*BY_ID, field),
                )
                for name, field in (
                    ("OneIsLonger", "tokens"),
                    ("RaggedLists", "boxes"),
                    ("OneLacksField", "text"),
                    ("OneHasAnotherField", "more"),
                )
            ),
            Case(
                dataset="examples.py:RaggedStream",
                says=("dataset",),
                words=(*BY_ID, "tokens"),
                flags=("--id", "id"),
            ),
            # one at a time they are stacked with nothing
            Case(dataset="examples.py:Ragged", says=BOTH, cautions=NONE, batch_size=1),
        ),
    ),
    Hazard(
        id="stacked-shape-resized",
        kind="F",
        # mended in torch: stacking raises; the gate names the example before
        cases=(
            Case(
                dataset="examples.py:OneIsHalf",
                says=("dataset",),
                words=(*BY_ID, "row"),
            ),
            Case(
                dataset="examples.py:OneIsTurned",
                says=("dataset",),
                words=(*BY_ID, "pixels"),
            ),
        ),
    ),
    Hazard(
        id="none-filtered-in-collate",
        kind="F",
        cases=(
            Case(
                dataset="examples.py:filtering",
                says=("missing_ids", "missing_ids"),
                ids={"missing_ids": (20, 40, 60, 80)},
                batch_size=None,
                arguments=("name=some",),
            ),
            Case(
                dataset="examples.py:filtering",
                says=("missing_ids", "missing_ids"),
                ids={"missing_ids": (20, 40, 60, 80)},
                batch_size=None,
                arguments=("name=worker",),
            ),
            Case(
                dataset="examples.py:filtering",
                says=("worker_exception", "worker_exception"),
                batch_size=None,
                arguments=("name=batch",),
                words=("IndexError",),
            ),
            Case(
                dataset="examples.py:filtering",
                says=("missing_ids", "missing_ids"),
                ids={"missing_ids": tuple(range(16, 24))},
                batch_size=None,
                arguments=("name=batch", "collate=without_none_or_nothing"),
            ),
            # as many rows as were asked for, some of them twice
            Case(
                dataset="examples.py:filtering",
                says=("missing_ids+repeated_ids", "missing_ids+repeated_ids"),
                ids={
                    "missing_ids": (20, 40, 60, 80),
                    "repeated_ids": (16, 41, 56, 81),
                },
                batch_size=None,
                arguments=("name=some", "collate=in_place_of_none"),
            ),
        ),
    ),
    Hazard(
        id="unsupported-sample-types",
        kind="F",
        cases=(
            *(
                Case(
                    dataset="examples.py:Unsupported",
                    says=("dataset",),
                    arguments=(f"name={name}",),
                    words=("value", word),
                )
                for name, word in (
                    ("none", "None"),
                    ("dataclass", "Point"),
                    ("picture", "Image"),
                    ("date", "date"),
                    ("path", "PurePosixPath"),
                    ("set", "set"),
                    ("decimal", "Decimal"),
                    ("complex", "complex"),
                    ("uuid", "UUID"),
                    ("object_array", "object"),
                    ("text_array", "<U|str"),
                )
            ),
            # in a worker only
            Case(
                dataset="examples.py:UnsupportedInWorker",
                says=("worker_exception", "worker_exception"),
                arguments=("name=date",),
                words=("TypeError", "date"),
            ),
            # honest: a collate_fn that takes them
            *(
                Case(
                    dataset="examples.py:as_lists",
                    says=BOTH,
                    cautions=NONE,
                    batch_size=None,
                    arguments=(f"name={name}",),
                )
                for name in (
                    "none",
                    "dataclass",
                    "picture",
                    "date",
                    "path",
                    "set",
                    "decimal",
                    "complex",
                    "uuid",
                    "object_array",
                )
            ),
        ),
    ),
    Hazard(
        id="sparse-or-nested-samples",
        kind="F",
        cases=(
            *(
                Case(
                    dataset="examples.py:Unsupported",
                    says=("dataset",),
                    arguments=(f"name={name}",),
                    words=("value", "sparse|nested"),
                )
                for name in ("sparse", "sparse_rows", "nested")
            ),
            # mended in torch: they can be sent
            *(
                Case(
                    dataset="examples.py:as_lists",
                    says=BOTH,
                    cautions=NONE,
                    batch_size=None,
                    arguments=(f"name={name}",),
                )
                for name in ("sparse", "sparse_rows", "nested")
            ),
        ),
    ),
    Hazard(
        id="scalar-dim-added",
        kind="F",
        cases=(
            # one process has that shape too: batch_size=1 adds a dimension to it as to
            # any other, and nothing says that it was a batch already
            Case(
                dataset="examples.py:BatchesItself",
                says=BOTH,
                cautions=NONE,
                batch_size=1,
            ),
            Case(
                dataset="examples.py:batches_unbatched",
                says=BOTH,
                cautions=NONE,
                batch_size=None,
            ),
            Case(
                dataset="examples.py:SqueezesInWorker",
                says=("shape_mismatch", "shape_mismatch"),
            ),
        ),
    ),
]

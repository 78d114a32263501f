"""Section F: collating, types of examples, dtypes."""

from tests.conformance.hazard import Case, Hazard

NONE: frozenset[str] = frozenset()
BOTH = ("passed", "passed")
"""Fresh and kept workers."""
MIXED = frozenset({"contract_violation"})
"""A caution: examples differ in type or dtype, and a batch takes that of its first."""
BY_ID = ("contract_violation", r"id 3\b")
"""The example that differs from the others is named before any batch is made."""

HAZARDS = [
    Hazard(
        id="python-number-dtype-drift",
        kind="F",
        cases=(
            # they can be collated, so it is told and not refused
            Case(
                dataset="examples.py:IntsThenFloats",
                says=BOTH,
                cautions=MIXED,
                words=("weight",),
            ),
            Case(
                dataset="examples.py:IntLabelsAmongFloats",
                says=BOTH,
                cautions=MIXED,
                words=(r"id 3\b", "label"),
            ),
            Case(
                dataset="examples.py:IntLabelsAmongFloats",
                says=("contract_violation", "contract_violation"),
                flags=("--strict",),
                ids={"contract_violation": (3,)},
            ),
            # stacking converts the odd one to what the first of its batch is
            Case(
                dataset="examples.py:DtypesDiffer",
                says=("collate_mismatch", "collate_mismatch"),
                cautions=MIXED,
                words=(r"id 3\b", "pixels"),
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
            Case(
                dataset="examples.py:filtering",
                says=("missing_ids", "missing_ids"),
                ids={"missing_ids": (20, 40, 60, 80)},
                batch_size=None,
                arguments=("name=bad", "collate=without_bad"),
            ),
            # as many rows as were asked for: what is missing has another one's row
            Case(
                dataset="examples.py:filtering",
                says=("collate_mismatch", "collate_mismatch"),
                ids={"collate_mismatch": (20, 40, 60, 80)},
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
                    words=(word,),
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
                    ("text_array", "<U"),
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
                    words=("(?i)sparse|nested",),
                )
                for name in ("sparse", "sparse_rows", "nested")
            ),
            # stacked in one process, but not into the shared memory of a worker
            Case(
                dataset="examples.py:Unsupported",
                says=("worker_exception", "worker_exception"),
                arguments=("name=conjugate",),
                words=("Conjugate",),
            ),
            # sent without the mark that negates a part
            *(
                Case(
                    dataset="examples.py:as_lists",
                    says=("collate_mismatch", "collate_mismatch"),
                    batch_size=None,
                    arguments=(f"name={name}",),
                )
                for name in ("conjugate", "negative")
            ),
            # sent without scale and zero: whoever reads what arrives gets an exception
            Case(
                dataset="examples.py:as_lists",
                says=("collate_mismatch or worker_exception",) * 2,
                batch_size=None,
                arguments=("name=quantized",),
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

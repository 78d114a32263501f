"""Gather what is wrong by code and id, and say it in a sentence each.

Words only: what counts as wrong is decided in `audit.verdict`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from autoloader.units import counted, in_number, in_short
from autoloader.values.outcome import MAX_IDS, Finding

_ORDER = (
    "missing_ids", "repeated_ids", "foreign_ids", "label_mismatch", "content_mismatch",
    "collate_mismatch", "field_missing", "dtype_mismatch", "shape_mismatch",
)  # fmt: skip

_SAID = {
    "missing_ids": (
        "never arrived",
        "a collate_fn or __getitems__ that drops what fails to load in a worker",
    ),
    "repeated_ids": (
        "arrived more often than asked for",
        "indices are drawn in the workers",
    ),
    "foreign_ids": (
        "are no examples of the scope",
        "the dataset ignores the index it is given",
    ),
    "label_mismatch": (
        "have another label than in one process",
        "state shared between workers, such as a file handle opened before they start",
    ),
    "content_mismatch": (
        "have other content than in one process",
        "a file handle opened before the workers start, state not copied to them, or "
        "hash() of a text, which is another one in each process (PYTHONHASHSEED)",
    ),
    "collate_mismatch": (
        "arrived otherwise than their worker read them",
        "a buffer that is used again before its batch was sent; a collate_fn that "
        "changes few examples is let through by --allow collate_mismatch",
    ),
    "field_missing": (
        "have other fields than in one process",
        "a branch on get_worker_info()",
    ),
    "dtype_mismatch": (
        "have another dtype than in one process",
        "a default dtype set elsewhere",
    ),
    "shape_mismatch": (
        "have another shape than in one process",
        "a transform set elsewhere",
    ),
}
"""What is said of examples with a finding, and its usual cause."""


class Mismatches:
    """Ids by finding code, with the epochs that show them."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[int, Any]]] = {}
        self._words: dict[str, str] = {}

    def add(
        self, code: str, epoch: int, example_id: Any, words: str | None = None
    ) -> None:
        """Note that an example shows a fault in an epoch, and what it is in words."""
        self._found.setdefault(code, []).append((epoch, example_id))
        if words is not None:
            self._words.setdefault(code, words)

    def findings(self) -> list[Finding]:
        """Return a finding for each code, in the order of their weight."""
        return [
            _finding(code, self._found[code], self._words.get(code))
            for code in _ORDER
            if code in self._found
        ]


def _finding(code: str, entries: list[tuple[int, Any]], words: str | None) -> Finding:
    said, cause = _SAID[code]
    distinct = list(dict.fromkeys(example_id for _, example_id in entries))
    count = len(distinct)
    return Finding(
        code=code,
        count=count,
        ids=tuple(distinct[:MAX_IDS]),
        epoch=min(epoch for epoch, _ in entries),
        message=(
            f"{counted(count, 'example')} {_singular(said, count)}: "
            f"{in_number(count, 'id')} {in_short(distinct, MAX_IDS)}"
            + ("" if words is None else f"; {words}")
        ),
        hint=f"usual cause: {cause}",
    )


def offset_finding(names: Sequence[str]) -> Finding:
    """Return the finding of files whose read position the workers moved."""
    return Finding(
        code="shared_file_offset",
        count=len(names),
        message=(
            f"workers share the read position of {counted(len(names), 'open file')}: "
            f"{in_short(names, MAX_IDS)}"
        ),
        hint="open the file in each worker (on first use), or read with os.pread",
    )


def nothing_whole_finding(ids: Sequence[Any], batch_size: int) -> Finding:
    """Return the finding of a scope that drop_last leaves nothing of."""
    return Finding(
        code="missing_ids",
        count=len(ids),
        ids=tuple(ids[:MAX_IDS]),
        epoch=0,
        message=(
            f"drop_last leaves nothing: {counted(len(ids), 'example')} "
            f"{in_number(len(ids), 'makes', 'make')} no whole batch of {batch_size}"
        ),
        hint="a smaller batch_size, or a larger scope by --examples",
    )


STALE = (
    "the second epoch is the first one again: kept workers hold the dataset as it was "
    "when they started, and what set_epoch or --on-epoch changes does not reach them; "
    "share it (multiprocessing.Value), or persistent_workers=False"
)
"""Hint where an epoch was replayed that ought to be another one."""


def replayed_caution(count: int) -> Finding:
    """Return the caution that a stream's second epoch is its first one again."""
    return Finding(
        code="epochs_identical",
        count=count,
        epoch=1,
        message="every worker delivers the first epoch again, in the same order",
        hint=STALE,
    )


def padding_finding(broken: Sequence[Sequence[Any]], ids: Sequence[Any]) -> Finding:
    """Return the finding of batches whose mask does not tell their examples' lengths.

    Args:
        broken: epoch, number of the list and words of each breach.
        ids: of the examples of these batches; empty where they have none.
    """
    batches = dict.fromkeys((item[0], item[1]) for item in broken)
    words = "; ".join(list(dict.fromkeys(item[2] for item in broken))[:3])
    return Finding(
        code="contract_violation",
        count=len(batches),
        ids=tuple(dict.fromkeys(ids))[:MAX_IDS],
        epoch=min(item[0] for item in broken),
        message=(
            f"{counted(len(batches), 'batch', 'batches')} "
            f"{in_number(len(batches), 'breaks', 'break')} the contract: {words}"
        ),
        hint="usual cause: a collate_fn that pads and masks otherwise in a worker; or "
        "correct `padding` in the contract",
    )


def left_out_caution(ids: Sequence[Any]) -> Finding:
    """Return the caution of incomplete examples that a loader left out, as it may."""
    return Finding(
        code="examples_left_out",
        count=len(ids),
        ids=tuple(ids[:MAX_IDS]),
        message=(
            f"{counted(len(ids), 'incomplete example')} left out, as the contract "
            f"allows: {in_number(len(ids), 'id')} {in_short(ids, MAX_IDS)}"
        ),
        hint="what cannot be loaded is not trained on: mend or remove it",
    )


def own_iteration_caution(kind: str, names: Sequence[str]) -> Finding:
    """Return the caution of a loader whose class makes its batches in its own way.

    Args:
        kind: name of the class.
        names: what it does otherwise than DataLoader.
    """
    return Finding(
        code="loader_class_left_out",
        count=len(names),
        ids=(),
        message=(
            f"trials iterate a DataLoader: what {kind} does of its own "
            f"({', '.join(names)}) is neither checked nor timed"
        ),
        hint="autoloader.watch(loader) times it where it is used, in the training",
    )


def with_suspects(finding: Finding, suspects: Sequence[str]) -> Finding:
    """Return a finding whose hint names what workers inherited."""
    if not suspects or finding.hint == STALE:  # the cause is known
        return finding
    named = f"there before the workers started: {', '.join(suspects)}"
    hint = named if finding.hint is None else f"{finding.hint}; {named}"
    return replace(finding, hint=hint)


SUSPECTED = frozenset(
    {
        "missing_ids", "repeated_ids", "foreign_ids", "label_mismatch",
        "content_mismatch", "collate_mismatch", "shared_file_offset",
    }
)  # fmt: skip
"""Findings that something inherited by the workers can cause."""


def idle_caution(idle: int, workers: int) -> Finding:
    """Return the caution that some workers made no batch."""
    return Finding(
        code="idle_workers",
        count=idle,
        message=f"{idle} of {workers} workers made no batch",
        hint="fewer workers do the same work",
    )


def _singular(said: str, count: int) -> str:
    if count != 1:
        return said
    for plural, singular in _SINGULARS:
        said = said.replace(plural, singular)
    return said


_SINGULARS = (
    ("are no examples", "is no example"),
    ("have ", "has "),
    ("their worker read them", "its worker read it"),
)

"""What is worth knowing of a stream whose data is right: words, each with its rule.

Pure. What is wrong is found in `audit.streams`.
"""

from autoloader.audit.findings import idle_caution
from autoloader.units import counted
from autoloader.values.outcome import Finding

LEAST_DISTINCT = 0.9
"""Share of the examples that must differ from all others to count as identified."""


def is_weak(distinct: int, examples: int) -> bool:
    """Whether content does not tell the examples apart."""
    return distinct < LEAST_DISTINCT * examples


def identity_caution(distinct: int, examples: int, doubtful: int) -> Finding | None:
    """Return the caution that examples were hard to tell apart.

    Args:
        distinct: different ones in the reference.
        examples: all of the reference.
        doubtful: repeats before a cut, by equal examples or by overlapping workers.
    """
    if is_weak(distinct, examples):
        return Finding(
            code="weak_identity",
            count=examples - distinct,
            message=f"only {distinct} of {examples} examples can be told apart",
            hint="name a field that identifies an example with --id PATH",
        )
    if not doubtful:
        return None
    return Finding(
        code="weak_identity",
        count=doubtful,
        message=(
            f"{counted(doubtful, 'example')} came more than once before the stream was "
            "cut"
        ),
        hint="examples that are equal, or workers that overlap: --examples all tells",
    )


def length_caution(declared: int, read: int, *, is_complete: bool) -> Finding | None:
    """Return the caution that `len(dataset)` is wrong.

    Args:
        declared: what it says.
        read: examples of one pass.
        is_complete: whether the pass came to the end.
    """
    if declared == read or (declared > read and not is_complete):
        return None
    count = f"{read}" if is_complete else f"at least {read}"
    return Finding(
        code="length_misdeclared",
        count=abs(declared - read),
        message=f"len() says {declared}, one pass has {count} examples",
        hint="loops that count to len(loader) lose the tail or wait for more",
    )


def moving_length_caution(before: int, after: int | None) -> Finding:
    """Return the caution that `len(dataset)` changes when lengths are asked for.

    Args:
        before: what it said first.
        after: what it said then; None: nothing any more.
    """
    said = "nothing" if after is None else f"{after}"
    return Finding(
        code="length_misdeclared",
        count=abs(before - (after or 0)),
        message=f"len(dataset) says {before}, and {said} when it is asked again",
        hint="to ask a length must change nothing: it may be asked at any time",
    )


def workers_caution(working: int, workers: int) -> Finding | None:
    """Return the caution that some workers, or all but one, delivered nothing."""
    if working >= workers:
        return None
    if working != 1:
        return idle_caution(workers - working, workers)
    return Finding(
        code="one_worker_serves_all",
        count=workers - 1,
        message=f"all examples came from one of {workers} workers",
        hint="the stream is split by shards, and there is one: write more shards",
    )

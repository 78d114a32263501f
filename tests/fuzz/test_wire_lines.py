"""Whatever bytes come over a pipe, however they are cut: messages, or torn lines."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoloader.child.wire import Decoder, encode
from autoloader.errors import ProtocolError
from autoloader.values.outcome import Failure
from tests.fuzz.readers import TWO
from tests.fuzz.spoiling import JUNK, as_json, spoiled
from tests.report.fakes import FACTS, measured

QUICK, MANY = 60, 600
"""Streams."""

MESSAGES = (
    {"event": "reference", "facts": FACTS.to_dict(), "schema": 1},
    {"event": "result", "reading": measured(0, TWO, [1.0]).to_dict(), "schema": 1},
    {
        "event": "failed",
        "failure": Failure(kind="hung", phase="gate", message="stands").to_dict(),
        "schema": 1,
    },
)

ODD = (b"[" * 5000, b'{"schema":' * 3000, b"\xff\xfe{", b"\0" * 50, b'{"schema": NaN}')

LINES = st.one_of(
    st.sampled_from(MESSAGES).flatmap(lambda whole: spoiled(whole, JUNK)).map(as_json),
    st.sampled_from(MESSAGES).map(as_json),
    st.binary(max_size=60),
    st.sampled_from(ODD),
)


def heard(parts: list[bytes]) -> tuple[list[dict[str, object]], int] | None:
    """Return the messages and the torn lines; None where another schema was heard."""
    decoder = Decoder()
    received: list[dict[str, object]] = []
    try:
        for part in parts:
            received += decoder.feed(part)
    except ProtocolError:
        return None
    return received, decoder.torn


def holds(stream: bytes, sizes: list[int]) -> None:
    """Check that a stream is cut into messages, and that the next one is heard."""
    last = {"event": "last"}
    ends = [*accumulate(sizes, initial=0), len(stream)]
    parts = [stream[begin:end] for begin, end in pairwise(ends)]

    cut = heard([*parts, encode(last)])
    whole = heard([stream, encode(last)])

    assert repr(cut) == repr(whole)  # NaN is not equal to itself
    if cut is None:
        return
    received, torn = cut
    assert received[-1] == last
    assert all("schema" not in message for message in received)
    assert len(received) + torn <= stream.count(b"\n") + 2


def fuzz(count: int, *, is_seeded: bool) -> None:
    """Try so many streams."""

    @settings(max_examples=count, deadline=None, database=None, derandomize=is_seeded)
    @given(
        lines=st.lists(LINES, max_size=5),
        sizes=st.lists(st.integers(0, 200), max_size=20),
    )
    def run(lines: list[bytes], sizes: list[int]) -> None:
        holds(b"\n".join(lines), sizes)

    run()


def test_any_stream_is_cut_into_messages() -> None:
    """The same few for everybody."""
    fuzz(QUICK, is_seeded=True)


@pytest.mark.full
def test_many_streams_are_cut_into_messages() -> None:
    """Others each time."""
    fuzz(MANY, is_seeded=False)

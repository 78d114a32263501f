"""Messages cross a pipe whole, or are known to be torn."""

import json
import os
import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoloader.child import wire
from autoloader.child.wire import SCHEMA, Decoder, encode, receive, send
from autoloader.errors import ProtocolError

MESSAGES = st.lists(
    st.dictionaries(
        st.text(max_size=5),
        st.none() | st.integers() | st.text() | st.lists(st.booleans()),
        max_size=3,
    ),
    max_size=4,
)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Return the reading and the writing end of a pipe."""
    reading, writing = os.pipe()
    yield reading, writing
    for end in (reading, writing):
        try:
            os.close(end)
        except OSError:
            continue


@settings(deadline=None)
@given(messages=MESSAGES, data=st.data())
def test_messages_survive_any_cutting_of_the_stream(
    messages: list[dict[str, object]], data: st.DataObject
) -> None:
    """A pipe hands out bytes as it likes."""
    messages = [{**message, "n": place} for place, message in enumerate(messages)]
    for message in messages:
        message.pop("schema", None)
    stream = b"".join(encode(message) for message in messages)
    decoder = Decoder()
    received = []

    while stream:
        size = data.draw(st.integers(1, len(stream)))
        received += list(decoder.feed(stream[:size]))
        stream = stream[size:]

    assert received == messages
    assert decoder.torn == 0


def test_a_message_is_one_line_of_plain_ascii() -> None:
    """Text of any kind, lone surrogates included, cannot break the framing."""
    message = {"text": "größe\n\r\u2028\udcff"}

    encoded = encode(message)

    assert encoded.isascii()
    assert encoded.count(b"\n") == 2
    assert list(Decoder().feed(encoded)) == [message]


def test_a_torn_line_ends_before_the_next_message() -> None:
    """A worker that was killed while it wrote does not take the next message along."""
    decoder = Decoder()
    torn = encode({"event": "started", "pid": 1})[:20]

    received = list(decoder.feed(torn + encode({"event": "result"})))

    assert received == [{"event": "result"}]
    assert decoder.torn == 1


def test_a_line_without_an_end_takes_no_memory_without_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is torn once it ends, and what comes after it is heard."""
    monkeypatch.setattr(wire, "MOST_BYTES", 100)
    decoder = Decoder()

    for _ in range(50):
        assert list(decoder.feed(b"x" * 70)) == []
    kept = len(decoder._rest)
    received = list(decoder.feed(b'{"schema": 1}\n' + encode({"event": "result"})))

    assert kept == 101
    assert received == [{"event": "result"}]
    assert decoder.torn == 1


def test_a_line_of_the_greatest_length_is_a_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In however many parts it comes."""
    encoded = encode({"text": "x" * 60})
    monkeypatch.setattr(wire, "MOST_BYTES", len(encoded) - 2)
    decoder = Decoder()

    received = [
        message
        for place in range(len(encoded))
        for message in decoder.feed(encoded[place : place + 1])
    ]

    assert received == [{"text": "x" * 60}]
    assert decoder.torn == 0


@pytest.mark.parametrize(
    "line",
    [
        b"garbage\n",
        b"[1, 2]\n",
        b"7\n",
        b"null\n",
        b"\xff\xfe\n",
        b'{"a": \n',
        b"[" * 100_000 + b"\n",
    ],
)
def test_what_is_no_message_is_counted_and_skipped(line: bytes) -> None:
    """Nothing is made of half a message."""
    decoder = Decoder()

    received = list(decoder.feed(line + encode({"event": "result"})))

    assert received == [{"event": "result"}]
    assert decoder.torn == 1


def test_a_message_without_its_end_is_waited_for() -> None:
    """It is neither torn nor there yet."""
    decoder = Decoder()
    encoded = encode({"event": "result"})

    assert list(decoder.feed(encoded[:-1])) == []
    assert list(decoder.feed(encoded[-1:])) == [{"event": "result"}]


@pytest.mark.parametrize("message", [{"schema": SCHEMA + 1}, {"event": "result"}])
def test_another_schema_is_refused(message: dict[str, object]) -> None:
    """Parent and child of different versions must not understand each other half."""
    line = json.dumps(message).encode() + b"\n"

    with pytest.raises(ProtocolError) as caught:
        list(Decoder().feed(line))

    assert str(caught.value) == f"a child process speaks another schema than {SCHEMA}"
    assert caught.value.hint == "reinstall the package"


def test_a_message_cannot_choose_its_schema() -> None:
    """The line's own schema is always ours."""
    received = list(Decoder().feed(encode({"schema": 99, "event": "result"})))

    assert received == [{"event": "result"}]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_has_no_word_for_is_not_sent(value: float) -> None:
    """A reading that was not taken is None."""
    sentence = "Out of range float values are not JSON compliant"

    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        encode({"value": value})


def test_what_is_sent_is_received_until_the_end_of_the_pipe(
    pipe: tuple[int, int],
) -> None:
    """The child reads orders until the parent closes its end."""
    reading, writing = pipe

    send(writing, {"order": 1})
    send(writing, {"order": 2})
    os.close(writing)

    assert list(receive(reading)) == [{"order": 1}, {"order": 2}]


def test_a_message_larger_than_one_write_is_sent_whole(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe may take less than it was given."""
    reading, writing = pipe
    write = os.write
    monkeypatch.setattr(os, "write", lambda end, data: write(end, bytes(data[:7])))

    send(writing, {"text": "x" * 1000})
    os.close(writing)

    assert list(receive(reading)) == [{"text": "x" * 1000}]

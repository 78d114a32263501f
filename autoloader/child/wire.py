"""JSON lines between parent and child, over inherited pipes.

Every line carries the schema. A message starts with a newline of its own, so that a
line torn by a killed writer ends before the next message begins. No pickle.
"""

import json
import os
from collections.abc import Iterator
from typing import Any

from autoloader.errors import ProtocolError

SCHEMA = 1

MOST_BYTES = 2**26
"""Longest line that is waited for: what is larger goes by file, and is none of ours."""


def encode(message: dict[str, Any]) -> bytes:
    """Return one message as bytes."""
    text = json.dumps({**message, "schema": SCHEMA}, ensure_ascii=True, allow_nan=False)
    return b"\n" + text.encode("ascii") + b"\n"


def send(descriptor: int, message: dict[str, Any]) -> None:
    """Write one message whole."""
    view = memoryview(encode(message))
    while view:
        view = view[os.write(descriptor, view) :]


class Decoder:
    """Cut a byte stream into messages; a torn line is counted and skipped."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self.torn = 0
        """Lines that were no message: a writer died in the middle of one."""

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Return the messages that `data` completes.

        Raises:
            ProtocolError: a message of another schema.
        """
        for line in self._lines(data):
            message = _message(line)
            if message is None:
                self.torn += 1
                continue
            if message.pop("schema", None) != SCHEMA:
                msg = f"a child process speaks another schema than {SCHEMA}"
                raise ProtocolError(msg, hint="reinstall the package")
            yield message

    def _lines(self, data: bytes) -> Iterator[bytes]:
        """Yield the lines that `data` completes; of what is too long, its head."""
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._keep(end)
            line = bytes(self._rest)
            self._rest.clear()
            if line:
                yield line
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        """Keep a part of a line, and no more than shows that it is too long."""
        self._rest += part[: MOST_BYTES + 1 - len(self._rest)]


def _message(line: bytes) -> dict[str, Any] | None:
    """Return the message on a line; None where it is none."""
    if len(line) > MOST_BYTES:
        return None
    try:
        message = json.loads(line.decode("ascii"))
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def receive(descriptor: int) -> Iterator[dict[str, Any]]:
    """Yield messages until the writing end is closed (child's side)."""
    decoder = Decoder()
    while data := os.read(descriptor, 65536):
        yield from decoder.feed(data)

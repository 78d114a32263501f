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
        self._rest = b""
        self.torn = 0
        """Lines that were no message: a writer died in the middle of one."""

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Return the messages that `data` completes.

        Raises:
            ProtocolError: a message of another schema.
        """
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if not line:
                continue
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            if not isinstance(message, dict):
                self.torn += 1
                continue
            if message.pop("schema", None) != SCHEMA:
                msg = f"a child process speaks another schema than {SCHEMA}"
                raise ProtocolError(msg, hint="reinstall the package")
            yield message


def receive(descriptor: int) -> Iterator[dict[str, Any]]:
    """Yield messages until the writing end is closed (child's side)."""
    decoder = Decoder()
    while data := os.read(descriptor, 65536):
        yield from decoder.feed(data)

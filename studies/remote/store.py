"""Serve objects over HTTP as a store far away does: each after 10 to 20 ms.

    python studies/remote/store.py FOLDER [--port N]

prints its address and answers `GET /KEY` for every file of the folder, `GET /` with the
list of keys, until a pipe on its stdin ends or it is interrupted. How long an answer
takes depends on the key alone, so that every config waits equally long for an object.
Connections are kept, and one thread serves all of them: a store elsewhere would take no
CPU of this machine, so that this one must take little. Whoever asks belongs elsewhere.
"""

import argparse
import asyncio
import contextlib
import hashlib
import os
import signal
import stat
import sys
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from urllib.parse import unquote

LATENCY_S = (0.010, 0.020)
"""Least and most time until an object is answered."""

MOST_HEAD_BYTES = 65536
"""Longest head of a request; a longer one ends the connection."""

_END_OF_HEAD = b"\r\n\r\n"


def latency_s(key: str) -> float:
    """Return how long an object's answer takes, in seconds."""
    least, most = LATENCY_S
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    return least + (most - least) * int.from_bytes(digest) / 2**64


class Connection(asyncio.Protocol):
    """One client: its requests are answered one after the other."""

    def __init__(self, objects: Mapping[str, bytes]) -> None:
        """Begin without a request.

        Args:
            objects: content by key; the empty key is the list of all others.
        """
        self._objects = objects
        self._unread = b""
        self._is_answering = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what answers are written to."""
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Take in what the client sent, and answer it when it is a whole request."""
        self._unread += data
        self._take()

    def _take(self) -> None:
        head, end, rest = self._unread.partition(_END_OF_HEAD)
        if self._is_answering or self._transport is None:
            return
        if not end:
            if len(head) > MOST_HEAD_BYTES:
                self._transport.close()
            return
        self._unread, self._is_answering = rest, True
        status, key, is_kept = parse(head)
        body = self._objects.get(key, b"") if status is HTTPStatus.OK else b""
        if status is HTTPStatus.OK and key not in self._objects:
            status = HTTPStatus.NOT_FOUND
        loop = asyncio.get_running_loop()
        loop.call_later(latency_s(key), self._answer, status, body, is_kept)

    def _answer(self, status: HTTPStatus, body: bytes, is_kept: bool) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        kept = "keep-alive" if is_kept else "close"
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: {kept}\r\n\r\n"
        )
        self._transport.write(head.encode() + body)
        self._is_answering = False
        if is_kept:
            self._take()
        else:
            self._transport.close()


def parse(head: bytes) -> tuple[HTTPStatus, str, bool]:
    """Return what a request asks for: a first status, the key, and "keep it open".

    Args:
        head: request line and fields, without the blank line.
    """
    line, *fields = head.decode("latin-1").split("\r\n")
    method, _, rest = line.partition(" ")
    target, _, version = rest.partition(" ")
    if not version.startswith("HTTP/1.") or not target.startswith("/"):
        return HTTPStatus.BAD_REQUEST, "", False
    if method != "GET":  # what follows the head may be a body
        return HTTPStatus.METHOD_NOT_ALLOWED, "", False
    wishes = [
        value.strip().lower()
        for name, _, value in (field.partition(":") for field in fields)
        if name.strip().lower() == "connection"
    ]
    is_kept = version == "HTTP/1.1" and "close" not in wishes
    return HTTPStatus.OK, unquote(target[1:]), is_kept


def objects_of(folder: Path) -> dict[str, bytes]:
    """Return the folder's files by key, and the list of keys under the empty one."""
    found = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    return {**found, "": "\n".join(found).encode()}


def is_held() -> bool:
    """Whether stdin is a pipe: whoever started this has the other end.

    Other kinds are not read: a terminal would stop a store in the background, and a
    file or `/dev/null` says nothing of anybody.
    """
    try:
        return stat.S_ISFIFO(os.fstat(0).st_mode)
    except OSError:  # closed
        return False


async def serve(folder: Path, port: int) -> None:
    """Serve a folder until a pipe on stdin ends; first print the address on stdout."""
    objects = objects_of(folder)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(objects), "127.0.0.1", port)
    ended = asyncio.Event()

    def look() -> None:
        if not os.read(0, 4096):
            ended.set()

    if is_held():  # by that process, and by all that it forked
        loop.add_reader(0, look)
    host, bound = server.sockets[0].getsockname()
    print(f"http://{host}:{bound}", flush=True)
    await ended.wait()
    server.close()


def main() -> int:
    """Serve; return the exit code."""
    parser = argparse.ArgumentParser(description="Serve a folder, slowly.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--port", type=int, default=0, metavar="N")
    options = parser.parse_args()
    if is_held():  # a study is interrupted: its store ends with it
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(options.folder, options.port))
    return 0


if __name__ == "__main__":
    sys.exit(main())

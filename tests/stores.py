"""A store on this machine that answers "too many requests", and its address."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def store(
    *, at_once: int, status: int = 429, answer_s: float = 0.0
) -> Iterator[tuple[str, list[int]]]:
    """Run a store that turns away what is asked beyond `at_once` requests.

    Args:
        at_once: requests that it answers at one moment; 0: none.
        status: what it answers to the others.
        answer_s: time that an answer takes.

    Yields:
        Its address, and the status of each answer so far.
    """
    answers: list[int] = []
    room = threading.Semaphore(at_once)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_let_in = room.acquire(blocking=False)
            if is_let_in:
                time.sleep(answer_s)  # what a store's work takes
                room.release()  # before the answer: the next request may follow it
            answers.append(200 if is_let_in else status)
            body = self.path.encode()
            self.send_response(answers[-1])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", answers
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

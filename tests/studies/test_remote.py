"""A store far away: waits by key, one connection a worker, gone with its study."""

import http.client
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import torch
from torch.utils.data import DataLoader

from autoloader.measure.descriptors import connected_sockets
from studies.making import StudyError
from studies.remote.dataset import OBJECTS, LocalStore, Objects, make_objects, remote
from studies.remote.store import LATENCY_S, latency_s, objects_of, parse
from tests.studies.reading import digests, equal, times
from tests.waiting import wait_for

COUNT = 12
STORE = Path(__file__).parents[2] / "studies" / "remote" / "store.py"


@pytest.fixture(scope="module")
def root(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a dozen objects."""
    root = tmp_path_factory.mktemp("remote") / "remote"
    make_objects(root, photos, COUNT)
    return root


@pytest.fixture(scope="module")
def store(root: Path) -> LocalStore:
    """Return a running store of them."""
    return LocalStore(root / OBJECTS)


def ends(process_id: int) -> bool:
    """Whether a process is gone, or dead and not waited for."""
    try:
        text = Path(f"/proc/{process_id}/stat").read_text()
    except OSError:
        return True
    return text.rpartition(") ")[2].startswith("Z")


def test_objects_are_made_alike_and_once(
    root: Path, photos: Path, tmp_path: Path
) -> None:
    """Two makers write the same bytes, and a second start writes none."""
    before = times(root)

    assert make_objects(tmp_path / "again", photos, COUNT)
    assert not make_objects(root, photos, COUNT)

    assert digests(root) == digests(tmp_path / "again")
    assert times(root) == before


def test_an_object_arrives_as_it_is_stored(root: Path, store: LocalStore) -> None:
    """Every key is listed, and each example has its label and a picture of its own."""
    dataset = Objects(store.url)

    found = [dataset[index] for index in range(len(dataset))]

    stored = sorted((root / OBJECTS).glob("*/*.jpg"))
    assert [label for _, label in found] == [int(path.parent.name) for path in stored]
    assert all(pixels.shape == (3, 96, 96) for pixels, _ in found)
    assert all(pixels.dtype is torch.float32 for pixels, _ in found)
    assert len({pixels.numpy().tobytes() for pixels, _ in found}) == COUNT


def test_workers_fetch_what_one_process_fetches(store: LocalStore) -> None:
    """Two workers deliver the same batches as none."""
    dataset = Objects(store.url)

    alone = list(DataLoader(dataset, batch_size=3))
    shared = list(DataLoader(dataset, batch_size=3, num_workers=2))

    assert equal(shared, alone)


def test_no_connection_is_open_before_the_first_example(store: LocalStore) -> None:
    """A host may be forked: the one that listed the keys is closed."""
    before = connected_sockets(os.getpid())  # other tests may have left some

    dataset = Objects(store.url)

    assert connected_sockets(os.getpid()) == before
    assert len(dataset) == COUNT


def test_one_connection_serves_all_examples_of_a_process(store: LocalStore) -> None:
    """It is opened at the first one and kept."""
    before = connected_sockets(os.getpid()) or 0
    dataset = Objects(store.url)

    counted = [
        connected_sockets(os.getpid()) for _ in map(dataset.__getitem__, range(4))
    ]

    assert counted == [before + 1] * 4


def test_an_inherited_connection_is_not_used(store: LocalStore) -> None:
    """A process that is forked in mid-study opens its own."""
    dataset = Objects(store.url)
    expected = dataset[0]
    inherited = dataset.connection

    child = os.fork()
    if child == 0:
        is_right = equal(dataset[0], expected)
        os._exit(0 if is_right and dataset.connection is not inherited else 1)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert equal(dataset[0], expected)
    assert dataset.connection is inherited


def test_a_spawned_worker_gets_the_address_alone(store: LocalStore) -> None:
    """Neither connection nor store is sent, and the copy fetches for itself."""
    dataset = Objects(store.url)
    dataset.store = store
    expected = dataset[1]

    received = pickle.loads(pickle.dumps(dataset))  # noqa: S301  # made here

    assert received.store is None
    assert received.connection is None
    assert equal(received[1], expected)


def test_a_connection_that_the_store_closed_is_opened_anew() -> None:
    """Whoever keeps connections finds them closed now and then, and asks again."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        answers = subprocess.Popen(
            [sys.executable, "-c", CLOSES_KEPT_CONNECTIONS, str(server.fileno())],
            pass_fds=[server.fileno()],
        )

        dataset = Objects(url)
        found = [dataset.fetch("a/1"), dataset.fetch("a/2")]

    answers.wait()
    assert found == [b"a/1 a/2", b"a/1 a/2"]


CLOSES_KEPT_CONNECTIONS = """
import socket, sys
server = socket.socket(fileno=int(sys.argv[1]))
for _ in range(3):
    client, _ = server.accept()
    with client:
        client.recv(65536)
        client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 7\\r\\n\\r\\na/1 a/2")
"""


def test_a_store_that_refuses_is_named(store: LocalStore) -> None:
    """Its address, its answer and the key are told."""
    dataset = Objects(store.url)
    said = f"{store.url} answered 404 Not Found for 'none/1'"

    with pytest.raises(StudyError, match=f"^{re.escape(said)}$"):
        dataset.fetch("none/1")


def test_a_store_that_cannot_start_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no Python can be started on it, the folder is told."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    said = f"the store of {tmp_path} ended at once; its reason is above"

    with pytest.raises(StudyError, match=f"^{re.escape(said)}$"):
        LocalStore(tmp_path)


def test_a_store_ends_with_the_object_that_started_it(root: Path) -> None:
    """Nothing is left when a dataset is no longer used."""
    store = LocalStore(root / OBJECTS)
    process_id = store.process_id

    del store

    assert wait_for(lambda: ends(process_id), "the end of the store")


def test_a_store_ends_when_its_study_is_killed(root: Path) -> None:
    """Whoever started it has no time to end it, and it ends all the same."""
    receiving, sending = os.pipe()
    starter = os.fork()
    if starter == 0:
        started = LocalStore(root / OBJECTS)
        os.write(sending, b"%d" % started.process_id)
        signal.pause()
        os._exit(1)
    process_id = int(os.read(receiving, 32))
    os.close(receiving)
    os.close(sending)
    assert not ends(process_id)

    os.kill(starter, signal.SIGKILL)
    os.waitpid(starter, 0)

    assert wait_for(lambda: ends(process_id), "the end of the store")


@pytest.mark.parametrize("kind", ["file", "null", "terminal", "closed"])
def test_a_store_serves_until_it_is_interrupted_where_stdin_is_no_pipe(
    kind: str, root: Path
) -> None:
    """In the background of a terminal, say, whose input it must not read."""
    held, stdin = os.openpty() if kind == "terminal" else (None, None)
    if kind in {"file", "null"}:
        stdin = os.open(STORE if kind == "file" else os.devnull, os.O_RDONLY)
    start = ["sh", "-c", 'exec "$@" <&-', "sh"] if kind == "closed" else []
    with subprocess.Popen(
        [*start, sys.executable, STORE, root / OBJECTS],
        stdin=stdin,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        found = len(Objects(url)) if url else 0
        process.send_signal(signal.SIGINT)
        code = process.wait()
    for number in {held, stdin} - {None}:
        os.close(int(number or 0))

    assert (found, code) == (COUNT, 0)


def test_a_forked_process_does_not_end_the_store(root: Path) -> None:
    """It belongs to the process that started it: a worker's end ends nothing."""
    store = LocalStore(root / OBJECTS)
    dataset = Objects(store.url)

    child = os.fork()
    if child == 0:
        del store
        os._exit(0)
    os.waitpid(child, 0)

    assert dataset[0][0].shape == (3, 96, 96)


def test_an_answer_takes_as_long_as_its_key_says(root: Path, store: LocalStore) -> None:
    """No answer comes earlier, and most come soon after."""
    place = urlsplit(store.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port)
    late: list[float] = []
    for path in sorted((root / OBJECTS).glob("*/*.jpg")):
        key = path.relative_to(root / OBJECTS).as_posix()
        start = time.perf_counter()
        connection.request("GET", f"/{key}")
        content = connection.getresponse().read()
        late.append(time.perf_counter() - start - latency_s(key))
        assert content == path.read_bytes()
    connection.close()

    assert min(late) > 0


def test_the_latency_is_a_matter_of_the_key() -> None:
    """10 to 20 ms, spread evenly, and the same each time."""
    found = [latency_s(f"00/{number:06d}.jpg") for number in range(2000)]

    assert found == [latency_s(f"00/{number:06d}.jpg") for number in range(2000)]
    assert min(found) >= LATENCY_S[0]
    assert max(found) <= LATENCY_S[1]
    assert sum(found) / len(found) == pytest.approx(0.015, rel=0.02)


def test_many_wait_at_the_same_time(store: LocalStore) -> None:
    """Thirty-two clients get their answers in the time of a few, not of thirty-two."""
    place = urlsplit(store.url)
    connections = [
        http.client.HTTPConnection(place.hostname or "", place.port) for _ in range(32)
    ]
    for connection in connections:
        connection.connect()

    start = time.perf_counter()
    for connection in connections:
        connection.request("GET", "/")
    answers = [connection.getresponse().read() for connection in connections]
    seconds = time.perf_counter() - start

    for connection in connections:
        connection.close()
    assert len(set(answers)) == 1
    assert seconds < 32 * LATENCY_S[0]


@pytest.mark.parametrize(
    ("request_line", "answer"),
    [
        (b"GET /00/1.jpg HTTP/1.1", (200, "00/1.jpg", True)),
        (b"GET /a%20b HTTP/1.1\r\nConnection: close", (200, "a b", False)),
        (b"GET / HTTP/1.0", (200, "", False)),
        (b"POST / HTTP/1.1", (405, "", False)),
        (b"GET 00/1.jpg HTTP/1.1", (400, "", False)),
        (b"\x16\x03\x01", (400, "", False)),
    ],
)
def test_a_request_is_understood(
    request_line: bytes, answer: tuple[int, str, bool]
) -> None:
    """What is asked for, or why it is refused, and whether the connection is kept."""
    assert parse(request_line) == answer


def test_requests_that_come_in_pieces_and_together_are_answered(
    root: Path, store: LocalStore
) -> None:
    """A head may arrive in two parts, and the next one behind it."""
    content = objects_of(root / OBJECTS)
    key = next(key for key in content if key)
    place = urlsplit(store.url)

    with socket.create_connection((place.hostname or "", place.port or 0)) as client:
        client.sendall(b"GET / HTTP/1.1\r\n")
        client.sendall(b"Host: here\r\n\r\n" + f"GET /{key} HTTP/1.1\r\n".encode())
        client.sendall(b"Connection: close\r\n\r\n")
        received = b""
        while part := client.recv(65536):
            received += part

    assert received.count(b"HTTP/1.1 200 OK\r\n") == 2
    assert content[""] in received
    assert received.endswith(content[key])


def test_a_head_without_end_ends_the_connection(store: LocalStore) -> None:
    """Nobody makes the store keep what is no request."""
    place = urlsplit(store.url)

    with socket.create_connection((place.hostname or "", place.port or 0)) as client:
        client.sendall(b"GET /" + b"a" * 70_000)

        assert client.recv(10) == b""


def test_a_study_starts_its_own_store(root: Path, photos: Path) -> None:
    """Without an address one is started over the study's objects, and ends with it."""
    dataset = remote(root=str(root), photos=str(photos), count=COUNT)
    assert dataset.store is not None
    process_id = dataset.store.process_id
    found = dataset[COUNT - 1]

    del dataset

    assert found[0].shape == (3, 96, 96)
    assert wait_for(lambda: ends(process_id), "the end of the store")


def test_a_study_takes_a_store_that_runs(store: LocalStore) -> None:
    """With an address nothing is started."""
    dataset = remote(store.url)

    assert dataset.store is None
    assert len(dataset) == COUNT

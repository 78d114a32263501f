"""What forked workers inherit: handles, locks, pools, threads, connections, files."""

import socket
import sqlite3
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from autoloader.child.suspects import find_suspects


class Holder:
    """A dataset that holds what it is given."""

    def __init__(self, **held: Any) -> None:
        self.__dict__.update(held)


@contextmanager
def waiting_thread(name: str) -> Iterator[None]:
    """Run a thread until the block ends."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait, name=name)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_held_lock_is_named_and_a_free_one_is_not() -> None:
    """Its owner does not exist in a forked worker."""
    held, free, again = threading.Lock(), threading.Lock(), threading.RLock()
    held.acquire()

    found = find_suspects(Holder(inner=Holder(lock=held), free=free, re=again), own=())

    assert "dataset.inner.lock (a lock that is held)" in found
    assert not [item for item in found if "free" in item or ".re" in item]


def test_handles_of_libraries_are_named_by_their_path(tmp_path: Path) -> None:
    """Also in containers; a key that may be content of the data is not shown."""
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("0", b"x")
    with zipfile.ZipFile(archive) as opened:
        connection = sqlite3.connect(":memory:")
        found = find_suspects(
            Holder(shards=[opened], by_name={"A patient's name": connection}), own=()
        )
        connection.close()

    assert "dataset.shards[0] (zipfile ZipFile)" in found
    assert "dataset.by_name[...] (sqlite3 Connection)" in found
    assert "the open file a.zip" in found


def test_files_of_ours_are_no_suspects(tmp_path: Path) -> None:
    """Logs and stage boards are open too."""
    file = tmp_path / "stage"
    file.write_text("x", encoding="utf-8")

    with file.open(encoding="utf-8"):
        theirs = find_suspects(Holder(), own=())
        ours = find_suspects(Holder(), own=(str(tmp_path),))

    assert "the open file stage" in theirs
    assert "the open file stage" not in ours


def test_pools_and_threads_are_named() -> None:
    """Threads do not survive a fork, and what waits for them waits for ever."""
    with ThreadPoolExecutor(1) as pool, waiting_thread("prefetcher"):
        found = find_suspects(Holder(pool=pool), own=())

    assert "dataset.pool (concurrent ThreadPoolExecutor)" in found
    assert "the thread prefetcher" in found


def test_open_connections_are_counted() -> None:
    """Two processes that read one socket get each other's answers."""
    one, other = socket.socketpair()
    with one, other:
        found = find_suspects(Holder(), own=())

    assert any(item.endswith("open connections") for item in found)


def test_a_dataset_of_plain_things_is_not_suspected_of_its_own() -> None:
    """A cycle is looked at once."""
    dataset = Holder(names=["a", "b"], size=3)
    dataset.__dict__["itself"] = dataset

    found = find_suspects(dataset, own=())

    assert not [item for item in found if item.startswith("dataset")]


@pytest.mark.parametrize("value", [b"bytes", "text", 7, None, True])
def test_plain_values_are_passed_over(value: object) -> None:
    """They hold nothing."""
    found = find_suspects(Holder(value=value), own=())

    assert not [item for item in found if item.startswith("dataset")]

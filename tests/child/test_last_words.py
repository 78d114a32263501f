"""What logs say: the last exception, and where processes stand."""

from pathlib import Path

from autoloader.child.last_words import (
    LOST,
    last_raised,
    lost_raised,
    native_words,
    read_end,
    standing_places,
)

SITE = "/usr/lib/python3/site-packages"

PICKLING = """\
Traceback (most recent call last):
  File "/usr/lib/python3.11/multiprocessing/queues.py", line 244, in _feed
    obj = _ForkingPickler.dumps(obj)
  File "/usr/lib/python3.11/multiprocessing/reduction.py", line 51, in dumps
    cls(buf, protocol).dump(obj)
AttributeError: Can't pickle local object 'D.__getitem__.<locals>.<lambda>'
"""

CHAINED = """\
some print of the dataset: ValueError: not this one
Traceback (most recent call last):
  File "data.py", line 3, in __iter__
    raise KeyError("x")
KeyError: 'x'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "data.py", line 5, in __iter__
    raise package.errors.IndexFileGone("index file vanished") from exc
package.errors.IndexFileGone: index file vanished
a line after it
"""


def test_the_last_exception_is_read_with_its_words() -> None:
    """Whatever was printed before and after."""
    found = last_raised(CHAINED)

    assert found is not None
    assert (found.kind, found.words) == ("IndexFileGone", "index file vanished")
    assert str(found.first_cause) == "KeyError: 'x'"


def test_a_feeder_threads_exception_is_read() -> None:
    """It is on stderr only, while the loader waits for ever."""
    found = str(last_raised(PICKLING))

    assert found == (
        "AttributeError: Can't pickle local object 'D.__getitem__.<locals>.<lambda>'"
    )


def test_an_exception_without_words_is_its_type() -> None:
    """`raise StopIteration` has no text."""
    text = 'Traceback (most recent call last):\n  File "a", line 1\nMemoryError\n'

    assert str(last_raised(text)) == "MemoryError"


def test_a_log_without_a_traceback_has_no_exception() -> None:
    """A line that looks like one is none; a traceback may be cut short."""
    assert last_raised("ValueError: printed by the dataset\n") is None
    assert last_raised("Traceback (most recent call last):\n  File") is None
    assert last_raised("Traceback (most recent call last):\n  x\n*** odd\n") is None


def test_places_are_the_users_innermost_code() -> None:
    """Python's and PyTorch's own frames are passed over, a library is named."""
    import sysconfig

    paths = sysconfig.get_paths()
    log = f"""\
Fatal: whatever
Current thread 0x00007f (most recent call first):
  File "{paths["stdlib"]}/threading.py", line 324 in wait
  File "{paths["purelib"]}/polars/frame.py", line 12 in collect
  File "/home/me/data.py", line 33 in __getitem__
  File "{paths["purelib"]}/torch/utils/data/_utils/fetch.py", line 54 in fetch

Thread 0x00007e (most recent call first):
  File "{paths["stdlib"]}/multiprocessing/queues.py", line 220 in _feed
  File "{paths["stdlib"]}/threading.py", line 900 in run
Current thread 0x00007d (most recent call first):
  File "{paths["purelib"]}/torch/utils/data/dataloader.py", line 1300 in _try_get_data
  File "/opt/autoloader/child/gate.py", line 100 in _read_epoch
  File "/home/me/train.py", line 1 in <module>
Current thread 0x00007c (most recent call first):
  File "/home/me/data.py", line 33 in __getitem__
"""

    assert standing_places(log) == [
        "__getitem__ (data.py:33), in polars",
        "__getitem__ (data.py:33)",
    ]


def test_only_the_end_of_a_log_is_read(tmp_path: Path) -> None:
    """A chatty dataset prints gigabytes; what is no UTF-8 does not matter."""
    file = tmp_path / "stderr.txt"
    file.write_bytes(b"x" * (2 << 20) + b"\xff the end")

    found = read_end(file)

    assert found.endswith("\ufffd the end")
    assert len(found) == 1 << 20
    assert read_end(tmp_path / "missing") == ""


def test_what_a_worker_could_not_send_is_read() -> None:
    """The outermost exception of it, not the one that tells why it was lost."""
    log = (
        f'noise\n{LOST}\nTraceback (most recent call last):\n  File "d", line 1, in f\n'
        "KeyError: 'x'\n\nThe above exception was the direct cause of the following "
        "exception:\n\nTraceback (most recent call last):\n"
        f'  File "d", line 2, in f\nDecoderError: gave up\n\n{PICKLING}'
    )

    found = lost_raised(log)

    assert found is not None
    assert found.told == "DecoderError: gave up, which began as KeyError: 'x'"
    assert lost_raised(PICKLING) is None


def test_what_only_tells_that_a_worker_is_gone_is_passed_over() -> None:
    """The training process prints that last, with what it was waiting for."""
    log = (
        f'{PICKLING}Traceback (most recent call last):\n  File "q", line 1, in get\n'
        "_queue.Empty\n\nThe above exception was the direct cause of the following "
        'exception:\n\nTraceback (most recent call last):\n  File "l", line 1, in n\n'
        "RuntimeError: DataLoader worker (pid(s) 7) exited unexpectedly\n"
    )

    assert str(last_raised(log)).startswith("AttributeError: Can't pickle")


def test_the_last_words_of_native_code_are_read() -> None:
    """One that says nothing has none."""
    log = "free(): invalid pointer\nFatal Python error: Aborted\nnoise\n"

    assert native_words(log) == "Fatal Python error: Aborted"
    assert native_words("all is well\n") is None


def test_a_connection_that_a_dead_worker_closed_says_nothing_of_its_death() -> None:
    """One that the user's code lost does."""
    lost = "Traceback (most recent call last):\n{}ConnectionResetError: [Errno 104] x\n"
    ours = lost.format('  File "/opt/autoloader/child/gate.py", line 3, in read\n')
    theirs = lost.format('  File "/home/me/data.py", line 3, in read\n')

    assert last_raised(ours) is None
    assert str(last_raised(theirs)) == "ConnectionResetError: [Errno 104] x"

"""Tracebacks as Python prints them: what they end with, and what led to it."""

import traceback

import pytest

from autoloader.measure.tracebacks import (
    MOST_CHARACTERS,
    Raised,
    cleaned,
    raised_in,
)


def read(exc: BaseException) -> Raised:
    """Return the one exception that Python's own text of another tells of."""
    (found,) = raised_in("".join(traceback.format_exception(exc)))
    return found


def caught(raises: str) -> BaseException:
    """Return what a line of code raises, with its traceback."""
    try:
        exec(compile(raises, "/home/me/data.py", "exec"), {})  # noqa: S102  # our own lines
    except Exception as exc:  # noqa: BLE001  # whatever the lines raise
        return exc
    raise AssertionError(raises)


def test_type_words_and_place_are_read() -> None:
    """The innermost frame of the user's is the place."""
    found = read(caught("def read():\n  raise OSError('shard 3 is gone')\nread()"))

    assert (found.kind, found.words) == ("OSError", "shard 3 is gone")
    assert found.place == "read (data.py:2)"
    assert found.told == "OSError: shard 3 is gone"


def test_an_exception_without_words_is_told_by_its_place() -> None:
    """`assert` alone says nothing but where it stands."""
    found = read(caught("def check():\n  assert 1 == 2\ncheck()"))

    assert found.told == "AssertionError, without a word, in check (data.py:2)"


def test_words_behind_an_empty_first_line_are_found() -> None:
    """Some clients begin their texts with an empty line."""
    found = read_raised("raise ValueError('\\n\\n  429 is no answer\\nmore')")

    assert raised_in("ValueError: no traceback\n") == []
    assert found.words == "429 is no answer"


def read_raised(raises: str) -> Raised:
    """Return what is read of what a line of code raises."""
    return read(caught(raises))


def test_the_first_cause_of_a_chain_is_told() -> None:
    """Whether it was given, or came while another was handled."""
    given = read_raised(
        "try:\n  {}['a']\nexcept KeyError as exc:\n  raise ValueError('bad') from exc"
    )
    handled = read_raised(
        "try:\n  open('/nowhere/x')\nexcept OSError:\n  raise ValueError('bad')"
    )

    assert given.told == "ValueError: bad, which began as KeyError: 'a'"
    assert handled.told == (
        "ValueError: bad, which began as FileNotFoundError: "
        "[Errno 2] No such file or directory: '/nowhere/x'"
    )


def test_a_cause_that_is_hidden_or_repeated_is_not_told() -> None:
    """`from None` means it, and a wrapper often has the words of what it wraps."""
    hidden = read_raised(
        "try:\n  {}['a']\nexcept KeyError:\n  raise ValueError('bad') from None"
    )
    repeated = read_raised(
        "try:\n  raise OSError('gone')\n"
        "except OSError as exc:\n  raise ValueError(f'OSError: {exc}') from exc"
    )

    assert hidden.told == "ValueError: bad"
    assert repeated.told == "ValueError: OSError: gone"


def test_the_parts_of_a_group_are_told() -> None:
    """Raised or not, nested or not, with what led to them."""
    found = read_raised(
        "inner = ExceptionGroup('two', [OSError('b'), KeyError('c')])\n"
        "try:\n  raise TypeError('d')\nexcept TypeError as exc:\n  part = exc\n"
        "raise ExceptionGroup('reads failed', [ValueError('a'), part, inner])"
    )

    assert [str(part) for part in found.parts] == [
        "ValueError: a",
        "TypeError: d",
        "ExceptionGroup: two (2 sub-exceptions)",
        "OSError: b",
        "KeyError: 'c'",
    ]
    assert str(found) == (
        "ExceptionGroup: reads failed (3 sub-exceptions) "
        "[ValueError: a; TypeError: d; ExceptionGroup: two (2 sub-exceptions)]"
    )
    assert {item.kind for item in found.all()} >= {"KeyError", "TypeError"}


def test_a_part_keeps_its_own_cause() -> None:
    """It is the part's, not the group's."""
    found = read_raised(
        "try:\n  try:\n    {}['a']\n  except KeyError as exc:\n"
        "    raise OSError('gone') from exc\nexcept OSError as exc:\n  part = exc\n"
        "raise ExceptionGroup('reads failed', [part])"
    )

    (part,) = found.parts
    assert part.told == "OSError: gone, which began as KeyError: 'a'"
    assert found.cause is None


def test_a_group_can_be_the_cause() -> None:
    """What it led to comes after it."""
    found = read_raised(
        "try:\n  raise ExceptionGroup('reads failed', [OSError('b')])\n"
        "except ExceptionGroup as exc:\n  raise ValueError('bad') from exc"
    )

    assert found.kind == "ValueError"
    assert "OSError" in {item.kind for item in found.all()}


def test_a_class_within_a_function_has_its_own_name() -> None:
    """As Python prints it: `module.make.<locals>.DecoderError`."""
    found = read_raised(
        "def make():\n  class DecoderError(Exception): pass\n"
        "  raise DecoderError('gave up')\nmake()"
    )

    assert str(found) == "DecoderError: gave up"


def test_a_text_from_another_process_is_read_once() -> None:
    """A pool of processes hands on the text of the first traceback as a cause."""
    text = (
        'concurrent.futures.process._RemoteTraceback: \n"""\n'
        "Traceback (most recent call last):\n"
        '  File "/home/me/data.py", line 3, in decode\n'
        'ValueError: bad marker\n"""\n\n'
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/home/me/data.py", line 9, in __getitem__\n'
        "ValueError: bad marker\n"
    )

    (found,) = raised_in(text)

    assert found.told == "ValueError: bad marker"


def test_very_long_chains_are_read() -> None:
    """A log may hold thousands of tracebacks that are linked."""
    link = (
        "Traceback (most recent call last):\nOSError: again\n\nDuring handling of the "
        "above exception, another exception occurred:\n\n"
    )

    (found,) = raised_in(link * 5000 + "Traceback (most recent call last):\nKeyError\n")

    assert found.told == "KeyError, which began as OSError: again"
    assert sum(1 for _ in found.all()) == 5001


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (
            "no answer from postgresql://me:pass@db.example:5432/x",
            "no answer from postgresql://...@db.example:5432/x",
        ),
        (
            "403 for url: https://b.example/k.tar?X-Signature=abc&y=1 (retried)",
            "403 for url: https://b.example/k.tar?... (retried)",
        ),
        ("no user@host and no ?query here", "no user@host and no ?query here"),
    ],
)
def test_passwords_and_signatures_are_not_told(words: str, kept: str) -> None:
    """Addresses of stores come with them."""
    assert cleaned(words) == kept


def test_long_words_are_cut() -> None:
    """An exception may carry a whole file."""
    found = read(caught("raise ValueError('x' * 9999)"))

    assert len(found.words) == MOST_CHARACTERS


def test_a_cause_that_was_never_raised_is_told() -> None:
    """`raise ... from KeyError(name)`: it has no traceback of its own."""
    found = read_raised("raise ValueError('bad') from KeyError('a')")

    assert found.told == "ValueError: bad, which began as KeyError: 'a'"

"""Hold so many files open that `select` cannot name the next one."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

MANY = 1100
"""More than the 1,024 descriptors that `select` knows."""

ROOM = 4096


@contextmanager
def many_descriptors() -> Iterator[None]:
    """Hold 1,100 descriptors open, above which the next ones lie.

    The test is skipped where this user may not have so many.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < ROOM:
        pytest.skip(f"this user may hold {hard} files open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (ROOM, hard))
    first = os.open(os.devnull, os.O_RDONLY)
    held = [first]
    try:
        held += [os.dup(first) for _ in range(MANY)]
        assert max(held) > MANY
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

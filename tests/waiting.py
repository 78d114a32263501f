"""Wait for events in tests: by condition, with a deadline that only a hang reaches."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

PATIENCE_S = 120.0


def wait_for(look: Callable[[], Found], what: str) -> Found:
    """Return what `look` finds, as soon as it is true.

    Raises:
        AssertionError: it did not come true within two minutes.
    """
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    msg = f"{what} did not happen within {PATIENCE_S:.0f} s"
    raise AssertionError(msg)

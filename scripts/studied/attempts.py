"""Take the steps of a long measurement, so that one that fails costs no other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from autoloader.errors import AutoloaderError

if TYPE_CHECKING:
    from collections.abc import Iterable

Step = Callable[[], None]


def attempt(steps: Iterable[Step]) -> int:
    """Take all steps; say why one fails, and return the last exit code that is not 0.

    An interrupt ends them all, and so does a bug.
    """
    code = 0
    for step in steps:
        try:
            step()
        except AutoloaderError as exc:
            print(exc.message, file=sys.stderr)
            if exc.hint:
                print(f"    {exc.hint}", file=sys.stderr)
            code = exc.exit_code
        except KeyboardInterrupt:
            print("interrupted; the same command goes on", file=sys.stderr)
            return 130
    return code

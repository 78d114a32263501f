"""One that measures at a time: `--wait` waits for its turn on this machine.

What the lock is, and where, is `trial.locks`'.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


def add_wait(group: argparse._ActionsContainer) -> None:
    """Add the flag that waits where another one measures on this machine."""
    group.add_argument(
        "--wait",
        action="store_true",
        help="wait where another autoloader measures on this machine; else that is "
        "refused, since two at once would measure each other",
    )


@contextlib.contextmanager
def turn(doing: str, args: Any) -> Iterator[None]:
    """Hold the machine for the time of a `with`.

    Args:
        doing: name of the command.
        args: its arguments, `--wait` among them.

    Raises:
        UsageError: another one measures, and is not to be waited for.
    """
    from autoloader.report.cleaning import clean
    from autoloader.trial.locks import machine_lock

    def tell(who: str) -> None:
        if not args.quiet and not args.json:
            print(f"waiting: {clean(who)}", file=sys.stderr, flush=True)

    with machine_lock(doing, waits=args.wait, on_wait=tell):
        yield

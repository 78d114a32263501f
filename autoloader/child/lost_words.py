"""Keep what PyTorch loses of an exception in a worker: the one example, its own words.

For the gate's process and its workers only; a timed pass runs as the user's would. The
exception goes the way that it always goes: one that cannot be sent is lost, and the
loader waits for ever; its words are in the log then.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
from multiprocessing.reduction import ForkingPickler
from typing import Any

from torch._utils import ExceptionWrapper

from autoloader.child.failures import READING_ID, index_being_read
from autoloader.child.last_words import LOST


def keep_lost_words() -> None:
    """Have exceptions tell what they would not, in this worker or in later forks.

    The index that was being read is added to the text that PyTorch sends. What cannot
    be sent is printed.
    """
    if getattr(ExceptionWrapper.__init__, "keeps_words", False):
        return
    wrap: Any = ExceptionWrapper.__init__

    def wrap_and_keep(
        self: Any, exc_info: Any = None, where: str = "in background"
    ) -> None:
        found = sys.exc_info() if exc_info is None else exc_info
        wrap(self, found, where)
        index = None if found[1] is None else index_being_read(found[1])
        if index is not None:
            self.exc_msg += f"{READING_ID}{index}\n"
        if not _can_be_sent(self.exc_type):
            _print(f"{LOST}\n{self.exc_msg}\n")

    wrap_and_keep.keeps_words = True  # type: ignore[attr-defined]
    ExceptionWrapper.__init__ = wrap_and_keep  # type: ignore[method-assign]


def _print(words: str) -> None:
    """Print to the log, also where the dataset has closed what it prints to."""
    try:
        sys.stderr.write(words)
        sys.stderr.flush()
    except (ValueError, AttributeError):  # it is closed, or is none
        with contextlib.suppress(OSError):
            os.write(2, words.encode("utf-8", "replace"))
    except OSError:  # the disk is full
        return


def _can_be_sent(kind: type) -> bool:
    try:
        ForkingPickler.dumps(kind)
    except (pickle.PicklingError, AttributeError, TypeError, ImportError):
        return False
    return True

"""What can go wrong, by who is at fault.

    AutoloaderError           exit 70  a bug of ours, unless a class below says else
    ├── UsageError            exit 2   flags, SPEC, study file, paths
    │   └── StepError         exit 2   the training step fails, not the dataset
    ├── DataError             exit 1   the data is wrong, or every trial failed
    ├── DatasetError          exit 3   the dataset fails by itself, in one process
    ├── TargetNotMetError     exit 4   no config reaches the target
    ├── StoredFileError       exit 5   a file that we wrote cannot be used
    ├── UndecidedError        exit 6   too noisy to tell within the budget
    └── ProtocolError         exit 70  a child process said what we do not understand

A failing *trial* is not an exception: it is an outcome (`values.outcome`).
Nothing here prints, and no class carries more than a message and a way out.
"""

import difflib
from collections.abc import Iterable
from typing import ClassVar


class AutoloaderError(Exception):
    """What every error of this package is.

    Args:
        message: what is wrong, the value, the rule; one sentence without a full stop.
        hint: the way out, or None where there is none.
    """

    exit_code: ClassVar[int] = 70

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def put_before(self, who: str) -> None:
        """Say in front of the message whose error it is."""
        self.message = f"{who}: {self.message}"
        self.args = (self.message,)


class UsageError(AutoloaderError):
    """A flag, SPEC, study file or path cannot be used as it was given."""

    exit_code = 2


class StepError(UsageError):
    """The training step that was named cannot be imported, or raises."""


class DataError(AutoloaderError):
    """The data that arrives is wrong, or not one trial could be measured."""

    exit_code = 1


class DatasetError(AutoloaderError):
    """The dataset fails by itself, in one process, before any worker exists."""

    exit_code = 3


class TargetNotMetError(AutoloaderError):
    """Configs were measured, and none of them reaches the target."""

    exit_code = 4


class StoredFileError(AutoloaderError):
    """A recommendation or study on disk is damaged, foreign or too new."""

    exit_code = 5


class UndecidedError(AutoloaderError):
    """The readings scatter too much to tell whether the target is met."""

    exit_code = 6


class ProtocolError(AutoloaderError):
    """A child process answered outside the protocol."""

    exit_code = 70


LONGEST_NAME = 128
"""Letters of a name that is compared with others: what is longer is no slip."""


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return "did you mean 'x'?" for the closest known name, or None."""
    if len(name) > LONGEST_NAME:
        return None
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else None

"""Where the ledgers of a reference lie: one, and one more where the epochs differ.

Of several ranks each has a folder of its own within the reference's.
"""

from pathlib import Path

from autoloader.audit.ledger import ReferenceLedger
from autoloader.files import refusals_named


def later_folder(folder: Path) -> Path:
    """Return the folder of the second epoch's ledger."""
    return folder / "epoch1"


def ranks_folder(folder: Path) -> Path:
    """Return where the references of ranks lie."""
    return folder / "ranks"


def rank_folder(folder: Path, rank: int) -> Path:
    """Return where what one rank reads lies."""
    return ranks_folder(folder) / str(rank)


def make_folder(folder: Path) -> None:
    """Make a folder of a reference, for this user only.

    Raises:
        StoredFileError: the disk refuses.
    """
    with refusals_named(folder):
        folder.mkdir(mode=0o700)


def read_references(folder: Path, *, epochs_differ: bool) -> list[ReferenceLedger]:
    """Return the ledger of each epoch that has one of its own.

    Args:
        folder: that the reference wrote.
        epochs_differ: whether the second epoch was read as well.
    """
    first = ReferenceLedger.read(folder)
    if not epochs_differ:
        return [first]
    return [first, ReferenceLedger.read(later_folder(folder))]

"""Where the ledgers of a reference lie: one, and one more where the epochs differ."""

from pathlib import Path

from autoloader.audit.ledger import ReferenceLedger
from autoloader.files import refusals_named


def later_folder(folder: Path) -> Path:
    """Return the folder of the second epoch's ledger."""
    return folder / "epoch1"


def make_later_folder(folder: Path) -> None:
    """Make the folder of the second epoch's ledger, for this user only.

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

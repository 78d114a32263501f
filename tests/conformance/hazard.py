"""What the conformance list is made of: a hazard, its cases, what a check says of each.

Words only; `running` runs a case, the `list_*` modules hold the hazards.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Case:
    """One dataset under one start method, and what `autoloader check` must say."""

    dataset: str
    """`module.py:attribute`, below `tests/conformance/datasets`."""
    says: tuple[str, ...]
    """For each config in turn: `passed`, the codes of its findings joined by `+` in
    the order of the alphabet, or the kind of its failure. One entry `dataset` or
    `usage`: the command ends with exit code 3 or 2 instead. Where a race decides,
    alternatives stand with ` or ` between them."""
    configs: tuple[str, ...] = ()
    """Empty: two workers, fresh in each epoch and kept."""
    cautions: frozenset[str] | None = None
    """Codes of all cautions; None: not looked at."""
    ids: dict[str, tuple[Any, ...]] | None = None
    """For a code, exactly the ids that its findings name; None: not looked at."""
    words: tuple[str, ...] = ()
    """Regular expressions that must be found in what is said (messages and hints)."""
    start_method: str | None = None
    """None: as the dataset has it, fork by default."""
    flags: tuple[str, ...] = ()
    """Further flags of the command."""
    batch_size: int | None = 8
    """None: the flag is left out."""
    arguments: tuple[str, ...] = ()
    """`key=value`; `{folder}` in a value is the folder of the run."""
    shared_memory: str | None = None
    """Size of a `/dev/shm` of its own, as mount takes it: `4m`; None: the system's."""
    open_files: int | None = None
    """Limit of open files of the command and all its processes; None: as it is."""
    environment: tuple[tuple[str, str], ...] = ()
    """Further variables of the command's environment."""


@dataclass(frozen=True, kw_only=True)
class Hazard:
    """One fault of real loaders."""

    id: str
    """Its name in the list of hazards."""
    kind: str
    """Section of the list, A to M."""
    cases: tuple[Case, ...] = ()
    """What is run; empty where all of it is shown elsewhere, or nothing is."""
    why_not: str | None = None
    """Why it does not run here: GPU, other system, a library that does not install."""
    elsewhere: str | None = None
    """Test that shows it, as `path::name`: it is no matter of one check, or not all."""

    def __post_init__(self) -> None:
        """Check that it runs, or says why not."""
        if bool(self.cases or self.elsewhere) == bool(self.why_not):
            msg = f"{self.id} has cases or a test elsewhere, else a reason why not"
            raise ValueError(msg)

"""The study's folder: which study it is, and how far it has come.

A study is the same when dataset source, scope, space, policy and machine are.
`study.json` says which; outcomes lie beside it (`search.record`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.errors import StoredFileError
from autoloader.files import write_whole
from autoloader.search.space import Space, SpaceRequest
from autoloader.values.scope import DatasetFacts, Scope, ScopeRequest, SourceSpec

if TYPE_CHECKING:
    from autoloader.values.gate import GatePolicy
    from autoloader.values.machine import Machine

SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyKey:
    """What makes a study this one; readings of another are never mixed in."""

    source: SourceSpec
    """SPEC and arguments."""
    source_digest: str
    """Of the file that the SPEC names; empty where it is an installed module."""
    scope: ScopeRequest
    """How the scope is drawn, the time limit left out."""
    space: SpaceRequest
    """What may be tried."""
    machine: str
    """The hardware key."""
    ranks: int
    isolation: str
    policy: GatePolicy
    """What refuses a config."""

    @classmethod
    def of(
        cls,
        *,
        source: SourceSpec,
        scope: ScopeRequest,
        space: SpaceRequest,
        machine: Machine,
        ranks: int,
        isolation: str,
        policy: GatePolicy,
    ) -> StudyKey:
        """Return the key of a study that is about to run in the working folder."""
        return cls(
            source=source,
            source_digest=_digest_of_source(source.spec),
            scope=scope,
            space=space,
            machine=machine.key,
            ranks=ranks,
            isolation=isolation,
            policy=policy,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the parts by name."""
        scope = self.scope.to_dict()
        scope.pop("time_limit_s")
        return {
            "source": self.source.to_dict(),
            "source_digest": self.source_digest,
            "scope": scope,
            "space": self.space.to_dict(),
            "machine": self.machine,
            "ranks": self.ranks,
            "isolation": self.isolation,
            "policy": self.policy.verdict_key(),
        }

    @property
    def folder_name(self) -> str:
        """Name that people recognise, with a digest that keeps studies apart."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        module, _, attribute = self.source.spec.rpartition(":")
        name = Path(module).stem if module.endswith(".py") else module
        slug = re.sub(r"[^A-Za-z0-9]+", "-", f"{name}-{attribute}").strip("-")[-48:]
        return f"{slug}-{digest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyState:
    """How far a study has come, as `study.json` keeps it."""

    finished: bool
    """Whether it came to a choice: asked again, it begins anew."""
    spent_s: float
    """Wall time used so far."""
    scope: Scope
    """The scope that all its readings share."""
    facts: DatasetFacts
    """The dataset as the first run saw it."""
    space: Space
    """What may be tried, as the first run derived it."""


class StudyFolder:
    """Reads and writes `study.json` in the folder of one study."""

    def __init__(self, root: Path, key: StudyKey) -> None:
        self.path = root / key.folder_name
        self._key = key

    def make(self) -> None:
        """Make the folder, readable by its owner only, and keep it out of git."""
        root = self.path.parent
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        ignore = root / ".gitignore"
        if not ignore.exists():
            with contextlib.suppress(OSError):
                ignore.write_text("*\n", encoding="utf-8")
        self.path.mkdir(exist_ok=True, mode=0o700)

    def reference(self) -> Path:
        """Return the folder of the reference; it is made where it is missing."""
        folder = self.path / "reference"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    @property
    def is_empty(self) -> bool:
        """Whether nothing was learned in it yet."""
        names = ("study.json", "outcomes.jsonl")
        return not any((self.path / name).exists() for name in names)

    def read(self) -> StudyState | None:
        """Return the state of an earlier run; None where there is none to use."""
        try:
            data = json.loads((self.path / "study.json").read_text(encoding="utf-8"))
            if data["schema"] != SCHEMA or data["key"] != self._key.to_dict():
                return None
            return StudyState(
                finished=bool(data["finished"]),
                spent_s=float(data["spent_s"]),
                scope=Scope.from_dict(data["scope"]),
                facts=DatasetFacts.from_dict(data["facts"]),
                space=Space.from_dict(data["space"]),
            )
        except (OSError, ValueError, KeyError, TypeError, StoredFileError):
            return None

    def write(self, state: StudyState) -> None:
        """Write the state at once."""
        data = {
            "schema": SCHEMA,
            "key": self._key.to_dict(),
            "finished": state.finished,
            "spent_s": round(state.spent_s, 1),
            "scope": state.scope.to_dict(),
            "facts": state.facts.to_dict(),
            "space": state.space.to_dict(),
        }
        write_whole(self.path / "study.json", json.dumps(data, indent=1) + "\n")


def what_differs(old: DatasetFacts, new: DatasetFacts) -> str | None:
    """Return how the dataset differs from the one that a study began with, or None."""
    if old.length != new.length:
        return (
            f"the dataset has {new.length} examples, the study began with {old.length}"
        )
    if old.label != new.label:
        return f"the label is {new.label!r}, the study began with {old.label!r}"
    if old.fields != new.fields:
        return "the fields of an example are not those that the study began with"
    if old.baseline != new.baseline:
        return "the settings of your DataLoader are not those that the study began with"
    return None


def _digest_of_source(spec: str) -> str:
    path = Path(spec.rpartition(":")[0])
    candidates = [path] if path.suffix == ".py" else []
    with contextlib.suppress(OSError):
        for candidate in candidates:
            return hashlib.sha256(candidate.read_bytes()).hexdigest()[:16]
    return ""

"""The study's folder: which study it is, and how far it has come.

A study is the same when dataset source, scope, space, policy, machine, software, the
memory that was asked for and the training step are.
`study.json` says which; outcomes lie beside it (`search.record`). Each key has a folder
of its own, so that nothing of another study is ever mixed in.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from autoloader.errors import StoredFileError
from autoloader.files import write_whole
from autoloader.search.differences import Difference, key_differences
from autoloader.search.space import Space, SpaceRequest
from autoloader.search.study_code import code_digests, torch_version
from autoloader.values.decode import value_of
from autoloader.values.gate import GatePolicy
from autoloader.values.machine import Machine
from autoloader.values.passwords import as_kept
from autoloader.values.scope import DatasetFacts, Scope, ScopeRequest, SourceSpec
from autoloader.values.text_file import read_text
from autoloader.values.transfer import PinReadings

SCHEMA = 3

_STATE = "study.json"

_MOST_MIB = 64
"""Longest `study.json`: a contract may leave out many examples, by their ids."""

_NAMED = 3
"""Differences that one sentence names."""

_KEPT = "its outcomes are kept beside it, under another name"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyKey:
    """What makes a study this one; readings of another are never mixed in."""

    source: SourceSpec
    """SPEC and arguments."""
    code: dict[str, str]
    """Digest of the file that each SPEC names, or of a live object, by its flag."""
    scope: ScopeRequest
    """How the scope is drawn, the time limit left out."""
    space: SpaceRequest
    """What may be tried."""
    machine: str
    """The hardware key."""
    software: dict[str, str]
    """Versions of Python and torch."""
    ranks: int
    """Training processes on this machine."""
    isolation: str
    """How the processes of trials are made."""
    policy: GatePolicy
    """What refuses a config, and when it counts as hung."""
    memory_bytes: int | None
    """What processes may take, where that was asked for: what was refused under one
    budget says little of another. None: what the machine leaves."""
    step: str | None = None
    """SPEC of the training step; None: there is none."""

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
        memory_bytes: int | None = None,
        step: str | None = None,
    ) -> Self:
        """Return the key of a study that is about to run in the working folder."""
        specs = {"--dataset": source.spec}
        if scope.on_epoch is not None:
            specs["--on-epoch"] = scope.on_epoch
        if step is not None:
            specs["--step"] = step
        specs |= {f"--unit {unit.name}": unit.spec for unit in scope.units}
        code = code_digests(specs)
        if source.live is not None:
            code["--dataset"] = source.live.signature
        for item in source.functions:
            code[item.flag] = "" if item.live is None else item.live.signature
        return cls(
            source=source,
            code=code,
            scope=scope,
            space=space,
            machine=machine.key,
            software={"python": machine.python, "torch": torch_version()},
            ranks=ranks,
            isolation=isolation,
            policy=policy,
            memory_bytes=memory_bytes,
            step=step,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the parts by name, passwords left out: a new one changes nothing."""
        scope = self.scope.to_dict()
        scope.pop("time_limit_s")
        source = as_kept(self.source).to_dict()
        for name in ("live", "functions"):  # told by signatures, as code of their SPECs
            source.pop(name)
        with_step = {} if self.step is None else {"step": self.step}
        return {
            "source": source,
            "code": dict(self.code),
            "scope": scope,
            "space": self.space.to_dict(),
            "machine": self.machine,
            "software": dict(self.software),
            "ranks": self.ranks,
            "isolation": self.isolation,
            "policy": self.policy.to_dict(),
            "memory_bytes": self.memory_bytes,
            **with_step,  # a study without one is what it was before there were any
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
    memory_bytes: int | None = None
    """The least that processes might take in a run so far; None: there was no limit."""
    pinning: PinReadings | None = None
    """What pinning was decided by, before the search; None: it was not open."""

    def __post_init__(self) -> None:
        """Check time and memory."""
        if self.spent_s < 0:
            msg = f"spent_s must be at least 0, got {self.spent_s}"
            raise ValueError(msg)
        if self.memory_bytes is not None and self.memory_bytes < 1:
            msg = f"memory_bytes must be at least 1, got {self.memory_bytes}"
            raise ValueError(msg)


class StudyFolder:
    """Reads and writes `study.json` in the folder of one study."""

    def __init__(self, root: Path, key: StudyKey) -> None:
        self.path = root / key.folder_name
        self._key = key

    def make(self) -> None:
        """Make the folder, readable by its owner only, and keep it out of git."""
        make_root(self.path.parent)
        self.path.mkdir(exist_ok=True, mode=0o700)

    def reference(self) -> Path:
        """Return the folder of the reference; it is made where it is missing."""
        folder = self.path / "reference"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    @property
    def is_empty(self) -> bool:
        """Whether nothing was learned in it yet."""
        names = (_STATE, "outcomes.jsonl")
        return not any((self.path / name).exists() for name in names)

    def read(self) -> StudyState | None:
        """Return the state of an earlier run; None where there is none to use."""
        try:
            return self._state()
        except StoredFileError:
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
            "memory_bytes": state.memory_bytes,
            **({} if state.pinning is None else {"pinning": state.pinning.to_dict()}),
        }
        write_whole(self.path / _STATE, json.dumps(data, indent=1) + "\n")

    def cautions(self) -> list[tuple[str, str | None]]:
        """Return what is worth knowing before the study begins, with the way out.

        That its own state is damaged; and, where there is none to go on with, which
        unfinished study of the same dataset is kept apart, and in what they differ.
        """
        found: list[tuple[str, str | None]] = []
        try:
            state = self._state()
        except StoredFileError as exc:
            state = None
            found.append((f"{exc.message}: the study begins anew", exc.hint))
        if state is not None and not state.finished:
            return []
        for folder, differences in self.kept_apart()[:1]:
            named = [item.sentence for item in differences[:_NAMED]]
            left = len(differences) - len(named)
            named += [f"{left} more differ"] if left else []
            message = "an unfinished study of this dataset is kept apart: "
            found.append((message + "; ".join(named), _way_out(folder, differences)))
        return found

    def kept_apart(self) -> list[tuple[Path, tuple[Difference, ...]]]:
        """Return unfinished studies of this dataset that have another key.

        Returns:
            The folder of each with what differs, the one last worked on first.
        """
        now = self._key.to_dict()
        found = []
        for path, changed_s in self._others():
            try:
                data = _loaded(path)
            except (OSError, StoredFileError):
                continue  # another's, or damaged: nothing to go on with
            key = data.get("key")
            is_open = data.get("schema") == SCHEMA and data.get("finished") is False
            if not is_open or not isinstance(key, Mapping):
                continue
            if _place(_spec_of(key)) == _place(self._key.source.spec):
                found.append((changed_s, path.parent, key_differences(key, now)))
        found.sort(key=lambda item: item[0], reverse=True)
        return [(folder, differing) for _, folder, differing in found if differing]

    def _others(self) -> Iterator[tuple[Path, float]]:
        """Yield the states of the other studies, with when they were written."""
        with contextlib.suppress(OSError):
            for path in self.path.parent.glob(f"*/{_STATE}"):
                if path.parent != self.path:
                    yield path, path.stat().st_mtime

    def _state(self) -> StudyState | None:
        """Return the state of an earlier run; None where there was none of this study.

        Raises:
            StoredFileError: it is damaged; says where.
        """
        path = self.path / _STATE
        try:
            data = _loaded(path)
            if data.get("schema") != SCHEMA or data.get("key") != self._key.to_dict():
                return None
            names = {field.name for field in dataclasses.fields(StudyState)}
            held = {name: value for name, value in data.items() if name in names}
            return value_of(StudyState, held, place="")
        except FileNotFoundError:
            return None
        except OSError as exc:
            msg = f"{path} cannot be read: {exc.strerror}"
            raise StoredFileError(msg, hint=_KEPT) from exc
        except StoredFileError as exc:
            msg = f"{path}: {exc.message}"
            raise StoredFileError(msg, hint=_KEPT) from exc


def _loaded(path: Path) -> dict[str, Any]:
    """Return the content of a `study.json`, unchecked.

    Raises:
        OSError: it cannot be read.
        StoredFileError: it is no JSON object.
    """
    try:
        data = json.loads(read_text(path, most_mib=_MOST_MIB))
    except (ValueError, RecursionError) as exc:
        msg = f"it is no JSON, {exc}"
        raise StoredFileError(msg) from exc
    if not isinstance(data, dict):
        msg = f"study must be a mapping, got {type(data).__name__}"
        raise StoredFileError(msg)
    return data


def _way_out(folder: Path, differences: tuple[Difference, ...]) -> str:
    """Return what to do about a study that is kept apart."""
    cannot_be_asked_for = ("code.", "machine", "software.")
    if any(item.field.startswith(cannot_be_asked_for) for item in differences):
        return f"rm -r {folder} where it is of no use any more"
    return f"the flags of then go on with it; rm -r {folder} where it is of no use"


def _spec_of(key: Mapping[str, Any]) -> str:
    source = key.get("source")
    spec = source.get("spec") if isinstance(source, Mapping) else None
    return spec if isinstance(spec, str) else ""


def _place(spec: str) -> str:
    """Return a SPEC as the same one for each way of writing its file's path."""
    module, _, attribute = spec.rpartition(":")
    if not module.endswith(".py"):
        return spec
    return f"{os.path.normpath(Path(module).absolute())}:{attribute}"


def make_root(root: Path) -> None:
    """Make the folder of all studies, which git leaves alone."""
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contextlib.suppress(OSError), (root / ".gitignore").open("x") as file:
        file.write("*\n")  # made anew, or left as it is: no link is followed

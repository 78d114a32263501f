"""What is broken, when: every kind in every phase where it can be, chosen by a seed."""

import random
from dataclasses import dataclass

PARENT = ("interrupt", "terminate", "kill-parent")
DATASET = ("raise", "exit", "segfault")
CHILDREN = ("kill-host", "kill-trial", "kill-worker")
STOPS = ("stop-host", "stop-trial", "stop-worker")
DISK = ("full-disk", "file-limit", "remove-logs", "remove-journal")

PASS = (*PARENT, *CHILDREN, *STOPS, *DISK, "second", *DATASET, "allocate", "close")

KINDS = {
    "start": PARENT,
    "reference": (*PARENT, "kill-reference", "second", *DATASET, "close"),
    "building": (*PARENT, "kill-host", *DATASET),
    "gate": PASS,
    "memory": PASS,
    "timed": PASS,
    "verification": (*PARENT, *CHILDREN, "stop-worker", "raise", "full-disk"),
    "race": (*PARENT, *CHILDREN, "stop-worker", *DISK, "raise", "second"),
    "writing": PARENT,
}
"""What may be broken in each phase of a tune, in its order."""

ALL = [(phase, kind) for phase, kinds in KINDS.items() for kind in kinds]

ONCE = [("reference", "stop-reference"), ("reference", "full-disk")]
"""Where chance has nothing to choose: broken once, the others twice."""

DAMAGES = ("", "torn-outcomes", "torn-journal", "no-journal", "torn-both")
"""What else is found broken by the run that goes on after a killed one."""

IN_WORKER = {"kill-worker", "stop-worker"}

AFTER = {"start": 1, "building": 1, "memory": 8, "writing": 1}
"""Examples after which a phase is broken, less than these: a first batch holds 8."""

FIRST = {"reference": 16}
"""Examples read before: what forks of the reference read is theirs to lose."""

SEEDS = range(2 * len(ALL) + len(ONCE))

QUICK = {
    ("reference", "terminate"), ("reference", "segfault"), ("gate", "kill-worker"),
    ("gate", "kill-parent"), ("timed", "file-limit"), ("race", "kill-host"),
}  # fmt: skip
"""Those that are short: no cost of theirs is drawn."""

IN_CI = QUICK - {("reference", "terminate"), ("gate", "kill-worker")}
"""Those of them that CI has time for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """One fault of one run."""

    seed: int
    phase: str
    kind: str
    in_worker: bool
    """Whether a worker is held, or broken; else the process that iterates."""
    after: int
    """Examples that it has read by then."""
    damage: str
    """One of `DAMAGES`."""
    isolation: str
    """`fork` or `fresh`."""
    start_method: str
    """`fork` or `spawn`, of the workers."""

    @classmethod
    def of(cls, seed: int) -> "Injection":
        """Return what a seed stands for."""
        phase, kind = (*ALL, *ALL, *ONCE)[seed]
        dice = random.Random(seed)  # noqa: S311  # a choice, no secret
        # a process of its own for each pass takes long: only where little is waited for
        is_early = phase in {"building", "gate"}
        may_be_slow = is_early and kind not in STOPS and (phase, kind) not in QUICK
        return cls(
            seed=seed,
            phase=phase,
            kind=kind,
            in_worker=kind in IN_WORKER or dice.random() < 0.5,
            after=dice.randrange(AFTER.get(phase, 16)),
            damage=dice.choice(DAMAGES) if kind == "kill-parent" else "",
            isolation="fresh" if may_be_slow and dice.random() < 0.2 else "fork",
            start_method="spawn" if may_be_slow and dice.random() < 0.1 else "fork",
        )

    @property
    def plan(self) -> dict[str, object]:
        """What the dataset is told."""
        name = {"building": "host", "verification": "gate", "race": "timed"}
        return {
            "pass": name.get(self.phase, self.phase),
            "in_worker": self.in_worker and self.phase not in {"building", "reference"},
            "after": self.after + FIRST.get(self.phase, 0),
            "do": self.kind if self.is_of_dataset else "hold",
        }

    @property
    def is_of_dataset(self) -> bool:
        """Whether the dataset itself breaks."""
        return self.kind in {*DATASET, "allocate", "close"}

    @property
    def is_quick(self) -> bool:
        """Whether CI runs it."""
        return self.seed < len(ALL) and (self.phase, self.kind) in IN_CI

    def __str__(self) -> str:
        """Name it, so that a failure can be repeated by its name."""
        where = "worker" if self.plan["in_worker"] else "main"
        words = [self.phase, self.kind, where, f"after{self.after}"]
        odd = [self.damage, self.isolation, self.start_method]
        words += [word for word in odd if word not in {"", "fork"}]
        return f"{self.seed}-{'-'.join(words)}"

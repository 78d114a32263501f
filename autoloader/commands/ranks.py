"""`--ranks N`, and what `torchrun` says of it.

`torchrun --nproc-per-node N -m autoloader tune ...` starts N of us, each told which it
is. The first one runs all ranks, as `--ranks N` does; the others wait for its end.
Reads the environment; runs nothing itself.
"""

from __future__ import annotations

import os
import select
from pathlib import Path
from typing import TYPE_CHECKING

from autoloader.errors import UsageError
from autoloader.values.ranks import OF_ELASTIC, OF_LAUNCHERS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, MutableMapping, Sequence

RUN_ID = f"{OF_ELASTIC}RUN_ID"
"""Is set by `torchrun`, and by nothing else that sets ranks."""

TAKES_RANKS = frozenset({"tune", "check", "measure"})
"""Commands with the flag; `retune` takes the ranks of its file."""

FLAG = "--ranks"

MOST_RANKS = 256
"""More accelerators than a machine has."""


def add_ranks(group: argparse._ActionsContainer) -> None:
    """Add the flag for the number of training processes."""
    group.add_argument(
        FLAG,
        default="1",
        metavar="N",
        help="training processes on this machine, which read at once, each its share; "
        "the batch size is that of one, rates and memory are those of all",
    )


def ranks_of(args: argparse.Namespace) -> int:
    """Return the number of training processes.

    Raises:
        UsageError: it is none, or more than any machine runs.
    """
    from autoloader.commands import arguments

    found = arguments.count(FLAG, args.ranks) or 1
    if found > MOST_RANKS:
        msg = f"{FLAG} must be at most {MOST_RANKS}, got {found}"
        raise UsageError(msg)
    return found


def launched(environment: Mapping[str, str]) -> int | None:
    """Return how many of us `torchrun` started here; None where it did not.

    Raises:
        UsageError: it started some on other machines as well.
    """
    if RUN_ID not in environment:
        return None
    here, everywhere = (
        int(environment.get(name, "1")) for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE")
    )
    if here != everywhere:
        msg = f"torchrun started {everywhere} ranks, {here} of them on this machine"
        hint = "settings are those of one machine: --nnodes 1, on each kind of machine"
        raise UsageError(msg, hint=hint)
    return here


def with_ranks(argv: Sequence[str], count: int) -> list[str]:
    """Return the arguments with as many ranks as `torchrun` started.

    Args:
        argv: arguments without the program's name.
        count: of us that were started.

    Raises:
        UsageError: the flag says another number.
    """
    asked = next(_asked(argv), None)
    if asked is not None and asked != str(count):
        msg = f"{FLAG} {asked} contradicts torchrun, which started {count} processes"
        hint = f"leave {FLAG} out, or use it without torchrun"
        raise UsageError(msg, hint=hint)
    if asked is not None or not argv or argv[0] not in TAKES_RANKS:
        return list(argv)
    return [*argv, FLAG, str(count)]


def check_same(ranks: int, count: int | None, file: str) -> None:
    """Check that a file's ranks are those that `torchrun` started.

    Args:
        ranks: of the file.
        count: of us that were started; None: it was not `torchrun`.
        file: as it was given.

    Raises:
        UsageError: they are not.
    """
    if count is not None and count != ranks:
        msg = f"{file} is of {ranks} ranks, torchrun started {count} processes"
        hint = f"leave torchrun out; `autoloader tune {FLAG} {count}` makes such a file"
        raise UsageError(msg, hint=hint)


def is_first(environment: Mapping[str, str]) -> bool:
    """Whether this is no process that `torchrun` started beside the first one."""
    return RUN_ID not in environment or environment.get("LOCAL_RANK", "0") == "0"


def forget_launcher(environment: MutableMapping[str, str]) -> None:
    """Remove what `torchrun` said of this one process: children are told their own."""
    for name in list(environment):
        if name in OF_LAUNCHERS or name.startswith(OF_ELASTIC):
            del environment[name]


def wait_for_first(root: Path = Path("/proc")) -> None:
    """Return when the process that runs all ranks has ended."""
    first = _first_of(os.getppid(), root)
    if first is None or not hasattr(os, "pidfd_open"):
        return
    try:
        ending = os.pidfd_open(first)
    except ProcessLookupError:  # it has ended meanwhile
        return
    try:
        for_end = select.poll()
        for_end.register(ending, select.POLLIN)
        for_end.poll()
    finally:
        os.close(ending)


def _asked(argv: Sequence[str]) -> Iterator[str]:
    """Yield what the flag says, the last word first."""
    for place in range(len(argv) - 1, -1, -1):
        name, equals, value = argv[place].partition("=")
        if name != FLAG:
            continue
        if equals:
            yield value
        elif place + 1 < len(argv):
            yield argv[place + 1]


def _first_of(launcher: int, root: Path) -> int | None:
    """Return the process that a launcher started as local rank 0; None: it is gone."""
    folder = root / str(launcher) / "task"
    for children in folder.glob("*/children"):
        try:
            pids = children.read_text(encoding="ascii").split()
        except OSError:
            continue
        for pid in pids:
            try:
                told = (root / pid / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"LOCAL_RANK=0" in told:
                return int(pid)
    return None

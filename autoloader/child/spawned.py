"""Have processes that begin with a new interpreter do first what forks of ours inherit.

A spawned worker, and the server that `forkserver` forks workers from, inherit neither
the hooks of `child.lifeline` nor the handler of `child.stacks`. Python's own function
that starts them is given a program that runs these files before it imports anything: a
worker that hangs while it unpickles the dataset is ended, and tells where it stands.
"""

from __future__ import annotations

import os
import threading
from multiprocessing import util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.child import definitions, lifeline, stacks

if TYPE_CHECKING:
    from collections.abc import Sequence

_STARTED = (
    "from multiprocessing.spawn import ",
    "from multiprocessing.forkserver import ",
)
"""How programs of processes begin that run a user's code; the resource tracker's, which
has to outlive the others, begins otherwise."""

_FIRST = """\
def begin(files, parent):
    known = {{"__name__": "autoloader.child.spawned"}}
    try:
        for file in files:
            with open(file, encoding="utf-8") as source:
                exec(compile(source.read(), file, "exec"), known)
    except OSError:
        return
    known["die_with_parent"](parent, may_be_between=True)
    known["pass_on"]()
    known["announce_stacks"]()
    known["find_definitions"]()
begin({files!r}, {parent})
del begin
"""
"""Run by path, since the search path of the parent comes to the process only later."""


def begin_spawned_as_forked() -> None:
    """Have what this process's main thread starts afresh begin as its forks do."""
    spawn = getattr(util, "spawnv_passfds", None)  # Windows has none
    if spawn is None or getattr(spawn, "begins_as_forked", False):
        return
    files = tuple(str(module.__file__) for module in (lifeline, stacks, definitions))
    if not all(Path(file).is_file() for file in files):
        return

    def spawn_with_ours(path: Any, arguments: Sequence[Any], descriptors: Any) -> int:
        # the kernel ties the request to the thread: one of the user's may end sooner
        if threading.current_thread() is threading.main_thread():
            arguments = _with_first(arguments, files, os.getpid())
        pid: int = spawn(path, arguments, descriptors)
        return pid

    spawn_with_ours.begins_as_forked = True  # type: ignore[attr-defined]
    util.spawnv_passfds = spawn_with_ours  # type: ignore[assignment]


def _with_first(
    arguments: Sequence[Any], files: Sequence[str], parent_pid: int
) -> list[Any]:
    """Return the words of a command, its program begun with ours where it is one."""
    first = _FIRST.format(files=tuple(files), parent=parent_pid)
    return [
        first + word if str(word).startswith(_STARTED) else word for word in arguments
    ]

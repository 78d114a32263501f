"""Entry of a child process: `python -m autoloader.child ROLE ORDERS ANSWERS PARENT`.

ROLE is `reference` or `stages` (one order, then the end), or `host` (waits for orders).
ORDERS and ANSWERS are inherited pipe ends, PARENT is the pid to die with. Errors of the
user's side travel as messages; only a bug of ours ends with a traceback.
"""

import contextlib
import os
import sys
import warnings

from autoloader.child.lifeline import die_with_parent, pass_on
from autoloader.child.spawned import begin_spawned_as_forked

ON_WORKER_COUNTS = "This DataLoader will create "
"""How PyTorch begins when a loader has more workers than there are CPUs."""


def main(argv: list[str]) -> None:
    """Serve the parent until it closes the pipe of orders."""
    role, orders, answers, parent = argv
    die_with_parent(int(parent))
    pass_on()
    begin_spawned_as_forked()
    leave_worker_counts_unsaid()
    from autoloader.child import host  # torch

    serve = {
        "host": host.serve_host,
        "reference": host.serve_reference,
        "stages": host.serve_stages,
    }[role]
    with contextlib.suppress(BrokenPipeError):
        serve(int(orders), int(answers))
    for stream in (sys.stdout, sys.stderr):  # which the dataset may have closed
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(0)


def leave_worker_counts_unsaid() -> None:
    """Keep PyTorch's advice on numbers of workers out of the logs of passes.

    Trials have more workers than CPUs on purpose; `autoloader machine` says what there
    is. Put last in line: whatever filter the user has set comes first.
    """
    warnings.filterwarnings(
        "ignore", message=ON_WORKER_COUNTS, category=UserWarning, append=True
    )


if __name__ == "__main__":
    main(sys.argv[1:])

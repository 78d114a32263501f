"""Entry of a child process: `python -m autoloader.child ROLE ORDERS ANSWERS PARENT`.

ROLE is `reference` (one order, then the end) or `host` (waits for orders). ORDERS and
ANSWERS are inherited pipe ends, PARENT is the pid to die with. Errors of the user's
side travel as messages; only a bug of ours ends with a traceback.
"""

import contextlib
import os
import sys

from autoloader.child.lifeline import die_with_parent, pass_on


def main(argv: list[str]) -> None:
    """Serve the parent until it closes the pipe of orders."""
    role, orders, answers, parent = argv
    die_with_parent(int(parent))
    pass_on()
    from autoloader.child.host import serve_host, serve_reference  # torch

    serve = {"host": serve_host, "reference": serve_reference}[role]
    with contextlib.suppress(BrokenPipeError):
        serve(int(orders), int(answers))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])

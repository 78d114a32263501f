"""Run the command line: `python -m autoloader`."""

import sys

from autoloader.cli import main

if __name__ == "__main__":
    sys.exit(main())

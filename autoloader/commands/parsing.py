"""The parser of commands: it raises where argparse would print and leave."""

import argparse
from typing import NoReturn

from autoloader.errors import UsageError


class Parser(argparse.ArgumentParser):
    """Raises instead of leaving, so that every wrong use is worded in one place."""

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would have printed."""
        raise UsageError(message, hint=f"`{self.prog} --help` shows the flags")

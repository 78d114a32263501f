"""Write what a command found as one JSON object on stdout."""

import json
import sys
from typing import Any


def write_json(data: dict[str, Any]) -> None:
    """Write plain values on one line; passwords that a message says are left out."""
    from autoloader.values.passwords import values_without_passwords

    json.dump(values_without_passwords(data), sys.stdout, allow_nan=False)
    sys.stdout.write("\n")

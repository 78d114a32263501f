"""Write what a command found as one JSON object on stdout."""

import json
import sys
from typing import Any


def write_json(data: dict[str, Any]) -> None:
    """Write plain values on one line; passwords that a message says are left out.

    Nothing is written where a value cannot be: half an object is worse than none.
    """
    from autoloader.values.passwords import values_without_passwords

    text = json.dumps(values_without_passwords(data), allow_nan=False)
    sys.stdout.write(f"{text}\n")

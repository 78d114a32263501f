"""Read and write quantities as people write them.

Inside the package only seconds, bytes and examples a second exist; minutes, MiB and
percent live here and nowhere else.
"""

import re

from autoloader.errors import UsageError

_DURATION = re.compile(
    r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?"
)
_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_duration(text: str) -> float:
    """Return the seconds that `90`, `90s`, `3m`, `1h30m` or `1.5h` mean.

    Raises:
        UsageError: the text is no duration, or it is not above zero.
    """
    match = _DURATION.fullmatch(text.strip().lower())
    parts = match.groups() if match and text.strip() else (None, None, None)
    hours, minutes, seconds = (float(part) if part else 0.0 for part in parts)
    total_s = hours * 3600 + minutes * 60 + seconds
    if total_s <= 0:
        msg = f"a duration such as 90s, 3m or 1h30m is needed, got {text!r}"
        raise UsageError(msg)
    return total_s


def parse_bytes(text: str) -> int:
    """Return the bytes that `8GiB`, `8G`, `500MB` or `1073741824` mean.

    `G` and `GiB` are powers of 1024, `GB` is a power of 1000.

    Raises:
        UsageError: the text is no size, or it is not above zero.
    """
    match = _BYTES.fullmatch(text.strip())
    if match is None or float(match[1]) <= 0:
        msg = f"a size such as 8GiB or 500MB is needed, got {text!r}"
        raise UsageError(msg)
    number, letter, binary = match.groups()
    decimal = bool(letter) and not binary and text.strip().lower().endswith("b")
    base = 1000 if decimal else 1024
    return int(float(number) * base ** _POWERS[letter.lower()])


def format_bytes(size: float) -> str:
    """Return a size in the largest binary unit that keeps it at 1 or above."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return (
                f"{value:.0f} {unit}" if unit in {"B", "KiB"} else f"{value:.1f} {unit}"
            )
        value /= 1024
    return f"{value:.1f} TiB"


def format_seconds(seconds: float) -> str:
    """Return a duration as `0.42 s`, `12 s`, `3 m 05 s` or `1 h 02 m`."""
    if seconds < 10:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} m"


def format_rate(examples_per_s: float) -> str:
    """Return examples a second with three or more significant digits."""
    if examples_per_s >= 100:
        return f"{examples_per_s:,.0f}"
    return f"{examples_per_s:.3g}"

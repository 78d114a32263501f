"""Read and write quantities as people write them.

Inside the package only seconds, bytes and examples a second exist; minutes, MiB and
percent live here and nowhere else.
"""

import math
import re
from collections.abc import Sequence

from autoloader.errors import UsageError

_DURATION = re.compile(
    r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?", re.ASCII
)
_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?))?(b?)", re.ASCII)
LEAST_WAIT_S = 1e-5
"""Shorter waits are shown as this: the batch was there."""

_POWERS = {None: 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_duration(text: str) -> float:
    """Return the seconds that `90`, `90s`, `3m`, `1h30m` or `1.5h` mean.

    Raises:
        UsageError: the text is no duration, or it is not above zero.
    """
    match = _DURATION.fullmatch(text.strip().lower())
    parts = match.groups() if match else ()
    hours, minutes, seconds = (float(part or 0) for part in parts or ("", "", ""))
    total_s = hours * 3600 + minutes * 60 + seconds
    if not 0 < total_s < math.inf:
        msg = f"a duration such as 90s, 3m or 1h30m is needed, got {text!r}"
        raise UsageError(msg)
    return total_s


def parse_bytes(text: str) -> int:
    """Return the bytes that `8GiB`, `8G`, `500MB` or `1073741824` mean.

    `G` and `GiB` are powers of 1024, `GB` is a power of 1000.

    Raises:
        UsageError: the text is no size, or it is less than one byte.
    """
    match = _BYTES.fullmatch(text.strip().lower())
    size = 0.0
    if match is not None:
        number, letter, binary, byte = match.groups()
        base = 1000 if letter and byte and not binary else 1024
        size = float(number) * base ** _POWERS[letter]
    if not 1 <= size < math.inf:
        msg = f"a size such as 8GiB or 500MB is needed, got {text!r}"
        raise UsageError(msg)
    return int(size)


def format_bytes(size: float) -> str:
    """Return a size in the largest binary unit that keeps it at 1 or above."""
    value = float(size)
    for unit, digits in (("B", 0), ("KiB", 0), ("MiB", 1), ("GiB", 1)):
        if abs(round(value, digits)) < 1024:
            return f"{value:.{digits}f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def format_seconds(seconds: float) -> str:
    """Return a duration as `0.42 s`, `1.5 s`, `12 s`, `3 m 05 s` or `1 h 02 m`."""
    for digits, end in ((2, 1), (1, 10)):
        if round(seconds, digits) < end:
            return f"{seconds:.{digits}f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} m"


def format_cost(seconds: float) -> str:
    """Return a duration that may be short: `12 us`, `4.2 ms`, then as others are."""
    for factor, unit, digits in ((1e6, "us", 0), (1e3, "ms", 1)):
        value = seconds * factor
        if round(value, digits) < 1000:
            return f"{value:.{digits}f} {unit}"
    return format_seconds(seconds)


def format_wait(seconds: float) -> str:
    """Return a wait for a batch; what is not measurable is nothing."""
    if seconds < LEAST_WAIT_S / 10:
        return "0"
    milliseconds = seconds * 1000
    if 1 <= milliseconds < 999.5:
        return f"{milliseconds:.3g} ms"
    return format_cost(seconds)


def format_rate(examples_per_s: float) -> str:
    """Return examples a second with three or more significant digits."""
    if examples_per_s >= 100:
        return f"{examples_per_s:,.0f}"
    return f"{examples_per_s:.3g}"


def in_number(count: float, singular: str, plural: str | None = None) -> str:
    """Return a noun or a verb as it goes with a number: `round`, `rounds`.

    Args:
        count: how many there are.
        singular: the word for one.
        plural: the word for none and for several; None: the other with an s.
    """
    if count == 1:
        return singular
    return f"{singular}s" if plural is None else plural


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: `1 round`, `2 rounds`; see `in_number`."""
    return f"{count} {in_number(count, noun, plural)}"


def in_short(items: Sequence[object], most: int) -> str:
    """Return the first items, and how many more there are: `3, 8 and 12 more`."""
    shown = ", ".join(str(item) for item in items[:most])
    more = len(items) - most
    return f"{shown} and {more} more" if more > 0 else shown


def format_percent(share: float) -> str:
    """Return a share (0-1) as `0.4 %` or `62 %`."""
    percent = round(share * 100, 1) + 0.0  # which has no sign where it is nothing
    digits = 0 if abs(percent) >= 10 or percent == round(percent) else 1
    return f"{percent:.{digits}f} %"

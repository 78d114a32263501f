"""Tell a store that is asked too often from one that fails.

By the status or code that an exception carries, by its type, and at last by the words
of common libraries: in a worker's text nothing else is left of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from autoloader.measure.tracebacks import Raised

HINT = (
    "fewer workers ask for less at once; where one is too many already, a mirror or "
    "a copy nearby is the way"
)
"""The way out."""

THROTTLED_STATUSES = frozenset({429, 503})
"""Answers of a store that is asked too often: too many requests, or too busy."""

LAST_LINES = 500
"""Lines of a log that are looked through."""

_CODES = re.compile(
    r"Throttl|SlowDown|TooManyRequests|RequestLimitExceeded|ThroughputExceeded"
    r"|BandwidthLimitExceeded"
)
_KINDS = re.compile(r"TooManyRequests|RateLimit|Throttl|SlowDown")

_WORDS = re.compile(
    r"""
      too\ many\ requests
    | HTTP\ Error\ (?:429|503)\b                           # urllib
    | \b(?:429|503)\ (?:Client|Server)\ Error              # requests
    | too\ many\ (?:429|503)\ error\ responses             # urllib3
    | (?:Client|Server)\ error\ '(?:429|503)\b             # httpx
    | ^(?:429|503),\ message=                              # aiohttp
    | ^(?:429|503)\ (?:GET|HEAD|POST|PUT)\b                # google.api_core
    | returned\ error:\ (?:429|503)\b                      # curl
    | \(\w*(?:Throttl|SlowDown|TooManyRequests|RequestLimitExceeded)\w*\)\ when
    | \((?:429|503)\)\ when\ calling                       # botocore
    | ProvisionedThroughputExceeded | resource\ has\ been\ exhausted
    | reduce\ your\ request\ rate | \bSlow\ ?Down\b        # S3, s3fs
    | rate\ ?limit\ ?exceeded | rate\ limit\ (?:is\ )?reached
    | (?:exceeded|reached|hit)\ [^.]{0,40}rate\ limit      # Hugging Face
    | \bServerBusy\b | server\ is\ busy                     # Azure
    | egress\ is\ over\ the\ account\ limit
    """,
    re.IGNORECASE | re.VERBOSE,
)


def is_throttled(raised: Raised) -> bool:
    """Whether an exception, or what led to it, says that a store is asked too often.

    By type first; what libraries say is tested on their own texts.
    """
    return any(
        _KINDS.search(item.kind) or _WORDS.search(item.words) for item in raised.all()
    )


def speaks_of_throttling(log: str) -> bool:
    """Whether a log has a line, not of a traceback's code, that tells of throttling.

    Clients that wait and ask again say so in a line of their own.
    """
    lines = log.splitlines()[-LAST_LINES:]
    return any(not line.startswith(" ") and _WORDS.search(line) for line in lines)


def throttled(told: str, exception: str, *, phase: str, log: str) -> Failure:
    """Return the failure of a store that is asked too often.

    Args:
        told: who raised what.
        exception: its type.
        phase: pass that it ended.
        log: folder with what the processes printed.
    """
    return Failure(
        kind="throttled",
        phase=phase,
        message=f"a store turns requests away (too many, or it is busy): {told}",
        hint=HINT,
        exception=exception,
        log=log,
    )


def answers_throttled(exc: BaseException) -> bool:
    """Whether an exception carries a store's answer that it is asked too often.

    It, what it was raised from, or one of a group. Known by the status (requests,
    urllib, aiohttp, httpx, azure, google.api_core), or by the code in the answer's body
    (botocore).
    """
    seen: set[int] = set()
    waiting: list[BaseException | None] = [exc]
    while waiting:
        item = waiting.pop()
        if item is None or id(item) in seen:
            continue
        if _answers(item):
            return True
        seen.add(id(item))
        waiting += (item.__cause__, item.__context__)
        if isinstance(item, BaseExceptionGroup):
            waiting += item.exceptions
    return False


def _answers(exc: BaseException) -> bool:
    response = _attribute(exc, "response")
    if isinstance(response, Mapping):
        error = response.get("Error")
        code = error.get("Code") if isinstance(error, Mapping) else None
        if _CODES.search(str(code)):
            return True
        response = response.get("ResponseMetadata")
        status = response.get("HTTPStatusCode") if isinstance(response, Mapping) else 0
        return status in THROTTLED_STATUSES
    names = ("status", "status_code", "code")  # aiohttp's `code` warns: asked last
    for holder in (exc, response):
        told = (_attribute(holder, name) for name in names)
        status = next((item for item in told if isinstance(item, int)), None)
        if status in THROTTLED_STATUSES:
            return holder is response or _is_of_network(exc)
    return False


def _is_of_network(exc: BaseException) -> bool:
    """Whether a number at an exception may be a status: it is of a store's client."""
    names = " ".join(item.__name__ for item in type(exc).__mro__)
    return re.search(r"(?i)http|api|response|client|requests", names) is not None


def _attribute(holder: Any, name: str) -> Any:
    """Return an attribute; None where there is none, or it cannot be read."""
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001  # whatever a user's exception does when asked
        return None

"""Say what pinned memory was seen to do, for people.

Pure: the section `pinning` of a recommendation in, sentences out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.units import format_bytes, format_cost, format_percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TO, _TIMES = "\u2013", "\u00d7"

_LOOPS = {
    "transfer": "a loop that moves batches to the accelerator",
    "step": "the training loop",
}


def pin_words(section: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what pinning gains, and how much of the copies was hidden with it."""
    if section["failed"] is not None:
        yield "pinning", f"not kept, for it could not be told: {section['failed']}"
        return
    yield "pinning", _gain(section)
    kind = "pinned" if section["kept"] else "unpinned"
    loop = section[kind]
    if loop.get("transfer_s") is None:
        yield "transfer", f"not shown: {section['not_shown'] or 'nothing was copied'}"
        return
    rate = f"{format_bytes(loop['bytes_per_s'])}/s"
    yield (
        "transfer",
        f"{format_cost(loop['transfer_s'])} for a batch of "
        f"{format_bytes(section['batch_bytes'])} ({rate}), {kind}; "
        f"{format_percent(loop['hidden_share'])} of it hidden",
    )


def _gain(section: Mapping[str, Any]) -> str:
    gain, loop = section["gain"], _LOOPS[section["by"]]
    if gain is None:
        return "not kept: no round had both"
    said = f"{gain['median']:.2f}{_TIMES}"
    if gain["low"] is not None and gain["high"] is not None:
        said += f" ({gain['low']:.2f}{_TIMES}{_TO}{gain['high']:.2f}{_TIMES})"
    if section["kept"]:
        return f"kept: {loop} is {said} as fast with it"
    return f"not kept: no gain was seen; {loop} is {said} as fast with it"

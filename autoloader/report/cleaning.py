"""Make foreign text safe to show: names, ids and messages that a dataset brought along.

A message may hold anything: terminal codes, line ends, letters that turn the direction
of writing around, letters that cannot be seen. Nothing here knows how a text is laid
out or coloured.
"""

import re

from autoloader.values.passwords import without_passwords

_TERMINAL_CODE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours and cursor moves
    r"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links and other strings
    r"|[ -/]*[0-~])"
)
_LINE_END = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")
_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f"
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # direction of writing, and shaping
    # Without a shape: two names would look alike. Joiners stay, scripts need them.
    r"\u00ad\u200b\u2060-\u2064\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def clean(text: str) -> str:
    """Return the text as one line that moves no cursor and changes no colour.

    Passwords that it says are left out.
    """
    without_codes = _TERMINAL_CODE.sub("", text)
    one_line = _LINE_END.sub(" ", without_codes).strip()
    seen = _SURROGATE.sub("\ufffd", _CONTROL.sub("", one_line))
    return without_passwords(seen)

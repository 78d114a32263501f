"""Foreign text is one line that moves no cursor and changes no colour."""

import pytest

from autoloader.report.cleaning import clean


@pytest.mark.parametrize(
    ("foreign", "shown"),
    [
        ("plain text, 42 %", "plain text, 42 %"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[Hcleared", "cleared"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "31mred"),
        ("one\r\ntwo\tthree", "one two three"),
        ("a\x00b\x07c\x7f", "abc"),
        ("\u202eevil\u202c", "evil"),
        ("sha\u200bpe\ufeffless\U000e0041", "shapeless"),
        ("\u0645\u06cc\u200c\u062f", "\u0645\u06cc\u200c\u062f"),  # a joiner
        ("cut \x1b", "cut "),
        ("\udcff.jpg", "\ufffd.jpg"),
        ("[bold]kept[/bold] :smile:", "[bold]kept[/bold] :smile:"),
        ("사진 데이터", "사진 데이터"),
    ],
)
def test_foreign_text_is_made_safe(foreign: str, shown: str) -> None:
    """Terminal codes go, line ends become spaces, all else stays."""
    assert clean(foreign) == shown


def test_no_password_is_shown() -> None:
    """Whatever said it: an exception of a driver, say; behind a colour, too."""
    said = "cannot reach \x1b[31mpostgres://user:se\x1b[0mcret@host/x: timeout"

    assert clean(said) == "cannot reach postgres://user:***@host/x: timeout"

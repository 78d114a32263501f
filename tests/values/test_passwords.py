"""What is kept or shown has no password; all else of it stays as it is."""

from typing import Any

import pytest

from autoloader.values.passwords import (
    as_kept,
    values_without_passwords,
    with_passwords,
    without_passwords,
)
from autoloader.values.scope import SourceSpec


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgres://user:secret@host/x", "postgres://user:***@host/x"),
        ("postgresql+psycopg://u:s@h:5432/x", "postgresql+psycopg://u:***@h:5432/x"),
        ("redis://:secret@host:6379/0", "redis://:***@host:6379/0"),
        ("HTTPS://u:s3cr%40et@host", "HTTPS://u:***@host"),
        ("mongodb://u:s@h1:1,h2:2/db", "mongodb://u:***@h1:1,h2:2/db"),
        ("a://u:p@h:1,b://v:q@h:2/x", "a://u:***@h:1,b://v:***@h:2/x"),
        ("postgres://u:one@two@host/x", "postgres://u:***@host/x"),
        ("postgres://u:one/two@host/x", "postgres://u:***@host/x"),
        (
            "cannot connect to 'amqp://u:s@h//' twice",
            "cannot connect to 'amqp://u:***@h//' twice",
        ),
        ("https://h/x?password=s&split=train", "https://h/x?password=***&split=train"),
        ("host=h user=u password=s dbname=d", "host=h user=u password=*** dbname=d"),
        ("password='my s\\'t' host=h", "password=*** host=h"),
        ('DB_PASSWORD="my s" next', "DB_PASSWORD=*** next"),
        ("Server=h;Pwd=s;Database=d", "Server=h;Pwd=***;Database=d"),
        ("{'password': 's3cret', 'n': 3}", "{'password': ***, 'n': 3}"),
        ('{"api_key":"a b","n":3}', '{"api_key":***,"n":3}'),
        ('{\\"pwd\\": \\"s\\", \\"n\\": 3}', '{\\"pwd\\": ***\\", \\"n\\": 3}'),
        ("connect(token=b'abc', n=3)", "connect(token=***, n=3)"),
        ("password = 'cut of", "password = ***"),
        ("a: 1\npassword: s3cret\nb: 2", "a: 1\npassword: ***\nb: 2"),
        ("AccountName=a;AccountKey=b==;x=1", "AccountName=a;AccountKey=***;x=1"),
        ("https://b/x?sig=a%3D&y=1", "https://b/x?sig=***&y=1"),
        ("https://b/x?n=1&X-Amz-Signature=ab", "https://b/x?n=1&X-Amz-Signature=***"),
        ("https://b/x?token=abc", "https://b/x?token=***"),
        ("https://ghp_x@github.com/a/b", "https://***@github.com/a/b"),
        (f"https://{'0f' * 20}@h/a", "https://***@h/a"),
        ("sent Authorization: Bearer 0123.456789ab", "sent Authorization: Bearer ***"),
        ("{'Authorization': 'Bearer s'}", "{'Authorization': ***}"),
        ("'Authorization: token s'", "'Authorization: token ***'"),
    ],
)
def test_a_password_is_left_out_of_a_text(text: str, shown: str) -> None:
    """And once it is out, nothing more is."""
    assert without_passwords(text) == shown
    assert without_passwords(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "postgres://user@host/x",
        "ssh://git@host:22/path",
        "https://host:8080/users/@me",
        "https://host:80/a?to=b@c",
        "http://[::1]:8080/x@y",
        "s3://bucket/key:with@signs",
        "mypackage.data:train_set",
        "C:\\data at 10:30@home",
        "field 'password' is random",
        "tokens=mypackage.data:count",
        "the ratio is 3:4 @ 20 examples",
        "--arg key holds a password: files have *** in its place",
        "unexpected token: '}'",
        "pad_token='[PAD]', eos_token: </s>",
        "field 'secret': values are random",
        "design=new signal=3 config: x",
        "secret://bucket/key",
        "basic set of 3 examples",
    ],
)
def test_a_text_without_a_password_stays_as_it_is(text: str) -> None:
    """Ports, signs in paths, and words."""
    assert without_passwords(text) == text


URL = "postgres://user:secret@host/x"


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("url", URL, "postgres://user:***@host/x"),
        ("password", "secret", "***"),
        ("db_password", "secret", "***"),
        ("API_KEY", "secret", "***"),
        ("token", "hf_secret", "***"),
        ("api_token", "secret", "***"),
        ("apiToken", "secret", "***"),
        ("aws_session_token", "secret", "***"),
        ("sas_token", "secret", "***"),
        ("account_key", "secret", "***"),
        ("passphrase", "secret", "***"),
        ("authorization", "Bearer secret", "***"),
        ("sig", "secret", "***"),
        ("url", "https://ghp_x@github.com/a", "https://***@github.com/a"),
        ("urls", ["s3://b", URL], ["s3://b", "postgres://user:***@host/x"]),
        ("passwords", ["a"], ["a"]),
        ("options", {"password": "s", "n": 3}, {"password": "***", "n": 3}),
        ("pwd", ["a", "b"], ["***", "***"]),
    ],
)
def test_an_argument_is_kept_without_its_password(
    name: str, value: Any, kept: Any
) -> None:
    """By what its value is, or by its name; and it is named."""
    source = SourceSpec(spec="data.py:make", arguments=(("size", 8), (name, value)))
    same = value == kept

    assert as_kept(source) == SourceSpec(
        spec="data.py:make", arguments=(("size", 8), (name, kept))
    )
    assert with_passwords(source) == (() if same else (name,))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("root", "/data"),
        ("pad_token", "[PAD]"),
        ("tokenizer", "bert"),
        ("eos_token", "</s>"),
        ("signal", "ecg"),
        ("password", ""),
        ("password", None),
        ("secret", True),
        ("key", "image"),
    ],
)
def test_an_argument_without_a_password_is_kept_as_it_is(name: str, value: Any) -> None:
    """An empty one tells nothing."""
    source = SourceSpec(spec="data.py:make", arguments=((name, value),))

    assert as_kept(source) == source
    assert with_passwords(source) == ()


@pytest.mark.parametrize(
    "part", ["0f", "a-", "a_", "a://:b/", "://", "password", "password='", "; ", "\\"]
)
def test_a_long_text_takes_no_longer_than_its_length(part: str) -> None:
    """An exception may carry a whole file; hours would pass if each part met all."""
    text = part * (300_000 // len(part))

    assert len(without_passwords(text)) <= len(text)


def test_plain_values_are_told_without_passwords() -> None:
    """However deep they lie; numbers and names stay."""
    data = {"failed": [{"message": f"no answer from {URL}", "count": 3}], "log": None}

    assert values_without_passwords(data) == {
        "failed": [
            {"message": "no answer from postgres://user:***@host/x", "count": 3}
        ],
        "log": None,
    }

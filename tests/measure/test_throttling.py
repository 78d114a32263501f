"""A store that is asked too often, told from one that fails, as clients tell it."""

import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from autoloader.measure.throttling import (
    HINT,
    answers_throttled,
    is_throttled,
    speaks_of_throttling,
    throttled,
)
from autoloader.measure.tracebacks import Raised, raised_in
from autoloader.values.outcome import Status
from tests.stores import store


def urllib_reads(url: str) -> None:
    """Read with the standard library."""
    import urllib.request

    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        direct.open(f"{url}/7").read()
    except urllib.request.HTTPError as exc:
        exc.close()
        raise


def requests_reads(url: str) -> None:
    """Read with requests, once."""
    requests = pytest.importorskip("requests")
    with requests.Session() as session:
        session.trust_env = False
        session.get(f"{url}/7").raise_for_status()


def requests_retries(url: str) -> None:
    """Read with requests, which asks again."""
    requests = pytest.importorskip("requests")
    from urllib3.util import Retry

    retry = Retry(total=1, status_forcelist=[429, 503], backoff_factor=0)
    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://", requests.adapters.HTTPAdapter(max_retries=retry))
        session.get(f"{url}/7")


def urllib3_retries(url: str) -> None:
    """Read with urllib3, which asks again."""
    urllib3 = pytest.importorskip("urllib3")
    retry = urllib3.util.Retry(total=1, status_forcelist=[429, 503], backoff_factor=0)
    with urllib3.PoolManager() as pool:
        pool.request("GET", f"{url}/7", retries=retry)


def aiohttp_reads(url: str) -> None:
    """Read with aiohttp."""
    aiohttp = pytest.importorskip("aiohttp")
    import asyncio

    async def read() -> None:
        async with aiohttp.ClientSession() as session, session.get(f"{url}/7") as got:
            got.raise_for_status()

    asyncio.run(read())


def fsspec_reads(url: str) -> None:
    """Read with fsspec, whose files are over aiohttp."""
    fsspec = pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    fsspec.filesystem("http", skip_instance_cache=True).cat_file(f"{url}/7")


def hub_reads(url: str) -> None:
    """Read as the client of the Hugging Face Hub does."""
    utils = pytest.importorskip("huggingface_hub.utils")
    utils.hf_raise_for_status(utils.get_session().get(f"{url}/7"))


CLIENTS = [
    urllib_reads, requests_reads, requests_retries, urllib3_retries, aiohttp_reads,
    fsspec_reads, hub_reads,
]  # fmt: skip


@pytest.fixture(scope="module", params=[429, 503])
def busy(request: pytest.FixtureRequest) -> Iterator[str]:
    """Give the address of a store that turns everybody away."""
    with store(at_once=0, status=request.param) as (url, _answers):
        yield url


@pytest.fixture(scope="module")
def broken() -> Iterator[str]:
    """Give the address of a store that fails by itself."""
    with store(at_once=0, status=500) as (url, _answers):
        yield url


def raised_by(read: Callable[[str], None], url: str) -> Exception:
    """Return what a client raises."""
    with pytest.raises(Exception) as raised:  # noqa: PT011  # each has its own
        read(url)
    return raised.value


def read_back(exc: BaseException) -> Raised:
    """Return what is left of an exception in the text that a worker sends."""
    (found,) = raised_in("".join(traceback.format_exception(exc)))
    return found


@pytest.mark.parametrize("read", CLIENTS)
def test_real_clients_are_understood_by_status_and_by_words(
    read: Callable[[str], None], busy: str
) -> None:
    """In one process the exception has a status; of a worker's only words are left."""
    exc = raised_by(read, busy)

    assert is_throttled(read_back(exc))
    assert answers_throttled(exc) or read in {requests_retries, urllib3_retries}


@pytest.mark.parametrize("read", [urllib_reads, requests_reads, aiohttp_reads])
def test_a_store_that_fails_is_another_matter(
    read: Callable[[str], None], broken: str
) -> None:
    """500 is no matter of how often it is asked."""
    exc = raised_by(read, broken)

    assert not is_throttled(read_back(exc))
    assert not answers_throttled(exc)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        # botocore 1.35, and s3fs on it
        (
            "ClientError",
            "An error occurred (SlowDown) when calling the GetObject operation ("
            "reached max retries: 4): Please reduce your request rate.",
        ),
        (
            "ClientError",
            "An error occurred (503) when calling the HeadObject operation (reached "
            "max retries: 4): Service Unavailable",
        ),
        (
            "ClientError",
            "An error occurred (ThrottlingException) when calling the GetItem "
            "operation: Rate exceeded",
        ),
        ("ThrottlingException", "Rate exceeded"),
        ("OSError", "[Errno 16] Please reduce your request rate."),
        # google.api_core 2, google.cloud.storage, gcsfs
        (
            "TooManyRequests",
            "429 GET https://storage.googleapis.com/download/x: The object "
            "exceeded the rate limit for object reads.",
        ),
        ("ResourceExhausted", "429 Resource has been exhausted (e.g. check quota)."),
        ("ServiceUnavailable", "503 GET https://storage.googleapis.com/b/x: Busy"),
        ("HttpError", "Rate Limit Exceeded, 429"),
        # azure.core, azure.storage.blob
        ("HttpResponseError", "The server is busy."),
        ("HttpResponseError", "It returned an invalid status 'Too Many Requests'"),
        # httpx, and huggingface_hub 0.2x on requests
        (
            "HTTPStatusError",
            "Client error '429 Too Many Requests' for url 'https://hub.example/x'",
        ),
        (
            "HfHubHTTPError",
            "429 Client Error: Too Many Requests for url: https://hub.example/x",
        ),
        # webdataset's pipe of curl
        ("OSError", "curl: (22) The requested URL returned error: 429"),
        ("RateLimitError", ""),
    ],
)
def test_what_other_clients_say_is_understood(kind: str, words: str) -> None:
    """Texts of clients that are not installed here."""
    assert is_throttled(Raised(kind=kind, words=words))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("ValueError", "example 429 is broken"),
        ("IndexError", "503"),
        ("KeyError", "'429'"),
        ("HTTPError", "HTTP Error 404: Not Found"),
        ("HTTPError", "HTTP Error 500: Internal Server Error"),
        ("ClientError", "An error occurred (NoSuchKey) when calling GetObject"),
        ("ConnectionError", "the store did not answer"),
        ("RuntimeError", "the rate limit is 48000"),
        ("OSError", "[Errno 24] Too many open files"),
    ],
)
def test_other_failures_are_no_matter_of_how_often(kind: str, words: str) -> None:
    """A number alone says nothing."""
    assert not is_throttled(Raised(kind=kind, words=words))


def test_a_cause_or_a_part_is_enough() -> None:
    """A dataset raises its own exception from a client's."""
    answer = Raised(kind="HTTPError", words="HTTP Error 429: Too Many Requests")
    group = Raised(kind="ExceptionGroup", words="2 reads failed", parts=(answer,))

    assert is_throttled(Raised(kind="ReadError", words="shard 3", cause=answer))
    assert is_throttled(Raised(kind="ReadError", words="shard 3", cause=group))


class ClientError(Exception):
    """As botocore's: it has the answer's body, as a dict."""

    def __init__(self, response: dict[str, Any]) -> None:
        self.response = response


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ({"Error": {"Code": "SlowDown"}}, True),
        ({"Error": {"Code": "x"}, "ResponseMetadata": {"HTTPStatusCode": 429}}, True),
        ({"Error": {"Code": "x"}, "ResponseMetadata": {"HTTPStatusCode": 404}}, False),
        ({"Error": {"Code": "NoSuchKey"}}, False),
        ({}, False),
    ],
)
def test_a_code_in_the_answers_body_is_read(
    response: dict[str, Any], expected: bool
) -> None:
    """S3 says it there, with whatever status."""
    assert answers_throttled(ClientError(response)) is expected


def test_an_answer_within_chains_and_groups_is_found() -> None:
    """However deep, and in a circle as well."""
    answer = ClientError({"Error": {"Code": "SlowDown"}})
    middle = ValueError("bad")
    middle.__cause__ = answer
    answer.__context__ = middle
    outer = ExceptionGroup("reads", [KeyError("x"), middle])

    assert answers_throttled(outer)


def test_a_number_of_something_else_is_no_status() -> None:
    """And an exception whose attributes fail is asked in vain."""

    class Broken(Exception):
        def __getattr__(self, name: str) -> Any:
            raise KeyError(name)

    class HasCode(Exception):
        code = 429

    assert not answers_throttled(Broken())
    assert not answers_throttled(HasCode())


def test_a_log_that_speaks_of_it_is_noticed() -> None:
    """A client that waits says so in a line; code in a traceback says nothing."""
    waits = "Rate limited. HTTP Error 429 thrown while requesting GET /x\nRetrying\n"
    code = '  File "a.py", line 3, in f\n    raise TooOften("too many requests")\nX\n'

    assert speaks_of_throttling(waits)
    assert not speaks_of_throttling(code)
    assert not speaks_of_throttling(waits + "x\n" * 600)


def test_the_failure_says_who_was_turned_away_and_the_way_out() -> None:
    """A crash by its status, with a kind of its own."""
    failure = throttled("OSError: slow down", "OSError", phase="gate", log="logs")

    assert (failure.kind, failure.status) == ("throttled", Status.CRASHED)
    assert failure.message == (
        "a store turns requests away (too many, or it is busy): OSError: slow down"
    )
    assert failure.hint == HINT

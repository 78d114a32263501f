"""Orders cross the pipe unchanged."""

import json
import re

import pytest

from autoloader.errors import StoredFileError
from autoloader.values.config import LoaderConfig
from autoloader.values.job import PassOrder, ReferenceOrder
from autoloader.values.scope import ScopeRequest, SourceSpec

PASS = PassOrder(
    kind="timed",
    config=LoaderConfig.canonical(num_workers=2, batch_size=8),
    logs="trials/0001-timed",
    tmp="/tmp/x",
    reference="reference",
    examples=0,
    count_path=(0,),
)

REFERENCE = ReferenceOrder(
    source=SourceSpec(spec="data:train", arguments=(("root", "/data"),)),
    request=ScopeRequest(examples="all"),
    folder="reference",
    largest_batch=64,
)


def test_an_order_for_a_pass_comes_back_equal_from_json() -> None:
    """The child runs what the parent asked for."""
    assert PassOrder.from_dict(json.loads(json.dumps(PASS.to_dict()))) == PASS


def test_an_order_for_a_reference_comes_back_equal_from_json() -> None:
    """Arguments of the dataset are part of it."""
    data = json.loads(json.dumps(REFERENCE.to_dict()))

    assert ReferenceOrder.from_dict(data) == REFERENCE


def test_an_order_of_another_version_is_refused() -> None:
    """Parent and child of different versions must not understand each other half."""
    sentence = "PassOrder has no field 'speed'"
    with pytest.raises(StoredFileError, match=f"^{re.escape(sentence)}$"):
        PassOrder.from_dict({**PASS.to_dict(), "speed": 1})

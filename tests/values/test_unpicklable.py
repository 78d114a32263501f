"""The part that cannot be pickled is found, however deep."""

import pickle
import sys
import threading
from typing import Any

import cloudpickle
import pytest

from autoloader.values.unpicklable import unpicklable_part

LOCK = threading.Lock()


class Holds:
    """Has attributes."""

    def __init__(self, **held: object) -> None:
        vars(self).update(held)


def uses_a_global() -> object:
    """Return what stands beside it."""
    return LOCK


class TestByName:
    """As for workers that are spawned."""

    @pytest.mark.parametrize(
        ("found", "part"),
        [
            (Holds(a=1), None),
            (Holds(a=[1, {"b": LOCK}]), ("it.a[1]['b']", "lock")),
            (Holds(a=(Holds(b=LOCK),)), ("it.a[0].b", "lock")),
            (LOCK, ("it", "lock")),
        ],
    )
    def test_it_is_named_by_its_path(
        self, found: object, part: tuple[str, str] | None
    ) -> None:
        """Attributes, items and keys."""
        assert unpicklable_part(found, "it", pickle.dumps) == part

    def test_a_function_is_the_end_of_a_path(self) -> None:
        """Nothing of it is sent but its name."""
        found = unpicklable_part(lambda: LOCK, "it", pickle.dumps)

        assert found is not None
        assert found[0] == "it"

    def test_what_holds_itself_is_looked_through_once(self) -> None:
        """It has no end otherwise."""
        ring: dict[str, Any] = {"lock": LOCK}
        ring["ring"] = ring

        assert unpicklable_part(ring, "it", pickle.dumps) == ("it['lock']", "lock")


class TestByValue:
    """As cloudpickle does it."""

    def test_variables_of_a_closure_are_parts(self) -> None:
        """They are sent with it."""
        held = Holds(lock=LOCK)

        found = unpicklable_part(lambda: held, "it", cloudpickle.dumps, by_value=True)

        assert found == ("it -> held.lock", "lock")

    def test_globals_that_it_loads_are_parts(self) -> None:
        """Where the function is sent with them."""

        def dump(value: object) -> object:
            if value is uses_a_global:
                raise TypeError("as if it were defined in __main__")
            return cloudpickle.dumps(value)

        found = unpicklable_part(uses_a_global, "it", dump, by_value=True)

        assert found == ("it -> LOCK", "lock")

    def test_methods_of_a_script_are_parts_of_an_object(self) -> None:
        """Its class is sent with it."""

        def method(self: object) -> object:
            return lock

        lock = LOCK
        photos = type("Photos", (), {"__module__": "__main__", "read": method})

        found = unpicklable_part(photos(), "it", cloudpickle.dumps, by_value=True)

        assert found == ("it -> Photos.read -> lock", "lock")


def test_what_main_defines_is_told_as_a_whole() -> None:
    """What it holds could be imported, and would be of no use."""
    photos = type("Photos", (), {"__module__": "__main__"})
    found = photos()
    found.lock = LOCK

    assert unpicklable_part(found, "it", pickle.dumps) == ("it", "__main__.Photos")


def test_what_main_defines_and_workers_find_is_looked_into(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As any other object."""
    photos = type("Photos", (), {"__module__": "__main__"})
    monkeypatch.setattr(sys.modules["__main__"], "Photos", photos, raising=False)
    found = photos()
    found.lock = LOCK

    assert unpicklable_part(found, "it", pickle.dumps) == ("it.lock", "lock")

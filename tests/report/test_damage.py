"""A section that cannot be told of is named, with its file."""

import pytest

from autoloader.errors import StoredFileError
from autoloader.report.damage import damage_named


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (
            KeyError("median"),
            "the section 'x' of a.yaml cannot be used: it lacks 'median'",
        ),
        (TypeError("no"), "the section 'x' of a.yaml cannot be used: no"),
        (StoredFileError("scope.seed must be int"), "a.yaml: scope.seed must be int"),
        (StoredFileError("a.yaml lacks 'x'"), "a.yaml lacks 'x'"),
    ],
)
def test_what_a_section_raises_is_told_with_its_name(
    raised: Exception, message: str
) -> None:
    """A file that is named already is not named twice."""
    with pytest.raises(StoredFileError) as caught, damage_named("x", "a.yaml"):
        raise raised

    assert caught.value.message == message


def test_what_is_no_damage_passes_through() -> None:
    """A bug stays one."""
    with pytest.raises(OSError, match=r"^disk$"), damage_named("x", "a.yaml"):
        raise OSError("disk")

"""A mask tells how long each example is, or it is said that it does not."""

import pytest

from autoloader.audit.padding import MaskRows, PaddingSearch, padding_violations
from autoloader.values.contract import Padding

PADDING = Padding(mask="mask", of="ids", axis=0)


def rows(*sums: int, scattered: int = 0) -> MaskRows:
    """Return rows with so many true entries, the last ones of them scattered."""
    count = len(sums)
    return MaskRows(sums, tuple(n < count - scattered for n in range(count)))


@pytest.mark.parametrize(
    ("found", "lengths", "said"),
    [
        (rows(3, 5), [3, 5], ()),
        (None, [3, 5], ("mask is missing in the batch",)),
        (rows(3, 5, 1), [3, 5], ("mask has 3 rows, the batch has 2 examples",)),
        (
            rows(3, 5, 1),
            [3, 4, 2],
            (
                "2 of 3 rows of mask mark another number of entries than ids[0] of "
                "their examples",
            ),
        ),
        (
            rows(3, 5, scattered=1),
            [3, 5],
            ("in 1 of 2 rows of mask the true entries do not come first",),
        ),
        (
            rows(4, 5, scattered=2),
            [3, 5],
            (
                "1 of 2 rows of mask mark another number of entries than ids[0] of "
                "their examples",
                "in 2 of 2 rows of mask the true entries do not come first",
            ),
        ),
        (rows(3, 0, scattered=1), [3, None], ()),
    ],
)
def test_what_breaks_the_relation_is_said(
    found: MaskRows | None, lengths: list[int | None], said: tuple[str, ...]
) -> None:
    """In counts of rows; an example without the field is not compared."""
    assert padding_violations(PADDING, found, lengths) == said


def test_a_mask_that_tells_lengths_in_every_batch_is_found() -> None:
    """Once, by the first field that it tells the length of."""
    search = PaddingSearch()

    for lengths in ([3, 5], [2, 2]):
        search.note(
            {"mask": rows(*lengths), "ones": rows(5, 5), "late": rows(3, 5)},
            {("ids", 0): lengths, ("labels", 0): lengths, ("image", 1): [7, 7]},
        )

    assert search.build() == (PADDING,)


def test_a_relation_that_fails_once_is_none_afterwards() -> None:
    """Also where it failed first, or is scattered."""
    search = PaddingSearch()

    for sums in ([3, 4], [3, 5], [3, 5]):
        search.note(
            {"mask": rows(*sums), "odd": rows(3, 5, scattered=1)},
            {("ids", 0): [3, 5]},
        )

    assert search.build() == ()


def test_equal_lengths_show_nothing() -> None:
    """A row of ones over examples of one length may be anything."""
    search = PaddingSearch()
    search.note({"mask": rows(5, 5)}, {("ids", 0): [5, 5]})

    assert search.build() == ()

"""Find the smallest part of a list that still shows a failure, by halving.

Pure: a list and a question in, a part of it out. What is asked, and how long an answer
takes, is the caller's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Item = TypeVar("Item")

MOST_TRIES = 64
"""Questions that are asked at most: enough for two of 2**20, or five of 1,000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowed(Generic[Item]):
    """A part of a list that shows what the whole shows."""

    items: tuple[Item, ...]
    """In the order of the list."""
    is_smallest: bool
    """Whether nothing can be left out of it; else the tries were up."""
    tries: int
    """Questions that were asked."""


def smallest(
    items: Sequence[Item],
    shows: Callable[[Sequence[Item]], bool],
    *,
    most_tries: int = MOST_TRIES,
) -> Narrowed[Item]:
    """Return a part that shows it, of which no single item can be left out.

    The shortest beginning of the list that shows it is searched by halving: its last
    item is needed. That one is kept, and the items before it are searched in the same
    way, until what is kept shows it alone: each item takes about log2(n) tries. At
    last each is left out once, since fewer items may be batched in another way.

    Args:
        items: shows it as a whole; that is not asked again.
        shows: whether a part, in the order of the list, shows it too.
        most_tries: after which the best part so far is returned.
    """
    return _Search(shows, most_tries).run(list(items))


class _TriesUp(Exception):  # caught where the search began
    pass


class _Search(Generic[Item]):
    def __init__(
        self, shows: Callable[[Sequence[Item]], bool], most_tries: int
    ) -> None:
        self._shows, self._most, self._left = shows, most_tries, most_tries
        self._best: list[Item] = []

    def run(self, items: list[Item]) -> Narrowed[Item]:
        self._best = items
        try:
            self._keep_needed(items)
            self._leave_out()
        except _TriesUp:
            return self._result(is_smallest=len(self._best) <= 1)
        return self._result(is_smallest=True)

    def _keep_needed(self, pool: list[Item]) -> None:
        """Cut to the items that are needed; what is kept and the pool show it."""
        kept: list[Item] = []
        while pool and not (kept and self._ask(kept)):
            fails, shows = 0, len(pool)
            while shows - fails > 1:
                middle = (fails + shows) // 2
                if self._ask(pool[:middle] + kept):
                    shows = middle
                else:
                    fails = middle
            kept = [pool[shows - 1], *kept]
            pool = pool[: shows - 1]

    def _leave_out(self) -> None:
        """Leave out each item that is not needed after all."""
        place = 0
        while place < len(self._best) and len(self._best) > 1:
            if not self._ask(self._best[:place] + self._best[place + 1 :]):
                place += 1

    def _ask(self, part: list[Item]) -> bool:
        if not self._left:
            raise _TriesUp
        self._left -= 1
        found = self._shows(part)
        if found:
            self._best = part
        return found

    def _result(self, *, is_smallest: bool) -> Narrowed[Item]:
        return Narrowed(
            items=tuple(self._best),
            is_smallest=is_smallest,
            tries=self._most - self._left,
        )

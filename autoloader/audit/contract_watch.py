"""Count the examples that break a contract, and say it in one sentence.

What breaks it is decided in `audit.contract`; nothing is refused here: whether a
finding refuses the dataset, the contract's rules say.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from autoloader.audit.contract import ContractCheck
from autoloader.units import counted, in_number
from autoloader.values.outcome import MAX_IDS, Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.audit.contract import Kinds
    from autoloader.values.contract import Contract

MAX_WORDS = 3
"""Different faults that a finding words; the others it counts."""

_CODE = "contract_violation"


class Breaches:
    """Examples with a fault, counted and said in one sentence."""

    def __init__(self) -> None:
        self.count = 0
        self.ids: list[int | str] = []
        self._words: Counter[str] = Counter()

    def add(self, words: Sequence[str], ids: Sequence[int | str], count: int) -> None:
        """Note that examples, some of them by id, all show these faults."""
        self.count += count
        self.ids += ids[: MAX_IDS - len(self.ids)]
        for word in words:
            self._words[word] += count

    def finding(self, seen: int, verb: tuple[str, str], hint: str) -> Finding | None:
        """Return how many of `seen` examples show what; None where none does.

        Args:
            seen: examples looked at.
            verb: what is said of one example, and of several.
            hint: the usual cause, and the way out.
        """
        if not self.count:
            return None
        return Finding(
            code=_CODE,
            count=self.count,
            ids=tuple(self.ids),
            message=self._sentence(seen, verb),
            hint=hint,
        )

    def _sentence(self, seen: int, verb: tuple[str, str]) -> str:
        more = self.count - len(self.ids)
        listed = ", ".join(map(str, self.ids)) + (f" and {more} more" if more else "")
        ranked = sorted(self._words, key=lambda word: -self._words[word])
        faults = "; ".join(ranked[:MAX_WORDS])
        others = len(ranked) - MAX_WORDS
        return (
            f"{self.count} of {counted(seen, 'example')} "
            f"{in_number(self.count, *verb)}: "
            f"{in_number(self.count, 'id')} {listed}: {faults}"
            + (f"; and {counted(others, 'other fault')}" if others > 0 else "")
        )


class ContractWatch:
    """Holds each example that is read against a contract, and keeps what breaks it."""

    def __init__(self, contract: Contract) -> None:
        self._check = ContractCheck(contract)
        self._breaches = Breaches()
        self._keeps_ids = contract.rules.filtered
        self.seen = 0
        self.incomplete: list[int | str] = []
        """Ids of all examples that break it; kept only where `rules.filtered`."""

    def note(
        self, example_id: int | str, kinds: Kinds, label_value: int | None
    ) -> bool:
        """Hold one example against the contract, once; return whether it keeps it."""
        self.seen += 1
        words = self._check.violations(kinds, label_value)
        if not words:
            return True
        self._breaches.add(words, (example_id,), 1)
        if self._keeps_ids:
            self.incomplete.append(example_id)
        return False

    def finding(self) -> Finding | None:
        """Return what was found, None where every example keeps the contract.

        Whether it refuses the dataset or is a caution, `rules.incomplete` says.
        """
        return self._breaches.finding(
            self.seen,
            ("breaks the contract", "break the contract"),
            hint="usual cause: a file that is damaged, or of another form than the "
            "rest; mend or leave out what is named, correct the contract, or have it "
            "named only: rules: {incomplete: allow}",
        )


def others_finding(found: Breaches, seen: int) -> Finding | None:
    """Return what differs from the other examples, where no contract says more."""
    return found.finding(
        seen,
        ("differs from the others", "differ from the others"),
        hint="usual cause: a file of another form than the rest, such as a grey image "
        "among coloured ones; convert it in the dataset, leave it out, or give a "
        "collate_fn that takes both",
    )


def count_finding(contract: Contract, length: int | None) -> Finding | None:
    """Return that the dataset has another length than the contract says.

    Args:
        contract: what is right.
        length: examples of the dataset; None where that is not known.
    """
    wanted = contract.examples
    if wanted is None or length is None or wanted == length:
        return None
    return Finding(
        code=_CODE,
        count=abs(wanted - length),
        message=(
            f"the dataset has {counted(length, 'example')}, the contract says {wanted}"
        ),
        hint="usual cause: files that are missing or new; if that is meant, correct "
        "`examples` in the contract",
    )

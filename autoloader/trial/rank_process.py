"""Run the passes of one rank, in processes of its own.

As for a training process that is alone, but for its environment and its process group.
Which ranks run side by side is `trial.ranked`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.trial.judging import asked_list
from autoloader.trial.runner import ProcessRunner
from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from pathlib import Path

    from autoloader.audit.expectation import Expectation
    from autoloader.trial.child import Tick
    from autoloader.trial.judging import Gated
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import PassOrder, Reference
    from autoloader.values.outcome import Verdict
    from autoloader.values.ranks import RankPlace
    from autoloader.values.scope import SourceSpec

ALONE = frozenset({"share"})
"""Passes that read in one process: no rank waits for another."""


class RankProcess(ProcessRunner):
    """Runs the passes of one rank.

    Args:
        source: the user's SPEC.
        reference: what is right for this rank.
        place: which one it is.
        on_tick: told stage and count, also while a host starts; may raise.
        others: as `ProcessRunner` takes them.
    """

    def __init__(
        self,
        source: SourceSpec,
        reference: Reference,
        *,
        place: RankPlace,
        on_tick: Tick,
        **others: Any,
    ) -> None:
        super().__init__(source, reference, on_tick=on_tick, **others)
        self._keeper.place = place
        self._keeper.on_wait = on_tick
        self.meeting: str | None = None
        """Folder in which the ranks of the next pass meet."""
        self._gated: Gated | None = None

    def gate(self, config: LoaderConfig, *, examples: int) -> Verdict | Failure:
        """Compare what `config` delivers over two epochs with this rank's share."""
        scope = self._reference.scope
        return super().gate(config, examples=min(examples, scope.examples))

    def read_gate(self, config: LoaderConfig, *, examples: int) -> Gated | Failure:
        """Read what `config` delivers over two epochs; judge nothing."""
        found = super().read_gate(config, examples=examples)
        self._gated = None if isinstance(found, Failure) else found
        return found

    def asked(self) -> Expectation | None:
        """Return what the last gate pass was asked to deliver; None of a stream."""
        if self._gated is None or self._reference.scope.stream is not None:
            return None
        return asked_list(self._reference, self._gated.order)

    def settled(self, verdict: Verdict) -> Verdict:
        """Return a verdict as the user's policy has it; its ledger is done with."""
        return (
            verdict if self._gated is None else self._settled(verdict, self._gated.logs)
        )

    def abandon(self) -> None:
        """End trial and host at once; the next pass begins with new ones."""
        self._end_at_once()

    def _order(
        self, kind: str, config: LoaderConfig, *, examples: int = 0, **others: Any
    ) -> tuple[PassOrder, Path]:
        meeting = None if kind in ALONE else self.meeting
        return super()._order(
            kind, config, examples=examples, meeting=meeting, **others
        )

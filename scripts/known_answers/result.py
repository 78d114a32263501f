"""What a known answer came to: figures beside what they must be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """Figures of one question whose answer is known."""

    title: str
    """What was asked, and how near the answer must be."""
    lines: tuple[str, ...]
    """A small table."""
    holds: bool
    """Whether every figure is as near as it must be."""

    def print(self) -> None:
        """Write the question, the table and whether it holds."""
        print(f"\n{self.title}")
        for line in self.lines:
            print(f"    {line}")
        print(f"    {'holds' if self.holds else 'DOES NOT HOLD'}", flush=True)

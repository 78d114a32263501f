"""What a page is made of: sections with paragraphs, facts, tables, charts, snippets.

Values only: which words stand where. How they look is for templates to say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from autoloader.report.html.frame import Chart


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """Words of their own."""

    kind: ClassVar[str] = "paragraph"
    said: str
    look: str = ""
    """Class of the style sheet; empty: as all text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Labels with what is said of each."""

    kind: ClassVar[str] = "facts"
    items: tuple[tuple[str, str], ...]
    """A label may stand several times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something worth knowing, with the way out."""

    kind: ClassVar[str] = "notice"
    code: str | None
    """Stable name; None: it has none."""
    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell of a table."""

    said: str = ""
    """Empty: a dash stands for what is not known."""
    beneath: str = ""
    """Second, smaller line; mostly an interval."""
    look: str = ""
    """Class of the style sheet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a table; its first cell is its heading."""

    head: Cell
    cells: tuple[Cell, ...]
    look: str = ""
    """Class of the style sheet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with a caption; columns but the first hold numbers, unless named."""

    kind: ClassVar[str] = "table"
    caption: str
    columns: tuple[str, ...]
    """Headings, that of the row's heading first."""
    rows: tuple[Row, ...]
    words: frozenset[int] = field(default_factory=frozenset)
    """Places of columns that hold words, which stand at the left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart with what is to be seen in it."""

    kind: ClassVar[str] = "figure"
    chart: Chart
    caption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """Text to copy."""

    kind: ClassVar[str] = "snippet"
    name: str
    """Id of its element, unique in a page."""
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """Blocks that are folded away until somebody asks."""

    kind: ClassVar[str] = "details"
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloads:
    """Buttons that save the embedded readings, as CSV and as JSON."""

    kind: ClassVar[str] = "downloads"
    rows: int
    """How many readings are embedded."""


Block = Paragraph | Facts | Notice | Table | Figure | Snippet | Details | Downloads


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A figure that is seen at a glance."""

    label: str
    said: str
    beneath: str = ""
    """Smaller, below it; mostly an interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Blocks under a heading."""

    name: str
    """Id of its heading, unique in a page."""
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A whole page."""

    heading: str
    about: str
    """What the heading is of, in small letters above it."""
    state: str
    """`met`, `not_met`, `undecided` or `plain`: how the verdict looks."""
    verdict: str
    """Before a colon the state, after it the reason."""
    lead: tuple[str, ...]
    """Sentences below the verdict."""
    tiles: tuple[Tile, ...]
    """Figures that matter most; none where nothing was chosen."""
    sections: tuple[Section, ...]
    """In order; those without blocks are left out."""
    data: dict[str, Any] | None = None
    """What is embedded, plain values; None: nothing."""
    file_stem: str = "readings"
    """What files that are saved from the page are called."""

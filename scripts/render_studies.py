"""Write the tables of studies/README.md and of each study's README from stored figures.

    python scripts/render_studies.py [--into FOLDER]

What `bench_search.py` and `bench_peers.py` stored under `studies/*/measured` becomes
tables between the marks of each page; nothing is measured, and what was not measured
gives no table. `--into` reads and writes the pages of another folder.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autoloader.errors import AutoloaderError  # noqa: E402  # found by the line above
from autoloader.files import write_whole  # noqa: E402
from scripts.studied.conditions import read_stored  # noqa: E402
from scripts.studied.grid_replays import row_of  # noqa: E402
from scripts.studied.grids import STUDIES  # noqa: E402
from scripts.studied.pages import (  # noqa: E402
    conditions_lines,
    grid_table,
    overview,
    peers_table,
    put_between,
    search_table,
    tunes_table,
    wrong_data_table,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scripts.studied.conditions import Stored

MARKS = "figures of scripts/render_studies.py"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write what there is; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--into", type=Path, default=ROOT / "studies", metavar="FOLDER")
    folder: Path = parser.parse_args(arguments).into
    try:
        for name in STUDIES:
            _write(folder / name / "README.md", study_page(name, folder))
        _write(folder / "README.md", overview_page(folder))
    except AutoloaderError as exc:
        print(f"{exc.message}\n{exc.hint or ''}", file=sys.stderr)
        return exc.exit_code
    return 0


def study_page(name: str, folder: Path) -> list[str]:
    """Return the figures of one study, each table with the command that gives it."""
    grid, tunes, peers = (
        read_stored(folder / name / "measured" / file)
        for file in ("grid.json", "tunes.json", "peers.json")
    )
    lines = _section(
        "Every config of a grid",
        f"python scripts/bench_search.py --record {name}",
        _one(name, grid),
        [] if grid is None else grid_table(grid),
    )
    row = None if grid is None else row_of(grid)
    lines += _section(
        "Tunes replayed on these readings, three minutes each on their own clock",
        f"python scripts/bench_search.py --record {name}",
        _one(name, grid),
        search_table([] if row is None else [row]),
    )
    lines += _section(
        "Live tunes of three minutes",
        f"python scripts/bench_search.py --live {name}",
        _one(name, tunes),
        [] if tunes is None else tunes_table({name: (tunes, peers)}),
    )
    lines += _section(
        "Against others",
        f"python scripts/bench_peers.py --study {name} --no-wrong-data",
        _one(name, peers),
        [] if peers is None else peers_table(peers),
    )
    return ["## Measured", "", *lines] if lines else []


def overview_page(folder: Path) -> list[str]:
    """Return the figures of all studies."""
    grids = _all(folder, "grid.json")
    rows = [row for data in grids.values() if (row := row_of(data)) is not None]
    tunes, peers = _all(folder, "tunes.json"), _all(folder, "peers.json")
    lines = _section(
        "The grid's answer, and tunes replayed on its readings",
        "python scripts/bench_search.py --record",
        grids,
        search_table(rows),
    )
    lines += _section(
        "Live tunes",
        "python scripts/bench_search.py --live",
        tunes,
        tunes_table({name: (data, peers.get(name)) for name, data in tunes.items()}),
    )
    lines += _section(
        "Against others",
        "python scripts/bench_peers.py",
        peers,
        overview(peers),
    )
    wrong = read_stored(folder / "measured" / "wrong_data.json")
    lines += _section(
        "A dataset that loses an example in workers, and repeats the next",
        "python scripts/bench_peers.py --study",
        _one("wrong data", wrong),
        [] if wrong is None else wrong_data_table(wrong),
    )
    return lines


def _section(
    title: str, command: str, data: Mapping[str, Stored], table: Sequence[str]
) -> list[str]:
    """Return a table with its title, command and conditions; nothing without one."""
    if not data or not table:
        return []
    return [
        f"### {title}",
        "",
        f"    {command}",
        "",
        *table,
        "",
        *conditions_lines(data),
        "",
    ]


def _one(name: str, data: Stored | None) -> dict[str, Stored]:
    """Return what is stored of one study by its name; nothing where there is none."""
    return {} if data is None else {name: data}


def _all(folder: Path, file: str) -> dict[str, Stored]:
    """Return what is stored of each study that has such a file."""
    found = {name: read_stored(folder / name / "measured" / file) for name in STUDIES}
    return {name: data for name, data in found.items() if data is not None}


def _write(page: Path, lines: Sequence[str]) -> None:
    """Put the lines between the marks of a page, and write it where that changes it."""
    text = page.read_text(encoding="utf-8")
    changed = put_between(text, MARKS, lines)
    if changed != text:
        write_whole(page, changed)
        print(f"written {page}")


if __name__ == "__main__":
    sys.exit(main())

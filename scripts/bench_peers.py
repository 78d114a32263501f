"""Compare what autoloader recommends with what others recommend, study by study.

    python scripts/bench_peers.py [--study NAME ...] [--tunes N] [--rounds N]
                                  [--budget TIME] [--loadtune PYTHON] [--into FOLDER]

Others are loadtune 0.3.0, with its defaults, and three rules by hand: half the cores,
as many as cores, and the fastest of 0, 1, half and all. autoloader's advice is that of
the study's live tunes (`bench_search.py --live`); those that are missing are made. Then
all settings that were recommended, and the fastest of the study's grid where it was
recorded, are read in turns by a plain loop that imports none of them
(`peers/plain_loop.py`), in interleaved rounds. At the end all are asked about a dataset
that loses and repeats an example in workers (`peers/loses.py`).

Everything is stored as soon as it is known, in `studies/NAME/measured/peers.json` and
`studies/measured/wrong_data.json`; the same command goes on where a killed one stood.
`python scripts/render_studies.py` writes the tables.

loadtune lives in an environment of its own; without one it is left out:

    python -m venv .venv-loadtune
    .venv-loadtune/bin/pip install torch==2.13.0 loadtune==0.3.0 pillow

Takes five to eight minutes a study on two cores beside the tunes, and six minutes for
the wrong data.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autoloader.search.tables import Truth  # noqa: E402  # found by the line above
from scripts.peers.advice import Advice, key_of, plain  # noqa: E402
from scripts.peers.contestants import RULES, ask_loadtune, ask_rules  # noqa: E402
from scripts.peers.reading import TIMED_S, WARM_S, race  # noqa: E402
from scripts.peers.wrong_data import ask_about_wrong_data  # noqa: E402
from scripts.studied.attempts import attempt  # noqa: E402
from scripts.studied.conditions import (  # noqa: E402
    conditions_now,
    go_on_with,
    read_stored,
    store,
)
from scripts.studied.grid_file import is_complete, table_of  # noqa: E402
from scripts.studied.grid_replays import TARGET  # noqa: E402
from scripts.studied.grids import STUDIES  # noqa: E402
from scripts.studied.judging import GRID  # noqa: E402
from scripts.studied.live_tunes import advice_of, tune_live, tunes_file  # noqa: E402
from scripts.studied.pages import peers_table, wrong_data_table  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.values.config import LoaderConfig
    from scripts.studied.attempts import Step
    from scripts.studied.conditions import Stored

BATCH_SIZES = {
    "photos": 64, "remote": 32, "tokens": 64, "tensors": 32, "frames": 8, "stream": 64,
    "augment": 64, "skewed": 32,
}  # fmt: skip
"""Those of the studies' loaders; everybody is given the same."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, race and print; return the exit code."""
    options = _parser().parse_args(arguments)
    if importlib.util.find_spec("PIL") is None:
        sys.exit("Pillow, which the studies read with, is missing: pip install pillow")
    conditions = conditions_now()
    if not options.loadtune.exists():
        missing, options.loadtune = options.loadtune, None
        said = f"loadtune is left out, there is no {missing}"
        print(f"{said} (--help says how it is made)", file=sys.stderr)

    def compare(name: str) -> None:
        data = _compare(name, options, conditions)
        print("\n".join([f"\n{name}", *peers_table(data)]), flush=True)

    def ask_about_wrong_data() -> None:
        data = _ask_about_wrong_data(options, conditions)
        print("\n".join(["\nwrong data", *wrong_data_table(data)]), flush=True)

    steps: list[Step] = [partial(compare, name) for name in options.study]
    if not options.no_wrong_data:
        steps.append(ask_about_wrong_data)
    return attempt(steps)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--study", nargs="*", choices=STUDIES, default=STUDIES, metavar="NAME")
    add("--tunes", type=int, default=1, metavar="N", help="least tunes of autoloader")
    add("--rounds", type=int, default=6, metavar="N", help="of the race")
    add("--warm", type=float, default=WARM_S, metavar="SECONDS", help="before timing")
    add("--timed", type=float, default=TIMED_S, metavar="SECONDS", help="at least")
    add("--budget", default="3m", metavar="TIME", help="of a tune")
    add(
        "--wrong-budget", default="3m", metavar="TIME", help="of the tune of wrong data"
    )
    add(
        "--loadtune", type=Path, metavar="PYTHON",
        default=ROOT / ".venv-loadtune" / "bin" / "python",
        help="of the environment that has it",
    )  # fmt: skip
    add("--into", type=Path, metavar="FOLDER", default=ROOT / "studies")
    add("--fresh", action="store_true", help="give up what was stored")
    add("--no-wrong-data", action="store_true", help="leave the last question out")
    return parser


def _compare(
    name: str, options: argparse.Namespace, conditions: dict[str, Any]
) -> Stored:
    """Ask who was not asked yet, race all of it, and return what is stored."""
    tune_live(
        [name],
        into=options.into,
        conditions=conditions,
        tunes=options.tunes,
        budget=options.budget,
    )
    file = options.into / name / "measured" / "peers.json"
    data = go_on_with(file, conditions, fresh=options.fresh)
    others = _ask_others(name, data, file, options)
    ours = advice_of(read_stored(tunes_file(options.into, name)) or {})
    advice = [*ours, *others, *_of_the_grid(options.into / name / "measured")]
    data.update(study=name, advice=[asdict(item) for item in advice])

    def keep(rates: dict[str, list[float | None]]) -> None:
        data["rates"] = rates
        store(file, data)

    keep(
        race(
            ROOT / "studies" / name / "dataset.py",
            [item.settings for item in advice if item.settings is not None],
            options.rounds,
            known=data.get("rates"),
            on_round=keep,
            warm_s=options.warm,
            timed_s=options.timed,
        )
    )
    return data


def _ask_others(
    name: str, data: Stored, file: Path, options: argparse.Namespace
) -> list[Advice]:
    """Return what the others say; who is asked is stored at once."""
    dataset = ROOT / "studies" / name / "dataset.py"
    found = [Advice(**item) for item in data.setdefault("others", [])]

    def keep(given: list[Advice]) -> None:
        said = [_without_place(item) for item in given]
        for item in said:
            words = "nothing" if item.settings is None else key_of(item.settings)
            print(f"    {name}: {item.who}: {words} {item.words}", file=sys.stderr)
        found.extend(said)
        data["others"] = [asdict(item) for item in found]
        store(file, data)

    asked = {item.who for item in found}
    if "loadtune" not in asked and options.loadtune is not None:
        keep([ask_loadtune(dataset, options.loadtune)])
    if not asked.issuperset(RULES):
        keep(ask_rules(dataset, BATCH_SIZES[name]))
    return found


def _of_the_grid(measured: Path) -> list[Advice]:
    """Return what an exhaustive sweep says; nothing where there is no whole grid."""
    data = read_stored(measured / "grid.json")
    if data is None or not is_complete(data):
        return []
    fastest: LoaderConfig = Truth.of(table_of(data), TARGET).fastest
    return [
        Advice(
            who=GRID,
            settings=plain(fastest.dataloader_kwargs()),
            seconds=float(data["spent_s"]),
        )
    ]


def _ask_about_wrong_data(
    options: argparse.Namespace, conditions: dict[str, Any]
) -> Stored:
    """Return who recommends settings with which an example is lost; asked once."""
    file = options.into / "measured" / "wrong_data.json"
    data = go_on_with(file, conditions, fresh=options.fresh)
    if "delivered" not in data:
        found = ask_about_wrong_data(options.wrong_budget, options.loadtune)
        data["delivered"] = [
            replace(item, advice=_without_place(item.advice)).to_dict()
            for item in found
        ]
        store(file, data)
    return data


def _without_place(advice: Advice) -> Advice:
    """Return advice whose words name no folder of this machine."""
    return replace(advice, words=advice.words.replace(f"{ROOT}/", ""))


if __name__ == "__main__":
    sys.exit(main())

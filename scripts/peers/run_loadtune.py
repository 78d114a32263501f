"""Tune a study with loadtune's own command, and print what it recommends as JSON.

    STUDY_FILE=studies/photos/dataset.py PYTHON scripts/peers/run_loadtune.py FOLDER

with the Python of an environment that has loadtune. What the command prints goes to
stderr, its report to FOLDER. Its best trial is recommended only where the command would
say so: it must be faster than the baseline, else the baseline stays.
"""

import contextlib
import json
import sys
from pathlib import Path

from loadtune.cli import main as loadtune
from loadtune.experiment import Trial, best_trial
from loadtune.knobs import Knobs


def recommended(raw: Path) -> dict[str, object]:
    """Return the settings that the command recommends, from what it has written."""
    found = json.loads(raw.read_text())
    trials = [
        Trial(knobs=Knobs.from_dict(item["knobs"]), reason="", result=item["result"])
        for item in found["trials"]
    ]
    best, baseline = best_trial(trials), found["baseline"]
    knobs = Knobs.from_dict(baseline["knobs"])
    if best is not None and best.throughput > baseline["throughput"]:
        knobs = best.knobs
    return dict(knobs.loader_kwargs(), batch_size=baseline["batch_size"])


def main() -> int:
    """Tune and print; return the command's exit code."""
    folder = Path(sys.argv[1])
    raw = folder / "raw.json"
    workload = str(Path(__file__).with_name("loadtune_workload.py"))
    out = ["--out", str(folder / "report.md"), "--save-raw", str(raw), "--no-plots"]
    with contextlib.redirect_stdout(sys.stderr):
        code = loadtune(["tune", workload, *out])
    if raw.exists():
        print(json.dumps(recommended(raw)))
    return int(code)


if __name__ == "__main__":
    sys.exit(main())

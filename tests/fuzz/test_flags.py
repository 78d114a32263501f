"""Whatever text stands behind a flag: a request, or one sentence and exit code 2."""

import io
from argparse import Namespace
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoloader import cli
from autoloader.commands import measure, tune
from autoloader.commands.arguments import source_of
from tests.fuzz.spoiling import TEXTS, WORDS

QUICK, MANY = 60, 600
"""Command lines."""

TAKEN = 0
"""Exit code of a command whose request could be made; nothing is run here."""

BOTH = (
    "--batch-size", "--memory", "--examples", "--seed", "--order", "--transforms",
    "--start-method", "--label", "--id", "--epoch-examples", "--cache", "--unit",
    "--budget", "--isolation", "--allow", "--hang-after", "--arg", "--on-epoch",
    "--contract",
)  # fmt: skip

OWN = {
    "tune": (
        "--target", "--num-workers", "--prefetch-factor", "--pin-memory",
        "--persistent-workers", "--ranks", "--trials", "--verify", "--out",
    ),
    "measure": ("--config", "--rounds"),
}  # fmt: skip

TYPICAL = st.sampled_from(
    [
        "64", "32,64", "0:16", "2:1", ":", "0:", "1:2:3", "3m", "1h30m", "8GiB", "8 G",
        "1e5", "95%", "0%", "101%", "inf", "nan", "-5", "all", "a=1", "a=", "=1",
        "a=[1",
        "a={b: c}", "a=&x [1]", "a=*x", "a=!!python/none:x", "a=2026-13-45",
        "a=!!bool x", "a=2026-01-02", "json:loads", "json", ":loads", "json:",
        "none.py:x", "no_such:x", "tokens=json:loads", "bytes=json:loads",
        "missing_ids", "num_workers=2", "none.yaml", "x" * 300 + ".py:x",
        "x" * 300 + ".yaml", ".py:x",
        "/:x", "..:x", "shuffled", "warm", "fork", "9" * 400, "9" * 5000,
    ]
)  # fmt: skip


SUITABLE = {
    "--arg": (
        "a=!!bool x", "a=!!timestamp x", "a=!!int ''", "a=\"\\UFFFFFFFF\"", "a=&x [*x]",
        "a=" + "[" * 3000, "a=2026-13-45", "a=.nan", "a=!!python/none:x", "a={b: c}",
    ),
    "--on-epoch": ("x" * 300 + ".py:y", "json:loads", "..:x", "/:x", ":", "a.b.c:d"),
    "--unit": ("a=" + "x" * 300 + ".py:y", "t=json:loads", "bytes=json:loads", "t=:"),
    "--contract": ("x" * 300, ".", "none.yaml", "/dev/zero"),
    "--config": ("x" * 300 + ".yaml", "none.yaml", "num_workers=" + "9" * 5000),
    "--seed": ("9" * 100, "-1", "1e3", "9" * 5000),
    "--num-workers": ("0:99999999", "2:1", "1:", "9" * 5000),
    "--batch-size": ("9" * 100, "1,,2", "64"),
}  # fmt: skip
"""Texts that a flag may have more to do with than the others."""


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """Return a command with some flags, each with a text of any kind."""
    command = draw(st.sampled_from(sorted(OWN)))
    flags = [*BOTH, *OWN[command]]
    line = [command, f"--dataset={draw(st.just('json:loads') | TYPICAL | TEXTS)}"]
    for _ in range(draw(st.integers(0, 3))):
        flag = draw(st.sampled_from(flags))
        suitable = st.sampled_from(SUITABLE.get(flag, ("",)))
        text = draw(suitable | TYPICAL | WORDS)
        line += draw(st.sampled_from([[f"{flag}={text}"], [flag, text], [flag]]))
    return line


@pytest.fixture
def only_requests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let commands make their request, and go no further."""

    def request_of_tune(args: Namespace) -> int:
        found = tune._with_study_file(args)
        tune.request_of(found, source_of(found))
        return TAKEN

    def request_of_measure(args: Namespace) -> int:
        measure.request_of(args, source_of(args))
        return TAKEN

    monkeypatch.setattr(tune, "run", request_of_tune)
    monkeypatch.setattr(measure, "run", request_of_measure)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


def holds(line: list[str]) -> None:
    """Check that a command line is taken, or refused in one sentence."""
    said = io.StringIO()

    with redirect_stderr(said), redirect_stdout(io.StringIO()):
        code = cli.main(line)

    assert code in {TAKEN, 2, 5}, said.getvalue()
    assert "Traceback" not in said.getvalue()
    if code != TAKEN:
        assert said.getvalue().startswith("autoloader: ")


def fuzz(count: int, *, is_seeded: bool) -> None:
    """Try so many command lines."""

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=is_seeded,
        suppress_health_check=list(HealthCheck),
    )
    @given(command_lines())
    def run(line: list[str]) -> None:
        holds(line)

    run()


@pytest.mark.usefixtures("only_requests")
def test_any_command_line_is_taken_or_refused() -> None:
    """The same few for everybody."""
    fuzz(QUICK, is_seeded=True)


@pytest.mark.full
@pytest.mark.usefixtures("only_requests")
def test_many_command_lines_are_taken_or_refused() -> None:
    """Others each time."""
    fuzz(MANY, is_seeded=False)


@pytest.mark.usefixtures("only_requests")
@pytest.mark.parametrize(
    ("flag", "code", "words"),
    [
        (f"--on-epoch={'x' * 300}.py:y", 2, "there is no file xxx"),
        ("--seed=" + "9" * 100, 2, "--seed must be below 4611686018427387904, got "),
        ("--num-workers=0:99999", 2, "--num-workers must be at most 4096, got '99999'"),
        ("--batch-size=2147483648", 2, "--batch-size must be at most 2147483647, got "),
        ("--arg=a=!!bool x", TAKEN, ""),
        ("--arg=a=!!timestamp x", TAKEN, ""),
        ("--arg=a=&x [*x]", TAKEN, ""),
        ("--arg=a=" + "[" * 3000, TAKEN, ""),
    ],
    ids=["name", "seed", "workers", "batch", "bool", "time", "alias", "deep"],
)
def test_what_the_fuzz_found_stays_found(
    flag: str, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is no YAML stays text, as it stood behind --arg."""
    assert cli.main(["tune", "--dataset=json:loads", flag]) == code
    assert words in capsys.readouterr().err


@pytest.mark.usefixtures("only_requests")
def test_a_wrong_flag_in_a_study_file_is_told_with_the_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It may hold many, and name itself in an odd place."""
    Path("study.yaml").write_text("dataset: json:loads\ntarget: fast\n")
    Path("right.yaml").write_text("dataset: json:loads\n")

    wrong = cli.main(["tune", "study.yaml"])
    right = cli.main(["tune", "--out", "right.yaml", "right.yaml"])

    message = "the study file study.yaml: --target is a rate such as 2000, a share "
    assert message in capsys.readouterr().err
    assert (wrong, right) == (2, TAKEN)

"""What is printed, and which view a stream gets."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autoloader.report.console import (
    check_view,
    print_check,
    print_error,
    print_machine,
    print_report,
    view_for,
)
from autoloader.report.data import TuneReport
from autoloader.report.live import LiveView
from autoloader.report.plain import PlainStatus, PlainView, QuietStatus, QuietView
from autoloader.report.status import LiveStatus
from autoloader.search.passed_over import PassedOver
from autoloader.values.machine import Accelerator
from autoloader.values.target import Target
from tests.report.fakes import (
    FACTS,
    MACHINE,
    MISSING,
    Terminal,
    config,
    crashed,
    refused,
    result,
)

DEFAULT, FOUR, EIGHT = config(0), config(4), config(8)
RATE_1000 = Target(examples_per_s=1000)
SOURCES = {DEFAULT: "pytorch_default", EIGHT: "yours"}
RATES = {DEFAULT: 200.0, EIGHT: 1300.0, FOUR: 1100.0}


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test the same terminal."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)


def report_of(**changes: Any) -> TuneReport:
    """Return the report of a study that met its target."""
    return TuneReport.of(result(RATES, target=RATE_1000, sources=SOURCES, **changes))


def printed(report: TuneReport) -> str:
    """Return what a pipe gets."""
    stream = io.StringIO()
    print_report(report, stream)
    return stream.getvalue()


def test_a_report_reads_as_it_should() -> None:
    """The whole of it, as a pipe gets it."""
    caution = {
        "code": "idle_workers",
        "message": "1 of 4 workers made no batch",
        "hint": "fewer workers do the same work",
    }
    failed = [refused(3, config(6)), crashed(4, config(7), "worker 0 raised KeyError")]

    text = printed(report_of(cautions=[caution], failed=failed))

    assert text == (Path(__file__).parent / "report.txt").read_text(encoding="utf-8")


def test_what_was_not_tried_has_a_line_of_its_own() -> None:
    """However many they are."""
    why = "at least as much memory as 8 workers, which ran out of it"
    untried = PassedOver(reason=why, configs=tuple(map(config, range(9, 99))))
    found = result(RATES, target=RATE_1000, sources={})

    text = printed(TuneReport.of(replace(found, passed_over=(untried,))))

    lines = text.splitlines()
    line = lines.index(next(line for line in lines if line.startswith("search")))
    assert lines[line + 1] == f"untried   90 configs: {why}"


def test_what_is_wrong_has_its_fate_in_place_of_a_rate() -> None:
    """Nothing stands in the other columns."""
    found = result(RATES, target=RATE_1000, sources={DEFAULT: "pytorch_default"})
    yours = refused(9, config(6), source="yours")

    text = printed(TuneReport.of(replace(found, outcomes=(*found.outcomes, yours))))

    lines = text.splitlines()
    row = lines.index(next(line for line in lines if line.startswith("yours")))
    assert lines[row].split() == ["yours", "6", "refused", "-", "-", "-"]
    assert lines[row + 1].split() == ["prefetch", "2", "missing_ids"]


def test_a_hint_is_given_once_for_all_trials_of_a_kind() -> None:
    """The trials are listed one by one."""
    failed = [refused(number, config(10 + number)) for number in range(3, 6)]

    text = printed(report_of(failed=failed))

    assert text.count("missing_ids: 2 examples never arrived") == 3
    assert text.count("usual cause") == 1


def test_a_pipe_gets_no_terminal_codes_and_no_trailing_spaces() -> None:
    """Whatever the environment says of colours."""
    text = printed(report_of(failed=[refused(3, config(6))]))

    assert "\x1b" not in text
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


@pytest.mark.parametrize("rate", [0.5, 40, 2_000_000])
def test_no_line_is_longer_than_80_columns(rate: float) -> None:
    """Also with all settings, long messages and large numbers."""
    most = config(64, prefetch_factor=16, pin_memory=True, persistent_workers=True)
    failed = [crashed(3, most, "a very long message " * 20 + "x" * 200)]
    rates = {DEFAULT: rate, most: rate * 9}
    found = result(
        rates,
        target=Target(share_of_best=0.95),
        sources={DEFAULT: "pytorch_default", most: "yours"},
        failed=failed,
        written=Path("a/" * 60 + "autoloader.yaml"),
    )

    text = printed(TuneReport.of(replace(found, outcomes=found.outcomes)))

    assert max(map(len, text.splitlines())) <= 80


def test_foreign_text_is_neither_markup_nor_terminal_codes() -> None:
    """Brackets are shown as they are; emoji names stay names."""
    message = "no \x1b[31m[bold]file[/bold] :smile: \u202e[/] [link=x]"
    caution = {"code": "weak_identity", "message": "[red]a\x1b[2J", "hint": "[b]"}

    text = printed(
        report_of(failed=[crashed(3, config(6), message)], cautions=[caution])
    )

    assert "no [bold]file[/bold] :smile: [/] [link=x]" in text
    assert "weak_identity: [red]a\n" in text
    assert "\x1b" not in text


def test_a_terminal_gets_colour_unless_that_is_unwanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """NO_COLOR and a dumb terminal leave plain text."""
    coloured, plain, dumb = Terminal(), Terminal(), Terminal()

    print_report(report_of(), coloured)
    monkeypatch.setenv("NO_COLOR", "1")
    print_report(report_of(), plain)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    print_report(report_of(), dumb)

    assert "\x1b[1;38;5;28mTarget met:\x1b[0m" in coloured.getvalue()
    assert "\x1b" not in plain.getvalue()
    assert "\x1b" not in dumb.getvalue()


def test_an_ascii_stream_gets_ascii() -> None:
    """Signs have their closest letters, foreign letters their numbers."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")

    print_report(report_of(failed=[crashed(3, config(6), "사진")]), stream)

    text = raw.getvalue().decode("ascii")
    assert "> chosen" in text
    assert "5.50x" in text
    assert "\\uc0ac\\uc9c4" in text


def test_the_view_fits_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """A region needs a terminal that moves its cursor; NO_COLOR does not forbid it."""

    def kind(stream: io.StringIO, *, quiet: bool = False) -> tuple[type, type]:
        view = view_for(
            stream, quiet=quiet, dataset="a:b", target=RATE_1000, machine=MACHINE
        )
        return type(view), type(check_view(stream, quiet=quiet))

    assert kind(Terminal()) == (LiveView, LiveStatus)
    assert kind(io.StringIO()) == (PlainView, PlainStatus)
    assert kind(Terminal(), quiet=True) == (QuietView, QuietStatus)
    monkeypatch.setenv("NO_COLOR", "1")
    assert kind(Terminal()) == (LiveView, LiveStatus)
    monkeypatch.setenv("TERM", "dumb")
    assert kind(Terminal()) == (PlainView, PlainStatus)


def test_an_error_is_its_message_and_the_way_out() -> None:
    """Two lines, and one where there is no way out."""
    with_hint, without = io.StringIO(), io.StringIO()

    print_error("no such file: \x1b[31mx", "look\nelsewhere", with_hint)
    print_error("no such file", None, without)

    assert with_hint.getvalue() == (
        "autoloader: no such file: x\n  hint: look elsewhere\n"
    )
    assert without.getvalue() == "autoloader: no such file\n"


def test_an_error_has_colour_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only there, and only where it is wanted."""
    coloured, plain = Terminal(), Terminal()

    print_error("no", "yes", coloured)
    monkeypatch.setenv("NO_COLOR", "1")
    print_error("no", "yes", plain)

    assert coloured.getvalue() == (
        "\x1b[38;5;196mautoloader:\x1b[0m no\n  \x1b[38;5;130mhint:\x1b[0m yes\n"
    )
    assert plain.getvalue() == "autoloader: no\n  hint: yes\n"


def test_results_go_to_stdout_and_errors_to_stderr(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where no stream is named."""
    print_machine(MACHINE)
    print_error("no", None)

    out, err = capsys.readouterr()
    assert out.startswith("processor")
    assert err == "autoloader: no\n"


def test_a_machine_is_told_by_its_limits() -> None:
    """What is missing is said with its reason."""
    stream = io.StringIO()

    print_machine(MACHINE, stream)

    assert stream.getvalue().splitlines() == [
        "processor      Test CPU",
        "CPUs           2.5 effective: 4 of 8 allowed, a quota of 2.5",
        "workers        PyTorch warns above 4, quota or not; more pay where "
        "reading waits",
        "memory         1.0 GiB free of 2.0 GiB",
        "shared memory  32.0 MiB free of 64.0 MiB",
        "open files     at most 1,024",
        "accelerator    none: the NVIDIA driver is not loaded",
        "system         Linux x86_64, 6.1, Python 3.12.1",
        "kind           test-2_5cpu-none",
    ]


def test_equal_accelerators_are_counted() -> None:
    """And a system without shared memory or limits says so."""
    device = Accelerator(name="GPU A", kind="cuda", memory_bytes=None, driver=None)
    machine = replace(
        MACHINE,
        accelerators=(device, device, replace(device, name="GPU B")),
        accelerator_note=None,
        shm_free_bytes=None,
        shm_total_bytes=None,
        open_files_limit=None,
    )
    stream = io.StringIO()

    print_machine(machine, stream)

    lines = stream.getvalue().splitlines()
    assert lines[4:7] == [
        "shared memory  none",
        "open files     no limit",
        "accelerator    2 x GPU A + GPU B",
    ]


def check_of(*runs: dict[str, Any], cautions: tuple[Any, ...] = ()) -> dict[str, Any]:
    """Return the object that a check gives, as JSON has it."""
    return {
        "passed": all(run["status"] == "passed" for run in runs),
        "status": runs[0]["status"],
        "verified": {"examples": 1600, "of": 1600, "epochs": 2},
        "findings": [],
        "cautions": list(cautions),
        "runs": list(runs),
        "dataset": FACTS.to_dict(),
    }


def run_of(status: str = "passed", **changes: Any) -> dict[str, Any]:
    """Return what one config delivered, as JSON has it."""
    empty: dict[str, Any] = {"findings": [], "cautions": [], "failure": None}
    return {"config": FOUR.to_dict(), "status": status, **empty, **changes}


def test_a_passed_check_says_what_was_compared() -> None:
    """With the fields of an example, and cautions first."""
    caution = {
        "code": "idle_workers",
        "message": "1 made no batch",
        "hint": "use fewer",
    }
    stream = io.StringIO()

    print_check(check_of(run_of(), cautions=(caution,)), stream)

    assert stream.getvalue().splitlines() == [
        "caution   idle_workers: 1 made no batch",
        "          use fewer",
        "",
        "Passed: 1,600 of 1,600 examples, 2 epochs: ids and labels the same; "
        "field 0 is",
        "random: values not compared.",
        "",
        "Photos, 1,600 examples, read by index",
        "field  type    dtype    shape",
        "0      tensor  float32  3 x ? x 32  random",
        "1      int     int64    -           label",
        "",
        "passed    4 workers, prefetch 2, batch 64",
    ]


def test_a_failed_check_tells_each_finding() -> None:
    """A config that crashed or hung is told by its failure."""
    failure = {"kind": "hung", "message": "no batch for 30 s", "hint": None}
    stream = io.StringIO()
    wrong = run_of("refused", findings=[MISSING.to_dict()])

    print_check(check_of(run_of(), wrong, run_of("hung", failure=failure)), stream)

    lines = stream.getvalue().splitlines()
    assert lines[0] == ("Not passed: 2 of 3 configs deliver other data, or none.")
    assert lines[7:] == [
        "passed    4 workers, prefetch 2, batch 64",
        "refused   4 workers, prefetch 2, batch 64",
        "          missing_ids: 2 examples never arrived: ids 5, 7",
        "          usual cause: a collate_fn that drops what fails to load",
        "hung      4 workers, prefetch 2, batch 64",
        "          hung: no batch for 30 s",
    ]


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        (["console"], {"torch", "optuna", "pandas", "numpy", "rich"}),
        (["live", "plain", "data", "table", "check"], {"torch", "optuna", "pandas"}),
    ],
)
def test_what_shows_a_study_does_not_load_what_runs_it(
    modules: list[str], heavy: set[str]
) -> None:
    """An error is printed before anything heavy is loaded."""
    imports = ", ".join(f"autoloader.report.{name}" for name in modules)
    code = f"import sys, {imports}; print(sorted({heavy!r} & sys.modules.keys()))"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"

"""Whatever breaks, at whatever moment: a named outcome, or the same command goes on."""

import contextlib
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.faults import breaking
from tests.faults.injections import SEEDS, STOPS, Injection
from tests.faults.running import Bench, Run, end

CASES = [
    pytest.param(case, marks=pytest.mark.slow if case.is_quick else pytest.mark.full)
    for case in map(Injection.of, SEEDS)
]

DONE = {0, 6}
"""The target is met, or four seconds were too short to tell."""

INTERRUPTED = 130

PASSES = {"gate": "gate", "memory": "memory", "timed": "timed", "verification": "gate"}
"""Pass that a phase breaks, where that makes an outcome."""

KILLED = {
    "kill-host": r"the host's process was killed by SIGKILL while .+",
    "kill-trial": r"the (trial|host)'s process was killed by SIGKILL while .+",
    "kill-worker": r"a worker was killed by SIGKILL",
}

STOPPED = {
    "stop-host": r"the (host|trial)'s process was stopped by a signal \(SIGSTOP\)",
    "stop-trial": r"the trial's process was stopped by a signal \(SIGSTOP\)",
    "stop-worker": r"a worker's process \(\d+\) was stopped by a signal \(SIGSTOP\)",
}


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """Give a folder for the study of a case, on a small disk where it is to be full."""
    case: Injection = request.node.callspec.params["case"]
    folder, plan = tmp_path / "work", tmp_path / "plan"
    folder.mkdir()
    plan.mkdir()
    flags = ["--isolation", case.isolation, "--start-method", case.start_method]
    if case.kind in STOPS:
        flags += ["--hang-after", "4s"]
    if case.kind == "allocate":
        flags += ["--memory", "1GiB"]
    made = Bench(folder=folder, plan=plan, flags=tuple(flags))
    with contextlib.ExitStack() as stack:
        if case.kind == "full-disk":
            if not breaking.has_own_disk(folder):
                pytest.skip("a disk of its own needs a mount namespace, and rights")
            made.prefix, made.view = stack.enter_context(breaking.own_disk(folder))
        yield made
        for pid in made.living():
            end(pid)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_nothing_breaks_a_study(case: Injection, bench: Bench) -> None:
    """It ends in time and by name, or goes on; nothing is lost, repeated or left."""
    if case.phase not in {"verification", "race"}:
        bench.tell(case.plan)
    with bench.start() as run:
        pid, session = wait_for_moment(case, run)
        before = bench.lines()
        break_it(case, run, pid, session)
        code = run.finish()

        run.check_end(code)
    assert bench.lines().startswith(before)
    check(case, run, code)
    if code not in DONE:
        check_that_it_goes_on(case, bench)
    assert not run.temporary()


def wait_for_moment(case: Injection, run: Run) -> tuple[int, int]:
    """Return process and session that are held, or broken; the parent's in between."""
    match case.phase:
        case "start":
            run.wait_for_line("tune:")
        case "writing":
            run.wait_for_writing()
        case "verification" | "race":
            run.wait_for_line(f"{case.phase}:")
            run.bench.tell(case.plan)
            return run.wait_for_reached()
        case _:
            return run.wait_for_reached()
    return run.pid, run.pid


def break_it(case: Injection, run: Run, pid: int, session: int) -> None:
    """Break what the case says, and let what is held go on."""
    bench = run.bench
    match case.kind:
        case "interrupt" | "terminate" | "kill-parent":
            with contextlib.suppress(ProcessLookupError):
                run.process.send_signal(breaking.signal_of(case.kind))
        case "full-disk":
            breaking.fill_disk(bench)
        case "file-limit":
            breaking.limit_files(run)
        case "remove-logs":
            breaking.remove_logs(bench)
        case "remove-journal":
            breaking.remove_journal(bench)
        case "second":
            check_that_it_is_refused(bench)
        case _:
            if not case.is_of_dataset:
                breaking.signal_child(run, case.kind, pid, session)
    bench.let_go()


def check_that_it_is_refused(bench: Bench) -> None:
    """A second command at once measures nothing, and takes nothing away."""
    before = bench.lines()
    with bench.start() as second:
        code = second.finish()

    assert code == 2
    assert "another autoloader measures on this machine: tune, process " in second.said
    assert bench.lines() == before


def check(case: Injection, run: Run, code: int) -> None:
    """Check how the run ended."""
    match case.kind:
        case "kill-parent":
            assert code == -signal.SIGKILL or case.phase == "writing"
        case "interrupt" | "terminate":
            check_interrupt(case, run, code)
        case "full-disk" | "file-limit":
            words = "No space left on device" if "disk" in case.kind else "File too"
            assert code == 5, run.said
            assert re.search(rf"\S+ cannot be (written|used): {words}", run.said)
        case "remove-logs" | "remove-journal" | "second":
            assert code in DONE, run.said
        case _ if case.phase == "reference":
            check_reference(case, run, code)
        case "raise" if case.phase == "building":
            assert code == 3, run.said
            assert "CodecError: the codec is not there" in run.said
        case _ if case.phase == "race":
            assert code in DONE, run.said
            assert [line for line in run.lines if re.match(r"round .* failed", line)]
        case "allocate" if code == 1:  # nor is there memory for workers beside it
            assert not case.in_worker
            assert "not one of 1 configs could be measured" in run.said
            check_outcome(case, run)
        case _:
            assert code in DONE, run.said
            check_outcome(case, run)


def check_interrupt(case: Injection, run: Run, code: int) -> None:
    """Check that it was heard, unless all had been done."""
    if case.phase == "writing" and code in DONE:
        return
    assert code == INTERRUPTED, run.said
    assert "interrupted; the same command goes on where it stood" in run.said


def check_reference(case: Injection, run: Run, code: int) -> None:
    """Check that the dataset is named as what fails, by itself."""
    words = {
        "kill-reference": r"the dataset ends its process \(SIGKILL\) while ",
        "stop-reference": r"the process that reads the reference was stopped by a "
        r"signal \(SIGSTOP\) while ",
        "exit": r"the dataset ends its process \(exit code 3\) while ",
        "segfault": r"the dataset ends its process \(SIGSEGV\) while ",
        "raise": r"CodecError: the codec is not there",
        "close": r"",
    }
    assert code == 3, run.said
    assert re.search(words[case.kind], run.said), run.said


def check_outcome(case: Injection, run: Run) -> None:
    """Check that one trial failed, and how it is named."""
    (outcome,) = run.bench.failed()
    failure = outcome["failure"]
    assert not outcome["readings"]
    if case.phase == "building":
        assert failure["kind"] == "start_failed"
    else:
        assert failure["phase"] == PASSES[case.phase]
    match case.kind:
        case "kill-host" | "kill-trial" | "kill-worker":
            assert outcome["status"] == "crashed"
            assert failure["signal"] == "SIGKILL"
            assert re.match(KILLED[case.kind], failure["message"]), failure
        case "stop-host" | "stop-trial" | "stop-worker":
            assert outcome["status"] == failure["kind"] == "hung", failure
            assert failure["signal"] == "SIGSTOP", failure
            assert re.match(STOPPED[case.kind], failure["message"]), failure
        case "exit":
            assert (failure["exit_code"], outcome["status"]) == (3, "crashed"), failure
        case "segfault":
            assert failure["signal"] == "SIGSEGV", failure
        case "raise":
            assert failure["kind"] == "worker_exception", failure
            assert failure["exception"] == "CodecError"
        case "allocate":
            assert outcome["status"] == failure["kind"] == "out_of_memory", failure
        case _:
            assert case.kind == "close"
            assert failure["kind"] in {"crashed", "worker_exception"}, failure


def check_that_it_goes_on(case: Injection, bench: Bench) -> None:
    """Check that the same command comes to an end, with all that was done before."""
    breaking.damage(bench, case.damage)
    (bench.seen / "ballast").unlink(missing_ok=True)
    before, count = bench.lines(), len(bench.outcomes())

    with bench.start() as run:
        code = run.finish()

        run.check_end(code)
    assert code in DONE, run.said
    if (case.phase == "writing" or case.kind == "allocate") and bench.put_aside():
        assert bench.put_aside().startswith(before)  # all had been done, or in vain
    else:
        assert bench.lines().startswith(before)
        words = f"going on with the study: {count} trials are done"
        assert words in run.said or not count
    configs = [str(item["config"]) for item in bench.outcomes().values()]
    assert len(configs) == len(set(configs)) == 2
    found = yaml.safe_load((bench.seen / "autoloader.yaml").read_text())
    assert found["dataloader"]["batch_size"] == 8

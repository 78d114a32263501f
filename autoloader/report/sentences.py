"""What is said of a result, sentence by sentence, without a full stop.

Pure: a result in, words out. Which sentence stands where is decided by those who show
them.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from autoloader.search.passed_over import in_words
from autoloader.units import (
    counted,
    format_bytes,
    format_rate,
    format_seconds,
    in_number,
)
from autoloader.values.outcome import Status
from autoloader.values.target import CONFIDENCE, INDIFFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from autoloader.search.exploration import Stop
    from autoloader.search.race import StopReason
    from autoloader.tune_values import TuneResult
    from autoloader.values.config import LoaderConfig
    from autoloader.values.machine import Machine
    from autoloader.values.outcome import Outcome

FATES: Mapping[Status, str] = {
    Status.MEASURED: "measured",
    Status.REFUSED: "refused",
    Status.CRASHED: "crashed",
    Status.HUNG: "hung",
    Status.OUT_OF_MEMORY: "out of memory",
    Status.UNSUPPORTED: "unsupported",
}
"""Each fate of a trial in words, in the order in which they are counted."""

WHY_RACE_STOPPED: Mapping[StopReason, str] = {
    "settled": "the choice was settled",
    "deadline": "the time for it was up",
    "all_rounds": "all its rounds were run",
    "nothing_left": "every config had failed",
}

WHY_SEARCH_STOPPED: Mapping[Stop, str] = {
    "budget": "its time was up",
    "trials": "--trials was reached",
    "settled": "further trials would not change the choice",
    "space_exhausted": "every config was tried",
    "nothing_works": "the last six trials could not be measured",
}


def verdict(result: TuneResult) -> str:
    """Return whether the target is met, by what, and why."""
    choice = result.result.choice
    return verdict_words(choice.state, choice.config, choice.reason)


def verdict_words(state: str, config: LoaderConfig | None, reason: str) -> str:
    """Return whether the target is met, by what, and why.

    Args:
        state: of the choice.
        config: what was chosen; None: nothing was.
        reason: of the choice.
    """
    if config is not None:
        return f"target met: {config.describe()} is {reason}"
    known = "undecided" if state == "undecided" else "target not met"
    return f"{known}: {reason}"


def bound(result: TuneResult) -> str | None:
    """Return what the chosen config delivers at least; None where none is chosen."""
    chosen, standings = result.result.choice.config, result.result.standings
    if chosen is None or standings is None or standings.target.is_of_step:
        return None  # what was judged is a loop then, and told with the step
    at_least, target = standings[chosen].at_least, standings.target
    if at_least is None:
        return None
    return bound_words(
        at_least,
        examples_per_s=target.examples_per_s,
        share_of_best=target.share_of_best,
    )


def bound_words(
    at_least: float, *, examples_per_s: float | None, share_of_best: float | None
) -> str:
    """Return what a config delivers at least.

    Args:
        at_least: share of what is wanted.
        examples_per_s: what is wanted, where it is no share.
        share_of_best: the share of the fastest that is wanted; None: a rate is.
    """
    if share_of_best is None:
        least = f"{format_rate(at_least * (examples_per_s or 0.0))} examples/s"
    else:
        least = f"{min(at_least * share_of_best, 1.0) * 100:.1f} % of the fastest"
    said = f"at least {least}, with {CONFIDENCE * 100:g} % confidence"
    if at_least < 1:
        said += f"; down to {INDIFFERENCE * 100:g} % below the target counts as met"
    return said


def verification(result: TuneResult) -> str:
    """Return how many examples were compared, and what was the same."""
    choice, facts = result.result.choice, result.reference.facts
    stream = result.reference.scope.stream
    subject = choice.config or choice.best
    passed = None if subject is None else result.result.verified.get(subject)
    if passed is None:
        return "no config passed the whole verification"
    said = compared(
        examples=passed.examples,
        of=passed.of,
        epochs=passed.epochs,
        label=facts.label,
        random_fields=facts.random_fields,
        is_comparable=stream is None or stream.can_be_compared,
    )
    return said if choice.config is not None else f"of the fastest config, {said}"


def verification_words(section: Mapping[str, Any] | None, *, is_chosen: bool) -> str:
    """Return the same of the section `verified` of a recommendation.

    Args:
        section: None where no config passed.
        is_chosen: whether it is of a config that was chosen; else of the fastest.
    """
    if section is None:
        return "no config passed the whole verification"
    said = compared(
        examples=section["examples"],
        of=section["of"],
        epochs=section["epochs"],
        label=section["label"],
        random_fields=section["random_fields"],
        is_comparable=section["ids"] == "same",
    )
    return said if is_chosen else f"of the fastest config, {said}"


def compared(
    *,
    examples: int,
    of: int | None,
    epochs: int,
    label: str | None,
    random_fields: Iterable[str],
    is_comparable: bool = True,
) -> str:
    """Return what a passed verdict compared, and what it could not compare.

    Args:
        examples: compared in each epoch.
        of: examples of a whole epoch; None: a stream whose end was not read.
        epochs: that were compared.
        label: path of the label; None where none is known.
        random_fields: paths of the fields that every reading makes anew.
        is_comparable: whether the content of two passes can be compared.
    """
    passes = counted(epochs, "epoch")
    same = "ids and labels the same" if label is not None else "ids the same"
    extent = (
        f"the first {examples:,} examples of a stream"
        if of is None
        else f"{examples:,} of {of:,} examples"
    )
    if not is_comparable:
        return (
            f"{extent}, {passes}: none twice; its order changes, content not compared"
        )
    said = f"{extent}, {passes}: {same}"
    if label is None:
        said += "; no label is known (--label)"
    names = [name or "(the example)" for name in random_fields]
    if names:
        noun = in_number(len(names), "field")
        verb = in_number(len(names), "is", "are")
        said += f"; {noun} {', '.join(names)} {verb} random: values not compared"
    return said


def trials(counts: Mapping[str, int]) -> str:
    """Return how many trials there were, by fate."""
    total = sum(counts.values())
    fates = [f"{count} {FATES[Status(fate)]}" for fate, count in counts.items()]
    return f"{counted(total, 'trial')}: {', '.join(fates)}"


def counts_of(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """Return the number of trials of each fate that there was, in a fixed order."""
    found = Counter(outcome.status for outcome in outcomes)
    return {status.value: found[status] for status in FATES if found[status]}


def search(result: TuneResult) -> str:
    """Return what the search did and why it ended."""
    return search_words(
        counts_of(result.outcomes),
        result.stopped_search,
        is_passed_over=bool(result.passed_over),
    )


def search_words(
    counts: Mapping[str, int], stopped: Stop, *, is_passed_over: bool
) -> str:
    """Return what a search did and why it ended.

    Args:
        counts: number of trials by fate.
        stopped: why it ended.
        is_passed_over: whether configs were left out because of what came of others.
    """
    why = WHY_SEARCH_STOPPED[stopped]
    if is_passed_over and stopped == "space_exhausted":
        why = "no other config was left"
    return f"{trials(counts)}; {why}"


def untried(result: TuneResult) -> str | None:
    """Return what was passed over, and why; None where nothing was."""
    return in_words(result.passed_over)


def race(result: TuneResult) -> str | None:
    """Return how the race went; None where there was none."""
    found = result.result.race
    if found is None or not found.rounds:
        return None
    return race_words(
        rounds=len(found.rounds),
        configs=len({config for round_ in found.rounds for config in round_}),
        stopped=found.stopped_because,
        dropped=len(found.dropped),
    )


def race_words(
    *, rounds: int, configs: int, stopped: StopReason | None, dropped: int
) -> str:
    """Return how a race went.

    Args:
        rounds: that were run.
        configs: that ran in any of them.
        stopped: why it ended; None: it is not known, or has not.
        dropped: configs that left it by a failed pass.
    """
    said = f"{counted(rounds, 'round')} of {counted(configs, 'config')}"
    if stopped is not None:
        said += f"; {WHY_RACE_STOPPED[stopped]}"
    if dropped:
        said += f"; {dropped} left it by a failed pass"
    return said


def file(result: TuneResult) -> str:
    """Return what was written, or why nothing was."""
    if result.written is None:
        return (
            "nothing was written, and an older file stays as it was; "
            "--best-effort writes the fastest config, marked as not met"
        )
    if result.state == "met":
        return str(result.written)
    return f"{result.written}, with the fastest config, marked as not met"


def next_step(result: TuneResult) -> str | None:
    """Return what to do now; None where nothing is left but to think.

    Flags that were given are not known here, so none is repeated.
    """
    match result.state:
        case "met":
            return loading_line(str(result.written))
        case "undecided" if result.is_exhaustive:
            minutes = math.ceil(2 * result.budget_s / 60)
            return (
                "the same command without --exhaustive and with "
                f"--budget {minutes}m: a longer race"
            )
        case "undecided":
            minutes = math.ceil(2 * _spent_s(result) / 60)
            return f"the same command with twice the time: --budget {minutes}m"
        case "not_met":
            standings = result.result.standings
            if standings is None or standings.target.examples_per_s is None:
                return None
            return "the same command with --target 95%: the simplest near the fastest"


def pointer(result: TuneResult) -> str | None:
    """Return how to find out what a training takes; None where that was told."""
    found = result.recommendation.data if result.recommendation is not None else {}
    standings = result.result.standings
    is_share = standings is not None and standings.target.share_of_best is not None
    if not is_share or found.get("step") is not None:
        return None
    return "autoloader.watch(loader) in a training prints the --target it needs"


def loading_line(path: str) -> str:
    """Return the line of a training script that uses a recommendation."""
    return f'loader = autoloader.load("{path}").dataloader(dataset)'


def _spent_s(result: TuneResult) -> float:
    """Return the seconds that the study took, earlier runs of it included."""
    found = result.recommendation.data if result.recommendation is not None else {}
    spent_s: float = found.get("study", {}).get("seconds", result.seconds)
    return spent_s


def resources(machine: Machine) -> str:
    """Return what a machine offers, in a few words."""
    cpus = f"{machine.effective_cpus:g} {in_number(machine.effective_cpus, 'CPU')}"
    memory = f"{format_bytes(machine.memory_limit_bytes)} of memory"
    return f"{cpus}, {memory}, {accelerators(machine)}"


def accelerators(machine: Machine) -> str:
    """Return the accelerators of a machine, equal ones counted."""
    counts = Counter(device.name for device in machine.accelerators)
    names = [
        name if count == 1 else f"{count} x {name}" for name, count in counts.items()
    ]
    return " + ".join(names) or "no accelerator"


def duration(result: TuneResult) -> str:
    """Return how long this run took."""
    return format_seconds(result.seconds)

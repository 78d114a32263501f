"""`autoloader tune`: search, choose, write the recommendation, report."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.commands import arguments
from autoloader.commands.output import write_json
from autoloader.commands.places import place_for
from autoloader.commands.ranks import add_ranks, ranks_of
from autoloader.commands.repeating import request_section
from autoloader.commands.surroundings import check_surroundings
from autoloader.commands.turns import add_wait, turn
from autoloader.errors import UsageError
from autoloader.units import parse_bytes, parse_duration

if TYPE_CHECKING:
    import argparse

    from autoloader.tune_values import TuneRequest, TuneResult
    from autoloader.values.fleet import Storage
    from autoloader.values.machine import Machine
    from autoloader.values.scope import SourceSpec

_EXIT = {"met": 0, "not_met": 4, "undecided": 6}

NAME = "tune"


def add_parser(commands: Any) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        NAME,
        help="find the simplest settings that meet a target, and write them",
        description="Find the simplest DataLoader settings that meet a target; write "
        "them as YAML with their evidence.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "study", nargs="?", metavar="STUDY", help="study.yaml with these flags as keys"
    )
    arguments.add_dataset(parser, required=False)
    target = parser.add_argument_group("target")
    target.add_argument(
        "--target",
        default="95%",
        metavar="RATE|SHARE|step",
        help="examples a second of the whole machine (2000), a share of the fastest "
        "config (95%%, the default), or what keeps --step fed (step)",
    )
    arguments.add_step(target)
    target.add_argument(
        "--memory",
        metavar="SIZE",
        help="for all processes; default: 80 %% of what is left",
    )
    space = parser.add_argument_group("space")
    space.add_argument(
        "--batch-size", metavar="LIST", help="64 fixes it; 32,64,128 searches"
    )
    space.add_argument("--num-workers", metavar="RANGE", help="0:16, or one number")
    space.add_argument("--prefetch-factor", metavar="LIST", help="default: 2,4")
    space.add_argument("--pin-memory", choices=list(arguments.YES_NO))
    space.add_argument("--persistent-workers", choices=list(arguments.YES_NO))
    add_ranks(space)
    arguments.add_scope(parser)
    effort = parser.add_argument_group("effort")
    effort.add_argument("--budget", default="3m", metavar="TIME", help="default: 3m")
    trials = effort.add_mutually_exclusive_group()
    trials.add_argument(
        "--trials",
        metavar="N",
        help="most trials, in a fleet those of all machines; default: by the budget",
    )
    trials.add_argument(
        "--exhaustive",
        action="store_true",
        help="try every setting, however long it takes; race and verification have "
        "half of --budget afterwards",
    )
    effort.add_argument(
        "--verify", metavar="N|all", help="examples of the final verification"
    )
    arguments.add_isolation(effort)
    add_wait(effort)
    resume = effort.add_mutually_exclusive_group()
    resume.add_argument(
        "--resume",
        action="store_true",
        help="go on with an interrupted study (default)",
    )
    resume.add_argument("--fresh", action="store_true", help="begin anew")
    effort.add_argument(
        "--storage",
        metavar="URL|FILE|env:NAME",
        help="share the search with other machines of this kind: "
        "postgresql+psycopg://USER@HOST/DATABASE, or FOLDER/NAME.journal; env:NAME "
        "reads it from a variable, with a password where it has one",
    )
    arguments.add_output(parser)
    parser.add_argument(
        "--out",
        default="autoloader.yaml",
        metavar="FILE|FOLDER/",
        help="default: autoloader.yaml; in a folder each kind of hardware has a file "
        "of its own",
    )
    parser.add_argument(
        "--best-effort",
        action="store_true",
        help="write the best config even if it does not meet the target",
    )
    parser.set_defaults(run=run, parser=parser)


def run(args: argparse.Namespace) -> int:
    """Tune, print the result, return the exit code."""
    check_surroundings(weighs=True)
    args = _with_study_file(args)
    request = request_of(args, arguments.source_of(args))
    check_request(request)

    from autoloader.report.console import print_report  # rich
    from autoloader.report.data import TuneReport

    result = result_of(args, request)
    report = TuneReport.of(result)
    if args.json:
        write_json(report.to_dict())
    else:
        print_report(report, sys.stdout)
    return _EXIT[result.state]


def result_of(args: argparse.Namespace, request: dict[str, Any]) -> TuneResult:
    """Tune as was asked for, told on stderr, and return what came of it.

    Args:
        args: flags that are no part of the request.
        request: as `request_of` returns it.
    """
    from autoloader.report.console import view_for  # rich
    from autoloader.tuning import tune  # optuna

    with turn("tune", args):
        whole, machine = whole_request(args, request)
        view = view_for(
            sys.stderr,
            quiet=args.quiet or args.json,
            dataset=whole.source.spec,
            target=whole.target,
            machine=machine,
        )
        with view as watcher:
            for message, hint in _cautions(machine, args):
                watcher.on_caution(message, hint)
            return tune(whole, machine, watcher)


def whole_request(
    args: argparse.Namespace, request: dict[str, Any]
) -> tuple[TuneRequest, Machine]:
    """Return the request with what this machine leaves, and the machine.

    Args:
        args: of `tune`.
        request: what `request_of` found in them.
    """
    from autoloader.measure.machine import read_machine  # psutil
    from autoloader.tune_values import TuneRequest
    from autoloader.values.target import MEMORY_SHARE, Target

    machine, found = read_machine(), dict(request)
    asked = found.pop("memory_bytes")
    memory = asked or int(MEMORY_SHARE * machine.memory_available_bytes)
    target = Target.parse(found.pop("target"), memory_bytes=memory)
    source = found["source"]
    # what is live is nothing that a later night could ask for
    section = None if source.is_live else request_section(args, source, found["out"])
    whole = TuneRequest(
        target=target, is_memory_asked=asked is not None, section=section, **found
    )
    return whole, machine


def _with_study_file(args: argparse.Namespace) -> argparse.Namespace:
    """Return the arguments with those of the study file underneath."""
    parser: argparse.ArgumentParser = args.parser
    if args.study is None:
        if args.dataset is None:
            msg = "tune needs --dataset SPEC or a study file"
            raise UsageError(
                msg, hint="autoloader tune --dataset mypackage.data:train_set"
            )
        return args
    from autoloader.commands.study_file import flags_of

    flags = flags_of(Path(args.study), parser, _checked)
    found = parser.parse_args([*flags, *args.given])
    if found.dataset is None:
        msg = f"the study file {args.study} names no dataset"
        raise UsageError(msg, hint="dataset: path/file.py:attribute")
    return found


def _checked(args: argparse.Namespace) -> None:
    """Check what the flags of a study file say, by themselves."""
    request_of(args, arguments.source_of(args))


def request_of(args: argparse.Namespace, source: SourceSpec) -> dict[str, Any]:
    """Return the request's values; everything that text alone can tell is checked.

    Args:
        args: the flags.
        source: the dataset.
    """
    from autoloader.search.space import SpaceRequest
    from autoloader.values.target import Target

    step = arguments.step_of(args, source)
    Target.parse(args.target)
    verify = arguments.count_or_all("--verify", args.verify)
    scope = arguments.scope_of(args, source)
    if verify == "all" and scope.examples is None:
        scope = replace(scope, examples="all")
    return {
        "source": source,
        "step": step,
        "target": args.target,
        "memory_bytes": parse_bytes(args.memory) if args.memory else None,
        "out": place_for(args.out),
        "scope": scope,
        "space": SpaceRequest(
            num_workers=arguments.count_range("--num-workers", args.num_workers),
            prefetch_factor=arguments.count_list(
                "--prefetch-factor", args.prefetch_factor
            ),
            pin_memory=arguments.YES_NO.get(args.pin_memory),
            persistent_workers=arguments.YES_NO.get(args.persistent_workers),
            batch_size=arguments.count_list("--batch-size", args.batch_size),
        ),
        "budget_s": parse_duration(args.budget),
        "most_trials": arguments.count("--trials", args.trials),
        "is_exhaustive": args.exhaustive,
        "verify": sys.maxsize if verify == "all" else verify,
        "isolation": args.isolation,
        "ranks": ranks_of(args),
        "is_fresh": args.fresh,
        "is_best_effort": args.best_effort,
        "policy": arguments.policy_of(args),
        "storage": _storage_of(args),
    }


def _storage_of(args: argparse.Namespace) -> Storage | None:
    """Return what a fleet shares; None: this machine works alone.

    Raises:
        UsageError: there is no such storage, or the study is to begin anew, which it
            would for this machine alone.
    """
    from autoloader.values.fleet import Storage

    if args.storage is None:
        return None
    if args.fresh:
        msg = "--fresh begins a study of this machine, and a fleet shares --storage"
        hint = (
            "another --seed begins another study for all; `optuna delete-study` "
            "removes one"
        )
        raise UsageError(msg, hint=hint)
    return Storage.parse(args.storage, os.environ)


def check_request(request: dict[str, Any]) -> None:
    """Check what flags and study file say together, and where the result would go.

    Raises:
        UsageError: a step is to be kept fed, and there is none; or no file can be
            written there.
    """
    from autoloader.files import check_writable

    check_step_is_there(request)
    check_writable(request["out"])


def check_step_is_there(request: dict[str, Any]) -> None:
    """Check what flags and study file say together.

    Raises:
        UsageError: a step is to be kept fed, and there is none.
    """
    from autoloader.values.target import Target

    if request["step"] is None and Target.parse(request["target"]).is_of_step:
        msg = "--target step needs the training step, and there is no --step"
        raise UsageError(msg, hint="--step train.py:step, called with each batch")


def _cautions(machine: Any, args: argparse.Namespace) -> list[tuple[str, str | None]]:
    count = len(machine.accelerators)
    if count > 1 and args.ranks == "1":
        return [
            (
                f"{count} accelerators are here and --ranks is not given: one training "
                "process is assumed to have all CPUs",
                f"for one process an accelerator add --ranks {count}",
            )
        ]
    return []

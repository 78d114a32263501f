"""Flags that several commands share, and how they become values.

Reads text only: nothing is imported, opened or started for a flag.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.errors import UsageError, did_you_mean
from autoloader.units import parse_duration
from autoloader.values.config import MOST
from autoloader.values.decode import shown
from autoloader.values.scope import ScopeRequest, SourceSpec, UnitSpec

if TYPE_CHECKING:
    import argparse

    from autoloader.values.gate import GatePolicy

YES_NO = {
    "yes": (True,),
    "no": (False,),
    "search": (False, True),
}


COUNTED_ANYWAY = frozenset({"bytes", "examples"})
"""Units that no function has to count."""


MOST_WORKERS = 4096
"""Most workers that are searched: all of their configs are listed."""

SEEDS = 2**62
"""Seeds lie below: what is added to one must fit PyTorch's generators as well."""


def add_dataset(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add the flags that name the dataset."""
    parser.add_argument(
        "--dataset",
        metavar="SPEC",
        required=required,
        help="module:attribute or path/file.py:attribute; a Dataset, a DataLoader, or "
        "a function giving one",
    )
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="argument of that function; may be repeated",
    )


def add_configs(
    parser: argparse.ArgumentParser, *, config: str, batch_size: str | None = None
) -> None:
    """Add the flags of a command that runs given configs on a dataset.

    Args:
        parser: of the command.
        config: what is said of `--config`, beside its form.
        batch_size: what is said of `--batch-size`; None: it speaks for itself.
    """
    add_dataset(parser, required=True)
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="CONFIG",
        help=f"num_workers=4,prefetch_factor=2{config}",
    )
    parser.add_argument("--batch-size", metavar="N", help=batch_size)


def add_isolation(group: argparse._ActionsContainer) -> None:
    """Add the flag that says how processes are made."""
    group.add_argument(
        "--isolation",
        choices=["auto", "fork", "fresh"],
        default="auto",
        help="how processes of trials are made",
    )


def add_scope(parser: argparse.ArgumentParser, *, is_timed: bool = True) -> None:
    """Add the flags of the scope.

    Args:
        parser: of a command.
        is_timed: whether the command tells rates, so that the page cache matters, and
            what they are counted in.
    """
    group = parser.add_argument_group("scope")
    group.add_argument(
        "--examples", metavar="N|all", help="examples that reference and trials share"
    )
    group.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    group.add_argument(
        "--order",
        choices=["shuffled", "as-is"],
        help="default: a Dataset is shuffled, a DataLoader keeps its sampler",
    )
    group.add_argument(
        "--transforms",
        choices=["auto", "fixed", "random"],
        default="auto",
        help="fixed: a field that changes between readings is a fault",
    )
    group.add_argument(
        "--start-method",
        choices=["fork", "forkserver", "spawn"],
        help="how workers are started; default: the loader's own, else Python's",
    )
    group.add_argument(
        "--label", metavar="PATH", help="where the label is in an example"
    )
    group.add_argument(
        "--id", metavar="PATH", help="where a stream's id is in an example"
    )
    group.add_argument(
        "--contract",
        metavar="FILE",
        help="what every example must be; `check --write-contract FILE` writes one",
    )
    group.add_argument(
        "--on-epoch",
        metavar="SPEC",
        help="module:function or file.py:function, called with dataset and epoch "
        "before each epoch, as your training does; set_epoch is called anyway",
    )
    group.add_argument(
        "--epoch-examples",
        metavar="N",
        help="length of a real epoch, where it is not len()",
    )
    if is_timed:
        _add_timed_scope(group)


def _add_timed_scope(group: argparse._ArgumentGroup) -> None:
    """Add the flags of the scope that say something of rates only."""
    group.add_argument(
        "--cache",
        choices=["warm", "cold"],
        help="state of the page cache at each timed pass; cold drops the files that "
        "the dataset reads; default: warm, cold where they are larger than the memory",
    )
    group.add_argument(
        "--unit",
        action="append",
        default=[],
        metavar="NAME=SPEC",
        help="count this as well: tokens=module:function or tokens=file.py:function, "
        "called with one example; may be repeated",
    )


def add_step(group: argparse._ActionsContainer) -> None:
    """Add the flag that names the training step."""
    group.add_argument(
        "--step",
        metavar="SPEC",
        help="training step: module:function or file.py:function, called with each "
        "batch; or a class, made once, whose object is; loops with it are timed too",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the gate's strictness and of the output."""
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="one object on stdout")
    group.add_argument("--quiet", action="store_true", help="no progress")
    group.add_argument("--strict", action="store_true", help="cautions refuse as well")
    group.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="CODE",
        help="take this finding as a caution; may be repeated",
    )
    group.add_argument(
        "--hang-after",
        metavar="TIME",
        help="without progress for so long a loader counts as hung; default: 30s, "
        "longer where examples are slow",
    )


def source_of(args: argparse.Namespace) -> SourceSpec:
    """Return the SPEC and its arguments; what can be seen without torch is checked.

    Raises:
        UsageError: the SPEC has no attribute, its file or module does not exist, or an
            `--arg` has no value.
    """
    check_spec("--dataset", args.dataset)
    arguments = tuple(_argument(text) for text in args.arg)
    return SourceSpec(spec=args.dataset, arguments=arguments)


def step_of(args: argparse.Namespace, source: SourceSpec) -> str | None:
    """Return the SPEC of the training step, or the name of a live one; else None.

    Raises:
        UsageError: it has no attribute, or its file or module does not exist.
    """
    if args.step is not None and source.function("--step") is None:
        check_spec("--step", args.step)
    spec: str | None = args.step
    return spec


def check_spec(flag: str, spec: str) -> None:
    """Check a SPEC as far as that can be done without importing anything.

    Raises:
        UsageError: it has no attribute, or its file or module does not exist.
    """
    module, colon, attribute = spec.rpartition(":")
    if not colon or not module or not attribute:
        msg = f"{flag} needs module:attribute or path/file.py:attribute, got {spec!r}"
        raise UsageError(msg, hint=f"for example {flag} mypackage.data:train_set")
    if module.endswith(".py"):
        _check_file(Path(module))
    else:
        _check_module(flag, module)


def _check_file(path: Path) -> None:
    siblings: list[str] = []
    with contextlib.suppress(OSError):  # a name that is too long, say
        if path.is_file():
            return
        siblings = [item.name for item in path.parent.glob("*.py")]
    msg = f"there is no file {path}"
    raise UsageError(msg, hint=did_you_mean(path.name, siblings))


def _check_module(flag: str, name: str) -> None:
    """Check that the package exists, without importing anything of it."""
    top = name.partition(".")[0]
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = importlib.util.find_spec(top) is not None
    except (ValueError, ImportError):
        found = top in sys.modules
    if not found:
        known = [item.stem for item in Path.cwd().glob("*.py")]
        known += [item.name for item in Path.cwd().iterdir() if item.is_dir()]
        msg = f"there is no module {top!r} for {flag} {name}"
        hint = did_you_mean(top, known) or f"modules are looked for in {here}"
        raise UsageError(msg, hint=hint)


def _argument(text: str) -> tuple[str, Any]:
    from autoloader.export.plain_yaml import plain_yaml  # yaml, only where needed

    key, equals, value = text.partition("=")
    if not equals or not key.isidentifier():
        msg = f"--arg needs key=value, got {text!r}"
        raise UsageError(msg, hint="for example --arg root=/data/train")
    try:
        found = plain_yaml(value, called=f"--arg {key}")
        json.dumps(found, allow_nan=False)
    except (TypeError, ValueError):  # a date, say, or no YAML: it stays text
        return key, value
    return key, found


def scope_of(
    args: argparse.Namespace, source: SourceSpec | None = None
) -> ScopeRequest:
    """Return how the scope is to be drawn; the source tells which functions are live.

    Raises:
        UsageError: a count is no number of at least 1, a SPEC names nothing, a unit is
            none, or there is no contract.
        StoredFileError: the contract cannot be used.
    """
    from autoloader.export.contract_file import read_contract  # yaml

    if args.on_epoch is not None:
        check_spec("--on-epoch", args.on_epoch)
    units = tuple(_unit(text, source) for text in getattr(args, "unit", ()))
    for place, unit in enumerate(units):
        if unit.name in {earlier.name for earlier in units[:place]}:
            msg = f"--unit {unit.name} is given twice; a unit has one function"
            raise UsageError(msg)
    if abs(args.seed) >= SEEDS:
        msg = f"--seed must be below {SEEDS}, got {shown(args.seed)}"
        raise UsageError(msg)
    return ScopeRequest(
        contract=None if args.contract is None else read_contract(Path(args.contract)),
        on_epoch=args.on_epoch,
        examples=count_or_all("--examples", args.examples),
        seed=args.seed,
        order=args.order,
        transforms=args.transforms,
        label=args.label,
        id=args.id,
        start_method=args.start_method,
        epoch_examples=count("--epoch-examples", args.epoch_examples),
        cache=getattr(args, "cache", None),
        units=units,
    )


def _unit(text: str, source: SourceSpec | None) -> UnitSpec:
    """Return the unit that `tokens=module:function` names.

    Raises:
        UsageError: the name is none, or taken, or the SPEC names nothing.
    """
    name, equals, spec = text.partition("=")
    if not equals or not name.isidentifier():
        msg = f"--unit needs name=module:function, got {text!r}"
        raise UsageError(msg, hint="for example --unit tokens=mypackage.data:count")
    if name in COUNTED_ANYWAY:
        msg = f"--unit {name} is counted anyway; another name is needed"
        raise UsageError(msg, hint="for example --unit tokens=mypackage.data:count")
    if source is None or source.function(f"--unit {name}") is None:
        check_spec(f"--unit {name}", spec)
    return UnitSpec(name=name, spec=spec)


def count(flag: str, text: str | None, least: int = 1) -> int | None:
    """Return a flag's whole number; None where the flag was not given."""
    return None if text is None else _number(flag, text, least)


def _number(flag: str, text: str, least: int, most: int = sys.maxsize) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        msg = f"{flag} must be a whole number of at least {least}, got {shown(text)}"
        raise UsageError(msg)
    if number > most:
        msg = f"{flag} must be at most {most}, got {shown(text)}"
        raise UsageError(msg)
    return number


def count_or_all(flag: str, text: str | None) -> Any:
    """Return a flag's whole number or `all`; None where the flag was not given."""
    return "all" if text == "all" else count(flag, text)


def count_list(flag: str, text: str | None) -> tuple[int, ...] | None:
    """Return a flag's whole numbers, each once; None where the flag was not given."""
    if text is None:
        return None
    return tuple(
        dict.fromkeys(_number(flag, part, 1, MOST) for part in text.split(","))
    )


def count_range(flag: str, text: str | None) -> tuple[int, int] | None:
    """Return the range that `4` or `0:16` means; None where the flag was not given."""
    if text is None:
        return None
    low, colon, high = text.partition(":")
    first = _number(flag, low, 0, MOST_WORKERS)
    last = _number(flag, high, 0, MOST_WORKERS) if colon else first
    if last < first:
        msg = f"{flag} must go upwards, got {shown(text)}"
        raise UsageError(msg, hint=f"{flag} {last}:{first}")
    return first, last


def policy_of(args: argparse.Namespace) -> GatePolicy:
    """Return what refuses a config.

    Raises:
        UsageError: there is no such code, or `--hang-after` is no time.
    """
    from autoloader.values.gate import CODES, GatePolicy

    for code in args.allow:
        if code not in CODES:
            msg = f"--allow {code} is no finding code"
            hint = did_you_mean(code, CODES) or f"codes are {', '.join(CODES)}"
            raise UsageError(msg, hint=hint)
    after = args.hang_after
    return GatePolicy(
        allowed=tuple(sorted(set(args.allow))),
        is_strict=args.strict,
        hang_after_s=None if after is None else parse_duration(after),
    )

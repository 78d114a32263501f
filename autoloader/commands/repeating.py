"""How a tune is asked for again: its flags, as the file `autoloader.yaml` keeps them.

Under the names that a study file has, so that both are read by the same rules. Where
things are written and how they are shown is no part of it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.errors import StoredFileError, UsageError
from autoloader.values.passwords import LEFT_OUT, as_kept

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from autoloader.values.scope import SourceSpec

_ALWAYS = frozenset({"--target", "--budget"})
"""Kept where they are the default as well, which another version may have changed."""

_LEFT_OUT = frozenset(
    {
        "--help", "--dataset", "--arg", "--out", "--json", "--quiet", "--wait",
        "--resume", "--fresh", "--storage",
    }
)  # fmt: skip
"""What says nothing of the study, or is kept otherwise."""


def request_section(
    args: argparse.Namespace, source: SourceSpec, out: Path
) -> dict[str, Any]:
    """Return the section `request` of a recommendation.

    Paths in it are as they were given; `folder` leads from the file's own folder to the
    one that they are relative to. Passwords in arguments are left out.

    Args:
        args: of `tune`, those of a study file among them.
        source: the dataset and its arguments.
        out: where the recommendation goes.
    """
    flags: dict[str, Any] = {"dataset": source.spec}
    if source.arguments:
        flags["arg"] = dict(as_kept(source).arguments)
    for action in args.parser._actions:  # argparse has no public list
        name = next((item for item in action.option_strings if item[:2] == "--"), None)
        if name is None or name in _LEFT_OUT:
            continue
        value = getattr(args, action.dest)
        if name in _ALWAYS or value != action.default:
            flags[name.removeprefix("--")] = value
    folder = os.path.relpath(Path.cwd(), out.resolve().parent)
    return {"folder": folder, "flags": flags}


def flags_again(
    kept: Mapping[str, Any],
    parser: argparse.ArgumentParser,
    *,
    path: Path,
    given: Sequence[str],
) -> list[str]:
    """Return the command line of `tune` that asks for the same study.

    Args:
        kept: the flags of a file.
        parser: of `tune`.
        path: the file.
        given: arguments of the dataset as `key=value`, in the place of those kept.

    Raises:
        StoredFileError: a flag is none, or cannot have this value; a password is left
            out, and not given.
    """
    from autoloader.commands.study_file import flags_in

    named = [text.partition("=")[0] for text in given]
    arguments = kept.get("arg")
    left = dict(arguments) if isinstance(arguments, dict) else {}
    for name in named:
        left.pop(name, None)
    secret = next((name for name, value in left.items() if _has_secret(value)), None)
    if secret is not None:
        msg = f"{path} holds --arg {secret} without its password"
        hint = (
            f"--arg {secret}=VALUE gives it again; better, let the function read it "
            "from an environment variable: os.environ"
        )
        raise StoredFileError(msg, hint=hint)
    flags = {**kept, "arg": left} if isinstance(arguments, dict) else dict(kept)
    try:
        found = flags_in(flags, parser, path=path, beside=Path(), called="it")
    except UsageError as exc:
        msg = f"{path}: request.flags: {exc.message}"
        raise StoredFileError(msg, hint=exc.hint) from exc
    return [*found, *(f"--arg={text}" for text in given)]


def _has_secret(value: object) -> bool:
    """Whether a password was left out of a value, or of one within it."""
    if isinstance(value, dict):
        return any(map(_has_secret, value.values()))
    if isinstance(value, list):
        return any(map(_has_secret, value))
    return isinstance(value, str) and LEFT_OUT in value

"""Turn a SPEC into the user's dataset or loader, or say why it is none.

Runs in a child; a fault of the user's becomes an error with the way out. Nothing here
reads an example.
"""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset

from autoloader.errors import DatasetError, UsageError, did_you_mean
from autoloader.values.scope import SourceSpec


class TrainsOnImport(BaseException):
    """The user's module trains or loads data while it is imported."""


def load_source(source: SourceSpec) -> Any:
    """Return the Dataset or DataLoader that the SPEC names.

    Args:
        source: SPEC and arguments; relative paths are relative to the working folder.

    Raises:
        UsageError: the SPEC names nothing that can be a dataset.
        DatasetError: importing or constructing it raises.
    """
    module_name, _, attribute = source.spec.rpartition(":")
    module = _import(module_name)
    found = _attribute(module, module_name, attribute)
    if _needs_calling(found):
        found = _call(found, source)
    elif source.arguments:
        msg = f"{source.spec} is a {type(found).__name__} and takes no --arg"
        raise UsageError(msg)
    return _checked(found, source.spec)


def _import(name: str) -> ModuleType:
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        with _nothing_trains(name):
            if name.endswith(".py"):
                path = Path(name).resolve()
                sys.path.insert(0, str(path.parent))
                return _import_file(path)
            return importlib.import_module(name)
    except ModuleNotFoundError as exc:
        if exc.name is not None and (
            name == exc.name or name.startswith(f"{exc.name}.")
        ):
            msg = f"no module named {exc.name!r} for --dataset {name}"
            raise UsageError(msg, hint=_module_hint(exc.name)) from exc
        msg = f"{name} cannot be imported: {exc}"
        raise DatasetError(msg, hint=f"pip install what provides {exc.name!r}") from exc
    except SystemExit as exc:
        msg = f"{name} ends the program when it is imported (exit {exc.code})"
        raise UsageError(msg, hint=_GUARD) from exc
    except Exception as exc:
        msg = f"{name} cannot be imported: {type(exc).__name__}: {exc}"
        raise DatasetError(msg) from exc


def _import_file(path: Path) -> ModuleType:
    """Import a file under its own name, so that spawned workers find it too."""
    if path.stem in sys.modules or not path.stem.isidentifier():
        alias = f"autoloader_dataset_{path.stem}".replace("-", "_")
    else:
        alias = path.stem
    spec = importlib.util.spec_from_file_location(alias, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[alias] = module
    spec.loader.exec_module(module)
    return module


_GUARD = (
    'put what the script does under `if __name__ == "__main__":`, '
    "so that importing it only defines things"
)


@contextmanager
def _nothing_trains(name: str) -> Iterator[None]:
    """Stop a module that starts to train or to load data while it is imported."""

    def refuse(what: str) -> Any:
        def stop(*_args: Any, **_kwargs: Any) -> Any:
            raise TrainsOnImport(what)

        return stop

    iterate, backward = DataLoader.__iter__, torch.autograd.backward
    DataLoader.__iter__ = refuse("iterates a DataLoader")  # type: ignore[method-assign]
    torch.autograd.backward = refuse("calls backward()")
    try:
        yield
    except TrainsOnImport as exc:
        msg = f"{name} {exc} when it is imported"
        raise UsageError(msg, hint=_GUARD) from None
    finally:
        DataLoader.__iter__ = iterate  # type: ignore[method-assign]
        torch.autograd.backward = backward


def _module_hint(missing: str) -> str | None:
    folder = Path.cwd()
    known = [path.stem for path in folder.glob("*.py")]
    known += [path.parent.name for path in folder.glob("*/__init__.py")]
    known += list(sys.stdlib_module_names)
    return did_you_mean(missing, known) or (
        f"modules are looked for in {folder} and in the installed packages"
    )


def _attribute(module: ModuleType, module_name: str, dotted: str) -> Any:
    found: Any = module
    for part in dotted.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            names = [name for name in dir(found) if not name.startswith("_")]
            msg = f"{module_name} has no attribute {dotted!r}"
            hint = did_you_mean(part, names) or _datasets_of(module)
            raise UsageError(msg, hint=hint) from None
    return found


def _datasets_of(module: ModuleType) -> str | None:
    names = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
        and callable(value)
    ]
    return f"it defines {', '.join(sorted(names)[:8])}" if names else None


def _needs_calling(found: object) -> bool:
    if inspect.isclass(found):
        return True
    is_data = isinstance(found, (DataLoader, torch.utils.data.Dataset))
    has_data_methods = hasattr(found, "__getitem__") or hasattr(found, "__iter__")
    return callable(found) and not is_data and not has_data_methods


def _call(factory: Any, source: SourceSpec) -> Any:
    arguments = dict(source.arguments)
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):
        signature = None
    if signature is not None:
        _check_arguments(signature, arguments, source)
    try:
        with _nothing_trains(source.spec):
            return factory(**arguments)
    except UsageError:
        raise
    except Exception as exc:
        msg = f"{source.spec} cannot be constructed: {type(exc).__name__}: {exc}"
        raise DatasetError(msg) from exc


def _check_arguments(
    signature: inspect.Signature, arguments: dict[str, Any], source: SourceSpec
) -> None:
    named = {
        name: parameter
        for name, parameter in signature.parameters.items()
        if parameter.kind in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}
    }
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    for name in arguments:
        if name not in named and not takes_any:
            msg = f"{source.spec} takes no argument {name!r}"
            hint = did_you_mean(name, named) or f"it takes {', '.join(named) or 'none'}"
            raise UsageError(msg, hint=hint)
    missing = [
        name
        for name, parameter in named.items()
        if parameter.default is parameter.empty and name not in arguments
    ]
    if missing:
        msg = f"{source.spec} needs the argument {missing[0]!r}"
        hint = " ".join(f"--arg {name}=VALUE" for name in missing)
        raise UsageError(msg, hint=f"give it: {hint}")


def _checked(found: Any, spec: str) -> Any:
    """Return `found` where it can feed a DataLoader and is not empty."""
    dataset = found.dataset if isinstance(found, DataLoader) else found
    if isinstance(dataset, IterableDataset):
        return found
    plain_kinds = (str, bytes, dict, set, frozenset, ModuleType, type)
    is_map = hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")
    if isinstance(dataset, plain_kinds) or not is_map:
        msg = f"{spec} is a {type(dataset).__name__}, which is no dataset"
        hint = "a Dataset has __getitem__ and __len__, or is an IterableDataset; "
        raise UsageError(
            msg, hint=hint + "a DataLoader or a function giving one does too"
        )
    try:
        length = len(dataset)
    except Exception as exc:
        msg = f"len({spec}) raises {type(exc).__name__}: {exc}"
        raise DatasetError(msg) from exc
    if length == 0:
        msg = f"{spec} is empty: len() is 0"
        hint = "check the path or the split that it reads"
        raise UsageError(msg, hint=hint)
    return found

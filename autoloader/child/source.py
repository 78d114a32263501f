"""Turn a SPEC into the user's dataset or loader, or say why it is none.

Runs in a child; a fault of the user's becomes an error with the way out. Nothing here
reads an example.
"""

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

from autoloader.child.live import read_live, read_live_function
from autoloader.child.trainers import trained_with
from autoloader.errors import AutoloaderError, DatasetError, UsageError, did_you_mean
from autoloader.values.scope import LiveFunction, LiveObject, SourceSpec

_GUARD = (
    'put what the script does under `if __name__ == "__main__":`, '
    "so that importing it only defines things"
)


class TrainsOnImport(BaseException):
    """The user's module trains or loads data while it is imported."""


def load_source(
    source: SourceSpec, *, on_imported: Callable[[], None] | None = None
) -> Any:
    """Return the Dataset or DataLoader that the SPEC names.

    Args:
        source: SPEC and arguments; relative paths are relative to the working folder.
        on_imported: called between the import and the construction.

    Raises:
        UsageError: the SPEC names nothing that can be a dataset.
        DatasetError: importing or constructing it raises.
    """
    if source.live is not None:
        return _received(source.live, source, on_imported)
    module_name, _, attribute = source.spec.rpartition(":")
    is_relative = module_name.startswith(".") and not module_name.endswith(".py")
    if not module_name or not attribute or is_relative:
        msg = f"--dataset is module:attribute or file.py:attribute, got {source.spec!r}"
        raise UsageError(msg, hint="for example --dataset mypackage.data:train_set")
    module = _import(module_name)
    if on_imported is not None:
        on_imported()
    return _built(_attribute(module, module_name, attribute), source)


def _received(
    live: LiveObject, source: SourceSpec, on_imported: Callable[[], None] | None
) -> Any:
    """Return the dataset or loader that was handed over, or that what was gives."""
    spec = source.spec
    with _reported(spec, "handed over"), _nothing_trains(spec, may_load=True):
        found = read_live(live, on_imported=on_imported)
    return _built(found, source)


def _built(found: Any, source: SourceSpec) -> Any:
    """Return what a class or function gives, or what is there already, checked."""
    if _needs_calling(found):
        found = _call(found, source)
    elif source.arguments:
        msg = f"{source.spec} is {_kind_of(found)} and takes no --arg"
        raise UsageError(msg, hint="a class or a function takes arguments")
    return _checked(_trained_with(found, source.spec), source.spec)


def load_function(
    spec: str, *, flag: str, takes: str, given: LiveFunction | None = None
) -> Callable[..., object]:
    """Return the function that a flag names.

    Args:
        spec: `module:function` or `file.py:function`.
        flag: with which it was named, such as `--on-epoch`.
        takes: what it is called with, for the hint.
        given: the function itself, where the Python API was given it.

    Raises:
        UsageError: there is no such function.
        DatasetError: importing its module raises.
    """
    if given is not None and given.live is not None:
        with _reported(spec, "handed over"), _nothing_trains(spec, may_load=True):
            found = read_live_function(given.live)
    else:
        found = _named(spec, flag, takes)
    if not callable(found):
        msg = f"{flag} {spec} is {_kind_of(found)}, and a function is needed"
        raise UsageError(msg, hint=takes)
    return found  # type: ignore[no-any-return]  # callable() does not tell what of


def _named(spec: str, flag: str, takes: str) -> Any:
    """Return what a SPEC names."""
    module_name, _, attribute = spec.rpartition(":")
    if not module_name or not attribute:
        msg = f"{flag} is module:function or file.py:function, got {spec!r}"
        raise UsageError(msg, hint=takes)
    return _attribute(_import(module_name, flag), module_name, attribute)


def _import(name: str, flag: str = "--dataset") -> ModuleType:
    _search_first(Path.cwd())
    with _reported(name, "imported"), _nothing_trains(name):
        if name.endswith(".py"):
            return _import_file(Path(name).resolve())
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as exc:
            if exc.name is None or not f"{name}.".startswith(f"{exc.name}."):
                raise
            msg = f"no module named {exc.name!r} for {flag} {name}"
            raise UsageError(msg, hint=_module_hint(exc.name)) from exc


def _import_file(path: Path) -> ModuleType:
    """Import a file under its own name, so that spawned workers find it too.

    Where another module of that name is loaded already, another name is taken.
    """
    if not path.is_file():
        siblings = [item.name for item in path.parent.glob("*.py")]
        msg = f"there is no file {path}"
        raise UsageError(msg, hint=did_you_mean(path.name, siblings))
    _search_first(path.parent)
    name = path.stem
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    while name in sys.modules or not name.isidentifier():
        name = "autoloader_dataset_" + re.sub(r"[^A-Za-z0-9_]", "_", name)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        msg = f"{path} is no file of Python code"
        raise UsageError(msg)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _search_first(folder: Path) -> None:
    if sys.path[:1] != [str(folder)]:
        sys.path.insert(0, str(folder))


@contextmanager
def _reported(what: str, done: str) -> Iterator[None]:
    """Turn whatever the user's code raises into an error that says whose it is.

    Args:
        what: the module or SPEC that runs.
        done: what is done to it: `imported`, `looked up`, `constructed`, `called`.
    """
    try:
        yield
    except AutoloaderError:
        raise
    except TrainsOnImport as exc:
        msg = f"{what} {exc} when it is {done}"
        raise UsageError(msg, hint=_GUARD) from None
    except SystemExit as exc:
        code = 0 if exc.code is None else exc.code
        msg = f"{what} ends the program when it is {done} (exit {code})"
        raise UsageError(msg, hint=_GUARD) from exc
    except Exception as exc:
        msg, hint = f"{what} cannot be {done}: {_said(exc)}", None
        if isinstance(exc, ModuleNotFoundError) and exc.name:
            hint = f"pip install what provides {exc.name!r}"
        raise DatasetError(msg, hint=hint) from exc


def _said(exc: Exception) -> str:
    """Return type and words of an exception; the type alone where it has none."""
    return f"{type(exc).__name__}: {exc}".removesuffix(": ")


@contextmanager
def _nothing_trains(name: str, *, may_load: bool = False) -> Iterator[None]:
    """Stop code that starts to train, and show it only its own name in `sys.argv`.

    Args:
        name: what stands in `sys.argv`, as for a script without arguments.
        may_load: whether it may iterate a DataLoader (a dataset that counts, say).
    """

    def refuse(what: str) -> Any:
        def stop(*_args: Any, **_kwargs: Any) -> Any:
            raise TrainsOnImport(what)

        return stop

    iterate, backward, argv = DataLoader.__iter__, torch.autograd.backward, sys.argv
    if not may_load:
        DataLoader.__iter__ = refuse("iterates a DataLoader")  # type: ignore[method-assign]
    torch.autograd.backward = refuse("calls backward()")
    sys.argv = [name]
    try:
        yield
    finally:
        DataLoader.__iter__ = iterate  # type: ignore[method-assign]
        torch.autograd.backward, sys.argv = backward, argv


def _module_hint(missing: str) -> str:
    folder = Path.cwd()
    if Path(f"{missing}.py").is_file():
        return f"a file is named with its ending: {missing}.py:attribute"
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
            with _reported(f"{module_name}:{dotted}", "looked up"):
                found = getattr(found, part)
        except DatasetError as exc:
            if not isinstance(exc.__cause__, AttributeError):
                raise
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


def _trained_with(found: Any, spec: str) -> Any:
    """Return the loader of a trainer; anything else as it stands."""
    done = "asked for its training loader"
    with _reported(spec, done), _nothing_trains(spec, may_load=True):
        return trained_with(found)


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
    done = "constructed" if inspect.isclass(factory) else "called"
    with _reported(source.spec, done), _nothing_trains(source.spec, may_load=True):
        return factory(**arguments)


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
    dataset: Any = found.dataset if isinstance(found, DataLoader) else found
    if isinstance(dataset, IterableDataset):
        return found
    what = f"{spec} is {_kind_of(dataset)}"
    if isinstance(dataset, (list, tuple)) and any(
        isinstance(item, (Dataset, DataLoader)) for item in dataset
    ):
        msg = f"{what} of datasets, and one is needed"
        raise UsageError(msg, hint="write a function that returns the one, and name it")
    plain_kinds = (str, bytes, dict, set, frozenset, ModuleType, type)
    is_map = hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")
    if isinstance(dataset, plain_kinds) or not is_map:
        msg = f"{what}, which is no dataset"
        hint = (
            "a Dataset has __getitem__ and __len__, or is an IterableDataset; "
            "a DataLoader or a function giving one does too"
        )
        raise UsageError(msg, hint=hint)
    try:
        length = len(dataset)
    except Exception as exc:
        msg = f"len({spec}) raises {_said(exc)}"
        raise DatasetError(msg) from exc
    if length == 0:
        msg = f"{spec} is empty: len() is 0"
        hint = "check the path or the split that it reads"
        raise UsageError(msg, hint=hint)
    return found


def _kind_of(value: object) -> str:
    """Return the class's name with its article: `an int`, `a list`."""
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"

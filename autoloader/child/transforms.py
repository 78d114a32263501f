"""Tell the transform of an example apart from the access to it, where it has a name.

The attribute that holds it is replaced by a stand-in that notes when it begins and
ends. For a process that is not timed for its rate, and that nothing else is read in:
the dataset is not what the user made any more.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from autoloader.child.stages import Stage
from autoloader.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from autoloader.child.stages import StageBoard

USUAL = ("transforms", "transform", "target_transform")
"""Attributes in which datasets, torchvision's above all, keep what they apply."""

MOST_LEVELS = 4
"""Datasets in datasets that are looked into: subsets of concatenated subsets."""


class TransformWatch:
    """Notes when an example is transformed.

    Args:
        board: is told that a transform begins, and that it has ended.
    """

    def __init__(self, board: StageBoard) -> None:
        self._board = board
        self._depth = 0
        self._place = 0
        self.seconds = 0.0
        """Spent in transforms since `begin`."""
        self.cpu_s = 0.0
        """CPU seconds of it."""
        self.raised: BaseException | None = None
        """What a transform raised since `begin`; None: nothing."""
        self.paths: list[str] = []
        """Where the transforms are that are watched."""

    def begin(self, place: int) -> None:
        """Note that an example is about to be read, and forget the one before."""
        self._place, self.seconds, self.cpu_s, self.raised = place, 0.0, 0.0, None
        self._board.stand(Stage.ACCESSING, place)

    def watch(self, dataset: Any, named: str | None) -> None:
        """Put stand-ins in place.

        Args:
            dataset: the user's.
            named: path from it to what is called; None: the usual attributes.

        Raises:
            UsageError: there is nothing at the path, it cannot be called, or the
                attribute cannot be set.
        """
        if named is not None:
            self._watch_named(dataset, named)
            return
        for holder, path in _holders(dataset, "", MOST_LEVELS):
            for name in USUAL:
                if callable(getattr(holder, name, None)):
                    self._replace(holder, name, path + name)

    def led_to(self, exc: BaseException) -> bool:
        """Whether an exception is what a transform raised, or came from it."""
        seen: set[int] = set()
        current: BaseException | None = exc
        while current is not None and id(current) not in seen:
            if current is self.raised:
                return True
            seen.add(id(current))
            current = current.__cause__ or current.__context__
        return False

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return what a transform returns, its time noted; an inner one's is in it."""
        if self._depth:
            return function(*args, **kwargs)
        self._depth += 1
        self._board.stand(Stage.TRANSFORMING, self._place)
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            return function(*args, **kwargs)
        except BaseException as exc:
            self.raised = exc
            raise
        finally:
            self.seconds += time.perf_counter() - wall
            self.cpu_s += time.process_time() - cpu
            self._depth -= 1
            self._board.stand(Stage.ACCESSING, self._place)

    def _watch_named(self, dataset: Any, named: str) -> None:
        parts = named.split(".")
        holder, found = dataset, dataset
        for part in parts:
            holder = found
            if not hasattr(holder, part):
                known = [item for item in dir(holder) if not item.startswith("_")]
                msg = f"--transform {named}: {type(holder).__name__} has no {part!r}"
                raise UsageError(msg, hint=did_you_mean(part, known))
            found = getattr(holder, part)
        if not callable(found):
            msg = f"--transform {named} is nothing that can be called"
            raise UsageError(msg, hint="it names what __getitem__ calls on an example")
        if not self._replace(holder, parts[-1], named):
            msg = f"--transform {named} cannot be replaced by what notes its time"
            hint = "without the flag, access and transform are told as one"
            raise UsageError(msg, hint=hint)

    def _replace(self, holder: Any, name: str, path: str) -> bool:
        """Put a stand-in into an attribute; return whether that was possible."""
        stand_in = _StandIn(getattr(holder, name), self)
        try:
            setattr(holder, name, stand_in)
        except (AttributeError, TypeError):  # frozen, slots, a property, a module
            return False
        if getattr(holder, name) is not stand_in:
            return False
        self.paths.append(path)
        return True


class _StandIn:
    """Is called in place of a transform, and looks like it otherwise."""

    def __init__(self, inner: Any, watch: TransformWatch) -> None:
        self.__dict__["_inner"], self.__dict__["_watch"] = inner, watch

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._watch.run(self._inner, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if "_inner" not in self.__dict__:  # it is being copied
            raise AttributeError(name)
        return getattr(self.__dict__["_inner"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_inner"], name, value)


def _holders(dataset: Any, path: str, levels: int) -> Iterator[tuple[Any, str]]:
    """Yield the dataset and those that it is made of, with the paths to them."""
    yield dataset, path
    if not levels:
        return
    inner = getattr(dataset, "dataset", None)
    if inner is not None and inner is not dataset:
        yield from _holders(inner, f"{path}dataset.", levels - 1)
    several = getattr(dataset, "datasets", None)
    if isinstance(several, (list, tuple)):
        for place, item in enumerate(several):
            yield from _holders(item, f"{path}datasets.{place}.", levels - 1)

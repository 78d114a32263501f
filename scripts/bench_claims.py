"""What is often said about loading photos, tried on the photo study, form by form.

    python scripts/bench_claims.py [--rounds N] [--photos N]

Each line compares two ways of making the same example, in one process and on one
thread, in rounds that are turned around each time: how many times the CPU time of the
first the second takes (the mean of the rounds' ratios, 95 % interval), and whether both
give the same pixels. What is said about numbers of workers is measured by
`bench_search.py --record photos` and `bench_peers.py`.

Lines on torchvision need an environment that has it, and are left out elsewhere:

    pip install torch==2.14.1 torchvision==0.29.1 && pip install '.[vision]'

Takes about two minutes.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "studies" / "photos")]

from autoloader.measure.intervals import (  # noqa: E402  # found by the line above
    bounded_exp,
    lower_bound,
    upper_bound,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    Form = Callable[[Path], Tensor]

SIDE = 224
MEAN = STD = 0.5
BIT = 1 / 255 / STD
"""What one step of a colour is in a normalised tensor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Two ways of making an example."""

    said: str
    """What the second is compared for."""
    first: Form
    second: Form


def main(arguments: Sequence[str] | None = None) -> int:
    """Time all pairs and print the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--photos", type=int, default=100, help="of a round")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    paths = _paths(options.photos)
    print(f"{'second against first':58s}  time  95 % interval   pixels")
    for claim in [*plain_claims(), *torchvision_claims()]:
        ratios = _ratios(claim, paths, options.rounds)
        low, high = lower_bound(ratios, 0.025), upper_bound(ratios, 0.025)
        interval = (
            "one round"
            if low is None or high is None
            else f"{bounded_exp(low):.2f} to {bounded_exp(high):.2f}"
        )
        middle = math.exp(fmean(ratios))
        differing = _difference(claim, paths)
        print(
            f"{claim.said:58s}  {middle:4.2f}  {interval:13s}   {differing}", flush=True
        )
    return 0


def plain_claims() -> list[Claim]:
    """Return the pairs that Pillow and NumPy can show."""
    return [
        Claim(
            said="convert('RGB') of files that are RGB, against none",
            first=_photo,
            second=lambda path: _finished(_resized(_opened(path).convert("RGB"))),
        ),
        Claim(
            said="decoding at a smaller scale (draft), against whole",
            first=_photo,
            second=lambda path: _finished(_resized(_drafted(path))),
        ),
        Claim(
            said="bicubic scaling, against bilinear",
            first=_photo,
            second=lambda path: _finished(
                _opened(path).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
            ),
        ),
        Claim(
            said="normalising a float64 array, against float32",
            first=_photo,
            second=lambda path: _by_float64(_resized(_opened(path))),
        ),
    ]


def torchvision_claims() -> list[Claim]:
    """Return the pairs of torchvision; none where it is not installed."""
    if importlib.util.find_spec("torchvision") is None:
        print("torchvision is not installed: its lines are left out", file=sys.stderr)
        return []
    return [
        Claim(
            said="torchvision's transforms on Pillow images, against NumPy",
            first=_photo,
            second=_by_transforms("torchvision.transforms", tensors=False),
        ),
        Claim(
            said="transforms.v2 on Pillow images, against transforms",
            first=_by_transforms("torchvision.transforms", tensors=False),
            second=_by_transforms("torchvision.transforms.v2", tensors=False),
        ),
        Claim(
            said="transforms.v2 on decode_image's tensors, against NumPy",
            first=_photo,
            second=_by_transforms("torchvision.transforms.v2", tensors=True),
        ),
    ]


def _paths(count: int) -> list[Path]:
    making: Any = importlib.import_module("make_photos")
    root: Path = making.default_root()
    making.make_photos(root)
    found = sorted(root.glob("*/*.jpg"))
    return found[:: max(1, len(found) // count)][:count]


def _opened(path: Path) -> Image.Image:
    with Image.open(path) as image:
        image.load()
        return image


def _drafted(path: Path) -> Image.Image:
    """Decode at a half, a quarter or an eighth, where that still is large enough."""
    with Image.open(path) as image:
        image.draft("RGB", (SIDE, SIDE))
        image.load()
        return image


def _resized(image: Image.Image) -> Image.Image:
    return image.resize((SIDE, SIDE), Image.Resampling.BILINEAR)


def _photo(path: Path) -> Tensor:
    return _finished(_resized(_opened(path)))


def _finished(image: Image.Image) -> Tensor:
    """Return a normalised (3, height, width) tensor of float32, by NumPy."""
    view = np.asarray(image).transpose(2, 0, 1)
    values = np.empty(view.shape, dtype=np.float32)
    np.multiply(view, np.float32(BIT), out=values)
    values -= np.float32(MEAN / STD)
    return torch.from_numpy(values)


def _by_float64(image: Image.Image) -> Tensor:
    """Return the same as many write it: NumPy's division makes a float64 array."""
    values = (np.asarray(image) / 255 - MEAN) / STD
    return torch.from_numpy(values.transpose(2, 0, 1).copy()).float()


def _by_transforms(name: str, *, tensors: bool) -> Form:
    """Return the usual composition of a module of torchvision."""
    transforms: Any = importlib.import_module(name)
    normalise = transforms.Normalize((MEAN,) * 3, (STD,) * 3)
    if tensors:
        io: Any = importlib.import_module("torchvision.io")
        composed = transforms.Compose(
            [
                transforms.Resize((SIDE, SIDE), antialias=True),
                transforms.ToDtype(torch.float32, scale=True),
                normalise,
            ]
        )
        return lambda path: _tensor(composed(io.decode_image(str(path))))
    to_tensor = (
        [transforms.ToTensor()]
        if name == "torchvision.transforms"
        else [transforms.ToImage(), transforms.ToDtype(torch.float32, scale=True)]
    )
    composed = transforms.Compose(
        [transforms.Resize((SIDE, SIDE)), *to_tensor, normalise]
    )
    return lambda path: _tensor(composed(_opened(path)))


def _tensor(value: Any) -> Tensor:
    found: Tensor = value
    return found


def _ratios(claim: Claim, paths: Sequence[Path], rounds: int) -> list[float]:
    """Return the log ratio of seconds by round; a round before them is not timed."""
    forms = (claim.first, claim.second)
    for form in forms:
        _seconds(form, paths)
    ratios: list[float] = []
    for number in range(rounds):
        order = forms if number % 2 == 0 else forms[::-1]
        took = {form: _seconds(form, paths) for form in order}
        ratios.append(math.log(took[claim.second] / took[claim.first]))
    return ratios


def _seconds(form: Form, paths: Sequence[Path]) -> float:
    """Return CPU seconds: the files lie in memory, and nothing waits."""
    began = time.process_time()
    for path in paths:
        form(path)
    return time.process_time() - began


def _difference(claim: Claim, paths: Sequence[Path]) -> str:
    """Return how far the pixels of both ways are apart, in steps of a colour."""
    steps = [
        float((claim.first(path) - claim.second(path)).abs().mean()) / BIT
        for path in paths
    ]
    worst = fmean(steps)
    return "the same" if worst < 0.01 else f"differ by {worst:.1f} of 255 on average"


if __name__ == "__main__":
    sys.exit(main())

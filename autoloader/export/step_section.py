"""State what training loops showed: the step alone, and the step fed by each config.

Pure: loops in, plain values out. Rates here are of loops; those of loaders alone stand
in other sections, and the two are never mixed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.measure.stepping import WAIT_SHARE, overlap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoloader.search.loops import LoopFigures, Loops
    from autoloader.values.config import LoaderConfig


def step_section(
    loops: Loops,
    named: Mapping[str, LoaderConfig | None],
    *,
    judged: str,
    base: str,
    loader_rates: Mapping[LoaderConfig, float],
) -> dict[str, Any]:
    """Return the section `step`.

    Args:
        loops: that were read.
        named: the configs by the names under which they stand in it; those without a
            loop are left out.
        judged: name of the config that limit and overlap are told of.
        base: name of the config that others are compared with.
        loader_rates: rates of loaders alone, examples a second.
    """
    present = {
        name: config
        for name, config in named.items()
        if config is not None and (config in loops.readings or config in loops.failed)
    }
    against = present.get(base)
    subject = present.get(judged)
    return {
        "spec": loops.step,
        "alone": {
            "examples_per_s": loops.step_examples_per_s,
            "step_s": loops.step_s,
        },
        "wait_share_wanted": WAIT_SHARE,
        "limited_by": _limited_by(loops, subject),
        "overlap": _overlap(loops, subject, loader_rates),
        "judged": judged if subject is not None else None,
        "against": base if against is not None else None,
        "rounds": len(loops.rounds),
        "stopped": loops.stopped_because,
        "loops": {
            name: _loop(loops, config, against) for name, config in present.items()
        },
        **_device(loops, subject),
    }


def _device(loops: Loops, config: LoaderConfig | None) -> dict[str, Any]:
    """Return what the driver told in the config's last loop; nothing: it did not."""
    readings = () if config is None else loops.readings.get(config, ())
    seen = [item.device for item in readings if item.device is not None]
    return {"device": seen[-1].to_dict()} if seen else {}


def _limited_by(loops: Loops, config: LoaderConfig | None) -> str | None:
    """Return `step` where it hardly waits, else `loader`; None: there is no loop."""
    found = None if config is None else loops.figures(config)
    if found is None:
        return None
    return "step" if found.wait_share <= WAIT_SHARE else "loader"


def _overlap(
    loops: Loops,
    config: LoaderConfig | None,
    loader_rates: Mapping[LoaderConfig, float],
) -> dict[str, Any] | None:
    """Return how far loading goes on while the step computes; None: it is not told."""
    found = None if config is None else loops.figures(config)
    alone = loops.step_examples_per_s
    if found is None or config is None or not loader_rates.get(config) or not alone:
        return None
    if not config.num_workers:  # one after the other, whatever readings differ by
        return {"share": 0.0, "seen": False}
    seen = overlap(
        load_s=1 / loader_rates[config],
        compute_s=1 / alone,
        loop_s=1 / found.rate.median,
    )
    return None if seen is None else {"share": seen.share, "seen": seen.is_seen}


def _loop(
    loops: Loops, config: LoaderConfig, base: LoaderConfig | None
) -> dict[str, Any]:
    failure, found = loops.failed.get(config), loops.figures(config)
    told: dict[str, Any] = {"dataloader": config.dataloader_kwargs()}
    if found is None:
        return {**told, "failed": "no reading" if failure is None else failure.message}
    relative = None
    if base is not None and base != config:
        relative = loops.relative(config, base)
    return {
        **told,
        **_figures(found),
        "relative": None if relative is None else relative.to_dict(),
        "saved_share": None if relative is None else 1 - 1 / relative.median,
        "failed": None,
    }


def _figures(found: LoopFigures) -> dict[str, Any]:
    return {
        "loop_rate": found.rate.to_dict(),
        "steps_per_s": found.steps_per_s,
        "wait_share": {
            "mean": found.wait_share,
            "low": found.wait_low,
            "high": found.wait_high,
        },
        "wait_s": found.wait_s,
        "compute_s": found.compute_s,
        "utilisation": found.utilisation,
        "readings": found.readings,
    }

"""What control groups grant this process and what they counted: Linux, v1 and v2.

Parsers take text, readers take the root of the file system. Whatever is absent reads
as None. Limits and counters only; the machine's own totals belong in `measure.machine`,
single processes in `measure.proc`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, TypeVar

from autoloader.measure.proc import read_kernel_text

Number = TypeVar("Number", int, float)

_V1_NO_LIMIT_BYTES = 1 << 60
"""v1 writes "no limit" as the largest multiple of the page size below 2**63."""

_V2_KERNEL_KEYS = ("kernel_stack", "pagetables", "percpu", "sock", "slab_unreclaimable")
"""What stands in for `kernel` in memory.stat before Linux 5.18."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupMount:
    """One mounted cgroup hierarchy."""

    version: Literal[1, 2]
    """The interface that its files follow."""

    controllers: tuple[str, ...]
    """The v1 controllers, among other mount options; empty for v2."""

    mounted_path: str
    """The group that stands at the mount point, as `/proc/self/cgroup` names groups."""

    folder: str
    """The mount point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupLevels:
    """The groups that a process is in, for one controller."""

    version: Literal[1, 2]
    """The interface that the folders' files follow."""

    folders: tuple[Path, ...]
    """The process's own group first, then each parent up to the mount point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttling:
    """How often the CPU quotas held this process's groups back, since they exist."""

    periods: int
    """Quota periods in which the groups ran, over all levels."""

    throttled_periods: int
    """Quota periods in which the groups were stopped, over all levels."""

    throttled_s: float
    """Seconds for which the groups' CPUs were stopped, summed over CPUs and levels."""


def cpu_quota(root: Path = Path("/")) -> float | None:
    """Return the CPUs' worth of time that the tightest of all groups grants.

    Returns:
        CPUs, such as 1.5; None where no group sets a quota.
    """
    levels = find_levels("cpu", root)
    if levels is None:
        return None
    return _smallest(_quota_of(levels.version, folder) for folder in levels.folders)


def memory_limit(root: Path = Path("/")) -> int | None:
    """Return the tightest memory limit of all groups in bytes, None without one.

    A limit counts whether the kernel ends what goes beyond it, or slows it down.
    """
    levels = find_levels("memory", root)
    if levels is None:
        return None
    return _smallest(_limit_of(levels.version, folder) for folder in levels.folders)


def memory_in_use(root: Path = Path("/")) -> int | None:
    """Return the bytes that this process's group cannot give back.

    That is anonymous and shared memory and, on v2, what the kernel holds for the group;
    page cache is left out, since the kernel drops it before a limit hurts.

    Returns:
        Bytes; None where no group accounts for memory.
    """
    levels = find_levels("memory", root)
    if levels is None:
        return None
    needs = (_need_of(levels.version, folder) for folder in levels.folders)
    return next((need for need in needs if need is not None), None)


def memory_left(root: Path = Path("/")) -> int | None:
    """Return the bytes that can still be used before a group's limit is reached.

    Returns:
        The least, over all groups with a limit, of the limit less what is in use there;
        None where no group sets a limit.
    """
    levels = find_levels("memory", root)
    if levels is None:
        return None
    return _smallest(_left_of(levels.version, folder) for folder in levels.folders)


def throttling(root: Path = Path("/")) -> Throttling | None:
    """Return the throttling counters of all groups together.

    Only the difference of two readings means something; a quota that was removed leaves
    its counters behind.
    """
    levels = find_levels("cpu", root)
    if levels is None:
        return None
    found = [
        counters
        for folder in levels.folders
        if "nr_throttled" in (counters := _counters_of(folder / "cpu.stat"))
    ]
    if not found:
        return None
    return Throttling(
        periods=sum(counters.get("nr_periods", 0) for counters in found),
        throttled_periods=sum(counters["nr_throttled"] for counters in found),
        throttled_s=sum(throttled_seconds(counters) for counters in found),
    )


def oom_kills(root: Path = Path("/")) -> int | None:
    """Return how many processes of this group were killed for want of memory.

    Returns:
        A counter that only grows; None where the kernel does not keep it.
    """
    levels = find_levels("memory", root)
    if levels is None:
        return None
    name = "memory.events" if levels.version == 2 else "memory.oom_control"
    counts = (_counters_of(folder / name).get("oom_kill") for folder in levels.folders)
    return next((count for count in counts if count is not None), None)


def find_levels(
    controller: Literal["cpu", "memory"], root: Path = Path("/")
) -> CgroupLevels | None:
    """Return the groups that account for this process, its own first.

    A controller that v1 has claimed is read there, any other in the v2 hierarchy. Where
    the process's own group cannot be seen from inside a container, the group at the
    mount point stands alone.

    Returns:
        The folders to read; None where the controller's hierarchy is not mounted.
    """
    membership = parse_membership(read_kernel_text(root / "proc/self/cgroup") or "")
    mounts = parse_mounts(read_kernel_text(root / "proc/self/mountinfo") or "")
    claimed = [mount for mount in mounts if controller in mount.controllers]
    if controller in membership and claimed:
        group, candidates = membership[controller], claimed
    elif "" in membership:
        group = membership[""]
        candidates = [mount for mount in mounts if mount.version == 2]
    else:
        return None
    chains = [_folders_upwards(mount, group, root) for mount in candidates]
    if not chains:
        return None
    # The same hierarchy may be mounted twice; the longest chain shows the most.
    return CgroupLevels(version=candidates[0].version, folders=max(chains, key=len))


def parse_membership(text: str) -> dict[str, str]:
    """Read `/proc/self/cgroup`.

    Returns:
        The group's path by v1 controller; the v2 group under the empty name.
    """
    groups: dict[str, str] = {}
    for line in text.splitlines():
        number, separator, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if separator and colon and number.isdecimal():
            groups |= dict.fromkeys(controllers.split(","), path)
    return groups


def parse_mounts(text: str) -> tuple[CgroupMount, ...]:
    """Read the cgroup hierarchies out of `/proc/self/mountinfo`."""
    mounts: list[CgroupMount] = []
    for line in text.splitlines():
        before, separator, after = line.partition(" - ")
        place, kind = before.split(" "), after.split(" ")
        if not separator or len(place) < 5 or kind[0] not in {"cgroup", "cgroup2"}:
            continue
        is_v2 = kind[0] == "cgroup2"
        mounts.append(
            CgroupMount(
                version=2 if is_v2 else 1,
                controllers=() if is_v2 else tuple(kind[-1].split(",")),
                mounted_path=_unescaped(place[3]),
                folder=_unescaped(place[4]),
            )
        )
    return tuple(mounts)


def parse_counters(text: str) -> dict[str, int]:
    """Read a file of `name number` lines, such as cpu.stat; other lines are left."""
    counters: dict[str, int] = {}
    for line in text.splitlines():
        name, _, number = line.partition(" ")
        if number.strip().isdecimal():
            counters[name] = int(number)
    return counters


def parse_cpu_max(text: str) -> float | None:
    """Read v2's `cpu.max` as CPUs; None for `max`, which is no quota."""
    quota, _, period = text.strip().partition(" ")
    if not quota.isdecimal():
        return None
    return _cpus(int(quota), int(period) if period.isdecimal() else 100_000)


def parse_cfs_quota(quota_text: str, period_text: str) -> float | None:
    """Read v1's cpu.cfs_quota_us and cpu.cfs_period_us; None for -1, no quota."""
    quota, period = quota_text.strip(), period_text.strip()
    if not (quota.isdecimal() and period.isdecimal()):
        return None
    return _cpus(int(quota), int(period))


def parse_memory_limit(text: str) -> int | None:
    """Read v2's `memory.max` or v1's `memory.limit_in_bytes`; None for no limit."""
    limit = text.strip()
    if not limit.isdecimal() or int(limit) >= _V1_NO_LIMIT_BYTES:
        return None
    return int(limit)


def need_of_v2(stat: dict[str, int]) -> int | None:
    """Return the bytes in v2's `memory.stat` that cannot be given back."""
    if "anon" not in stat:
        return None
    if "kernel" in stat:
        kernel = stat["kernel"] - stat.get("slab_reclaimable", 0)
    else:
        kernel = sum(stat.get(name, 0) for name in _V2_KERNEL_KEYS)
    return stat["anon"] + stat.get("shmem", 0) + max(0, kernel)


def need_of_v1(stat: dict[str, int]) -> int | None:
    """Return the bytes in v1's `memory.stat`, children included, in use for good."""
    if "total_rss" not in stat:
        return None
    return stat["total_rss"] + stat.get("total_shmem", 0)


def throttled_seconds(counters: dict[str, int]) -> float:
    """Return the throttled time in v2's or v1's `cpu.stat`."""
    if "throttled_usec" in counters:
        return counters["throttled_usec"] / 1e6
    return counters.get("throttled_time", 0) / 1e9


def _folders_upwards(mount: CgroupMount, group: str, root: Path) -> tuple[Path, ...]:
    top = root / mount.folder.lstrip("/")
    try:
        parts = PurePosixPath(group).relative_to(mount.mounted_path).parts
    except ValueError:
        return (top,)
    if ".." in parts or not top.joinpath(*parts).is_dir():
        return (top,)
    return tuple(top.joinpath(*parts[:depth]) for depth in range(len(parts), -1, -1))


def _quota_of(version: Literal[1, 2], folder: Path) -> float | None:
    if version == 2:
        return parse_cpu_max(read_kernel_text(folder / "cpu.max") or "")
    return parse_cfs_quota(
        read_kernel_text(folder / "cpu.cfs_quota_us") or "",
        read_kernel_text(folder / "cpu.cfs_period_us") or "",
    )


def _limit_of(version: Literal[1, 2], folder: Path) -> int | None:
    if version == 2:
        # Above memory.high nothing is killed, but slowed down until it fits again.
        names = ("memory.max", "memory.high")
        texts = (read_kernel_text(folder / name) or "" for name in names)
        return _smallest(parse_memory_limit(text) for text in texts)
    # v1 tells here what the parents outside a container's view allow, too.
    inherited = _counters_of(folder / "memory.stat").get("hierarchical_memory_limit")
    own = read_kernel_text(folder / "memory.limit_in_bytes") or ""
    return _smallest([parse_memory_limit(own), parse_memory_limit(str(inherited))])


def _need_of(version: Literal[1, 2], folder: Path) -> int | None:
    stat = _counters_of(folder / "memory.stat")
    return need_of_v2(stat) if version == 2 else need_of_v1(stat)


def _left_of(version: Literal[1, 2], folder: Path) -> int | None:
    limit = _limit_of(version, folder)
    if limit is None:
        return None
    return max(0, limit - (_need_of(version, folder) or 0))


def _counters_of(path: Path) -> dict[str, int]:
    return parse_counters(read_kernel_text(path) or "")


def _cpus(quota_us: int, period_us: int) -> float | None:
    return quota_us / period_us if quota_us > 0 and period_us > 0 else None


def _smallest(values: Iterable[Number | None]) -> Number | None:
    return min((value for value in values if value is not None), default=None)


def _unescaped(path: str) -> str:
    r"""Return a path of mountinfo with `\040` and its like turned back."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), path)

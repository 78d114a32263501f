"""What the cgroup readers find in captured trees of v1, v2 and both."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from autoloader.measure import cgroup
from autoloader.measure.cgroup import CgroupMount, Throttling

MIB = 2**20

V1_MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
"""

V2_MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
33 24 0:28 / /sys/fs/cgroup rw,nosuid shared:4 master:1 - cgroup2 cgroup2 rw,nsdelegate
"""

HYBRID_MOUNTS = (
    V1_MOUNTS + "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
)

V1_MEMBERSHIP = """\
11:memory:/docker/abc
5:cpu,cpuacct:/docker/abc
1:name=systemd:/docker/abc
"""

V1_NO_LIMIT = "9223372036854771712\n"

V1_MEMORY_STAT = """\
cache 6643712
rss 1724416
shmem 0
hierarchical_memory_limit 9223372036854771712
total_cache 295804928
total_rss 104857600
total_rss_huge 0
total_shmem 10485760
total_mapped_file 65536
"""

V2_MEMORY_STAT = """\
anon 104857600
file 524288000
kernel 31457280
kernel_stack 1048576
pagetables 2097152
sock 0
shmem 10485760
file_mapped 65536
slab_reclaimable 20971520
slab_unreclaimable 4194304
"""


def plant(root: Path, files: Mapping[str, str]) -> Path:
    """Write a captured tree below `root`."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def plant_v1(root: Path, files: Mapping[str, str]) -> Path:
    """Write a tree with v1 controllers, in which this process is in `/docker/abc`."""
    known = {
        "proc/self/cgroup": V1_MEMBERSHIP,
        "proc/self/mountinfo": V1_MOUNTS,
    }
    return plant(root, known | {f"sys/fs/cgroup/{k}": v for k, v in files.items()})


def plant_v2(root: Path, files: Mapping[str, str], group: str = "/pod/box") -> Path:
    """Write a tree with the v2 hierarchy alone, in which this process is in `group`."""
    known = {
        "proc/self/cgroup": f"0::{group}\n",
        "proc/self/mountinfo": V2_MOUNTS,
    }
    return plant(root, known | {f"sys/fs/cgroup/{k}": v for k, v in files.items()})


def test_without_any_cgroup_nothing_is_known(tmp_path: Path) -> None:
    """A system without cgroups reads as None throughout, never as an error."""
    readers = (
        cgroup.cpu_quota,
        cgroup.memory_limit,
        cgroup.memory_in_use,
        cgroup.memory_left,
        cgroup.throttling,
        cgroup.oom_kills,
    )

    assert [reader(tmp_path) for reader in readers] == [None] * 6


def test_a_group_whose_hierarchy_is_not_mounted_is_not_known(tmp_path: Path) -> None:
    """A container may name its group and still mount no cgroup file system."""
    root = plant(
        tmp_path,
        {
            "proc/self/cgroup": "0::/\n",
            "proc/self/mountinfo": "1 0 8:1 / / rw - ext4 a",
        },
    )

    levels = cgroup.find_levels("cpu", root)

    assert levels is None


def test_membership_names_the_group_by_controller() -> None:
    """Joined v1 controllers share a group, and a group's name may hold colons."""
    text = "5:cpu,cpuacct:/a\n1:name=systemd:/s\n0::/user:1.slice\nnonsense\n"

    groups = cgroup.parse_membership(text)

    assert groups == {
        "cpu": "/a",
        "cpuacct": "/a",
        "name=systemd": "/s",
        "": "/user:1.slice",
    }


def test_mounts_are_found_among_other_file_systems() -> None:
    """Optional fields before the dash and escaped blanks are understood."""
    text = (
        "22 1 254:0 / / rw - ext4 /dev/vda rw\n"
        r"32 31 0:29 /docker/a /cg\040roups/cpu rw shared:9 - cgroup cgroup rw,cpu"
        "\n"
        "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 none rw\n"
        "broken line\n"
    )

    mounts = cgroup.parse_mounts(text)

    assert mounts == (
        CgroupMount(
            version=1,
            controllers=("rw", "cpu"),
            mounted_path="/docker/a",
            folder="/cg roups/cpu",
        ),
        CgroupMount(
            version=2, controllers=(), mounted_path="/", folder="/sys/fs/cgroup"
        ),
    )


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("max 100000\n", None),
        ("150000 100000\n", 1.5),
        ("50000\n", 0.5),
        ("0 100000\n", None),
        ("200000 0\n", None),
        ("", None),
    ],
)
def test_cpu_max_is_read_as_cpus(text: str, cpus: float | None) -> None:
    """The word max, and what makes no sense, is no quota."""
    assert cgroup.parse_cpu_max(text) == cpus


@pytest.mark.parametrize(
    ("quota", "period", "cpus"),
    [("-1\n", "100000\n", None), ("25000\n", "50000\n", 0.5), ("", "", None)],
)
def test_a_v1_quota_of_minus_one_is_none(
    quota: str, period: str, cpus: float | None
) -> None:
    """Any other quota is counted in periods."""
    assert cgroup.parse_cfs_quota(quota, period) == cpus


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("max\n", None),
        (V1_NO_LIMIT, None),
        ("9223372036854710272\n", None),
        ("8589934592\n", 8589934592),
        ("0\n", 0),
        ("", None),
    ],
)
def test_a_huge_memory_limit_is_none(text: str, limit: int | None) -> None:
    """v1 writes no limit as a number, which differs with the page size."""
    assert cgroup.parse_memory_limit(text) == limit


def test_the_tightest_v2_quota_of_all_parents_counts(tmp_path: Path) -> None:
    """A container's generous quota does not lift the one around it."""
    root = plant_v2(
        tmp_path,
        {
            "pod/box/cpu.max": "400000 100000\n",
            "pod/cpu.max": "250000 100000\n",
            "cpu.max": "max 100000\n",
        },
    )

    assert cgroup.cpu_quota(root) == 2.5


def test_the_tightest_v1_quota_of_all_parents_counts(tmp_path: Path) -> None:
    """The same over the cpu controller's own tree, mounted with cpuacct."""
    root = plant_v1(
        tmp_path,
        {
            "cpu,cpuacct/docker/abc/cpu.cfs_quota_us": "-1\n",
            "cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000\n",
            "cpu,cpuacct/docker/cpu.cfs_quota_us": "75000\n",
            "cpu,cpuacct/docker/cpu.cfs_period_us": "50000\n",
        },
    )

    assert cgroup.cpu_quota(root) == 1.5


def test_the_tightest_memory_limit_of_all_parents_counts(tmp_path: Path) -> None:
    """The pod's limit holds although the container has none."""
    root = plant_v2(
        tmp_path,
        {"pod/box/memory.max": "max\n", "pod/memory.max": f"{512 * MIB}\n"},
    )

    assert cgroup.memory_limit(root) == 512 * MIB


@pytest.mark.parametrize(("most", "high"), [("max", "300"), ("400", "300")])
def test_a_limit_above_which_the_kernel_slows_down_counts(
    tmp_path: Path, most: str, high: str
) -> None:
    """Nothing is killed at `memory.high`, and nothing measured beyond it is true."""
    files = {"pod/box/memory.max": f"{most}\n", "pod/box/memory.high": f"{high}\n"}

    root = plant_v2(tmp_path, files)

    assert cgroup.memory_limit(root) == 300


def test_v1_tells_a_limit_of_parents_out_of_view(tmp_path: Path) -> None:
    """In a container only the group's own files are seen, yet its parents limit it."""
    root = plant_v1(
        tmp_path,
        {
            "memory/memory.limit_in_bytes": V1_NO_LIMIT,
            "memory/memory.stat": f"hierarchical_memory_limit {256 * MIB}\n",
        },
    )

    assert cgroup.memory_limit(root) == 256 * MIB


def test_a_v1_container_sees_its_group_at_the_mount_point(tmp_path: Path) -> None:
    """Docker mounts the group itself, while the host's path names it."""
    mounts = V1_MOUNTS.replace("0:32 / ", "0:32 /docker/abc ")
    root = plant_v1(tmp_path, {"memory/memory.limit_in_bytes": f"{64 * MIB}\n"})
    plant(root, {"proc/self/mountinfo": mounts})

    assert cgroup.memory_limit(root) == 64 * MIB


@pytest.mark.parametrize("group", ["/", "/host/only", "/../other", "/pod/../../x"])
def test_a_group_out_of_view_falls_back_to_the_mount_point(
    tmp_path: Path, group: str
) -> None:
    """A namespace hides the host's path; what is mounted is then the best known."""
    root = plant_v2(
        tmp_path, {"cpu.max": "300000 100000\n", "pod/cpu.max": "1 1\n"}, group
    )

    assert cgroup.cpu_quota(root) == 3.0


def test_a_mount_of_another_group_still_answers(tmp_path: Path) -> None:
    """Where neither path leads to the other, the mounted group stands alone."""
    root = plant_v2(tmp_path, {"cpu.max": "300000 100000\n"})
    plant(root, {"proc/self/mountinfo": V2_MOUNTS.replace("0:28 / ", "0:28 /../.. ")})

    assert cgroup.cpu_quota(root) == 3.0


def test_the_mount_that_shows_the_group_is_preferred(tmp_path: Path) -> None:
    """A second mount of one part does not hide the whole tree."""
    root = plant_v2(tmp_path, {"pod/box/cpu.max": "100000 100000\n"})
    part = "50 24 0:28 /other /mnt/part rw - cgroup2 cgroup2 rw\n"
    plant(
        root,
        {
            "proc/self/mountinfo": part + V2_MOUNTS,
            "mnt/part/cpu.max": "700000 100000\n",
        },
    )

    assert cgroup.cpu_quota(root) == 1.0


def test_hybrid_systems_are_read_controller_by_controller(tmp_path: Path) -> None:
    """What v1 has claimed is read there, the rest in the v2 hierarchy."""
    mounts = HYBRID_MOUNTS.replace("rw,memory", "rw,freezer")
    root = plant(
        tmp_path,
        {
            "proc/self/cgroup": "5:cpu,cpuacct:/\n4:freezer:/\n0::/\n",
            "proc/self/mountinfo": mounts,
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "200000\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/unified/memory.max": f"{128 * MIB}\n",
            "sys/fs/cgroup/unified/cpu.max": "900000 100000\n",
        },
    )

    assert cgroup.cpu_quota(root) == 2.0
    assert cgroup.memory_limit(root) == 128 * MIB


def test_page_cache_is_no_memory_in_use_on_v2(tmp_path: Path) -> None:
    """Anonymous, shared and kernel memory count; caches can be given back."""
    root = plant_v2(tmp_path, {"pod/box/memory.stat": V2_MEMORY_STAT})

    assert cgroup.memory_in_use(root) == (100 + 10 + 30 - 20) * MIB


def test_older_kernels_name_the_kernels_parts(tmp_path: Path) -> None:
    """Before Linux 5.18 what the kernel holds is added up from its parts."""
    older = V2_MEMORY_STAT.replace("kernel 31457280\n", "")
    root = plant_v2(tmp_path, {"pod/box/memory.stat": older})

    assert cgroup.memory_in_use(root) == (100 + 10 + 1 + 2 + 4) * MIB


def test_page_cache_is_no_memory_in_use_on_v1(tmp_path: Path) -> None:
    """The totals over child groups are taken, not the group's own lines."""
    root = plant_v1(tmp_path, {"memory/docker/abc/memory.stat": V1_MEMORY_STAT})

    assert cgroup.memory_in_use(root) == 110 * MIB


def test_memory_is_accounted_by_the_nearest_group_that_does(tmp_path: Path) -> None:
    """A v2 group without the memory controller is charged to its parent."""
    root = plant_v2(
        tmp_path, {"pod/box/cpu.max": "max 100000\n", "pod/memory.stat": "anon 4096\n"}
    )

    assert cgroup.memory_in_use(root) == 4096


def test_memory_left_is_what_the_fullest_parent_leaves(tmp_path: Path) -> None:
    """Neighbours in the pod use up what the container's own limit would grant."""
    root = plant_v2(
        tmp_path,
        {
            "pod/box/memory.max": f"{400 * MIB}\n",
            "pod/box/memory.stat": f"anon {100 * MIB}\nfile {300 * MIB}\n",
            "pod/memory.max": f"{500 * MIB}\n",
            "pod/memory.stat": f"anon {450 * MIB}\n",
        },
    )

    assert cgroup.memory_left(root) == 50 * MIB


def test_memory_left_is_never_negative(tmp_path: Path) -> None:
    """A limit may be lowered below what is in use."""
    root = plant_v1(
        tmp_path,
        {
            "memory/docker/abc/memory.limit_in_bytes": f"{MIB}\n",
            "memory/docker/abc/memory.stat": V1_MEMORY_STAT,
        },
    )

    assert cgroup.memory_left(root) == 0


def test_v2_throttling_is_summed_over_the_levels(tmp_path: Path) -> None:
    """A group without a quota has no such counters and adds nothing."""
    root = plant_v2(
        tmp_path,
        {
            "pod/box/cpu.stat": "usage_usec 5\nnr_periods 10\nnr_throttled 4\n"
            "throttled_usec 1500000\n",
            "pod/cpu.stat": "nr_periods 20\nnr_throttled 1\nthrottled_usec 500000\n",
            "cpu.stat": "usage_usec 99\n",
        },
    )

    counters = cgroup.throttling(root)

    assert counters == Throttling(periods=30, throttled_periods=5, throttled_s=2.0)


def test_v1_throttling_is_counted_in_nanoseconds(tmp_path: Path) -> None:
    """Both versions come out in seconds."""
    root = plant_v1(
        tmp_path,
        {
            "cpu,cpuacct/docker/abc/cpu.stat": "nr_periods 8\nnr_throttled 2\n"
            "throttled_time 250000000\n"
        },
    )

    counters = cgroup.throttling(root)

    assert counters == Throttling(periods=8, throttled_periods=2, throttled_s=0.25)


def test_throttling_without_counters_is_not_known(tmp_path: Path) -> None:
    """No quota anywhere is told apart from a quota that never held us back."""
    root = plant_v2(tmp_path, {"pod/box/cpu.stat": "usage_usec 5\n"})

    assert cgroup.throttling(root) is None


def test_v2_counts_processes_killed_for_want_of_memory(tmp_path: Path) -> None:
    """Reaching a limit is an event too, but only kills are counted."""
    events = "low 0\nhigh 0\nmax 17\noom 3\noom_kill 2\noom_group_kill 0\n"
    root = plant_v2(tmp_path, {"pod/box/memory.events": events})

    assert cgroup.oom_kills(root) == 2


def test_v1_counts_processes_killed_for_want_of_memory(tmp_path: Path) -> None:
    """v1 keeps the counter beside its switches."""
    control = "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"
    root = plant_v1(tmp_path, {"memory/docker/abc/memory.oom_control": control})

    assert cgroup.oom_kills(root) == 1


def test_this_machines_cgroups_can_be_read() -> None:
    """Whatever this system has, every reader gives a possible answer."""
    quota = cgroup.cpu_quota()
    limit = cgroup.memory_limit()
    in_use = cgroup.memory_in_use()
    left = cgroup.memory_left()
    counters = cgroup.throttling()
    kills = cgroup.oom_kills()

    assert quota is None or quota > 0
    assert limit is None or limit > 0
    assert in_use is None or in_use >= 0
    assert (left is None) == (limit is None)
    assert counters is None or counters.periods >= counters.throttled_periods
    assert kills is None or kills >= 0

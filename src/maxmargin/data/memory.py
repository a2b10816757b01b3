"""How much memory this process may still take."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

MOUNTED, MEMBER_OF, MACHINE = "/sys/fs/cgroup", "/proc/self/cgroup", "/proc/meminfo"
OTHERWISE = 4 << 30  # where the system tells nothing
# Of cgroups, version 2 and 1: where they are, a limit, what is used, and what of it are files that
# the system would rather forget.
_VERSIONS = (
    ("", "", "memory.max", "memory.current", "inactive_file"),
    ("memory", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def available_memory() -> int:
    """Bytes the machine can still give without swapping, and its container and ulimit allow."""
    return max(0, min([_of_machine(), *_of_containers(), *_of_process()]))


def _of_machine() -> int:
    with contextlib.suppress(OSError), open(MACHINE) as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with contextlib.suppress(ValueError, OSError, AttributeError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    return OTHERWISE


def _of_containers() -> Iterator[int]:
    """What the group of this process, and those that it is in, leave of their limits."""
    with contextlib.suppress(OSError):
        lines = Path(MEMBER_OF).read_text().splitlines()
        for name, folder, limit, used, files in _VERSIONS:
            for path in (line.split(":", 2)[2] for line in lines if line.split(":")[1] == name):
                group = Path(MOUNTED, folder, path.strip("/"))
                top = Path(MOUNTED, folder)
                # Inside a container its own group may be mounted as the top, whatever its path.
                for at in {group, *group.parents, top}:
                    if at.is_relative_to(top):
                        yield from _of_group(at, limit, used, files)


def _of_group(group: Path, limit: str, used: str, files: str) -> Iterator[int]:
    with contextlib.suppress(OSError, ValueError):  # "max" is no limit
        most, taken = int((group / limit).read_text()), int((group / used).read_text())
        counts = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        yield most - taken + int(counts.get(files, 0))


def _of_process() -> Iterator[int]:
    """What the limit on addresses leaves (ulimit -v)."""
    with contextlib.suppress(ImportError, OSError):
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            yield most - pages * os.sysconf("SC_PAGE_SIZE")

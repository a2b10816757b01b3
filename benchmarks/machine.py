"""Where figures were taken: they mean nothing without it."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

from benchmarks.paths import PEER_PACKAGES

PACKAGES = (
    "maxmargin",
    "numpy",
    "scipy",
    "scikit-learn",
    "liblinear-official",
    "liblinear-multicore",
    "snapml",
    "dlib",
    "dlib-bin",
)


def describe(threads: int) -> dict[str, object]:
    return {
        "processor": processor(),
        "cpus_granted": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory_gb": memory(),
        "system": platform.system(),
        "python": platform.python_version(),
        "threads_granted_to_each_peer": threads,
        "load_before": [round(value, 2) for value in os.getloadavg()]
        if hasattr(os, "getloadavg")
        else None,
        "packages": {name: v for name in PACKAGES if (v := installed(name) or apart(name))},
    }


def cpu_seconds() -> tuple[float, float] | None:
    """Of all programs since the system began, and of this one and its ended children.

    None where the system does not say.
    """
    try:
        ticks = [
            int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
        ]
        own = os.times()
    except (OSError, ValueError):
        return None
    user, nice, system, _idle, _waiting, interrupts, soft, stolen = ticks
    busy = (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK")
    return busy, own.user + own.system + own.children_user + own.children_system


def share_of_others(before: tuple[float, float] | None, seconds: float) -> float | None:
    """Of the CPUs' time since `before`, `seconds` ago, that other programs took."""
    now = cpu_seconds()
    if before is None or now is None or seconds <= 0:
        return None
    others = (now[0] - before[0]) - (now[1] - before[1])
    return float(min(max(others / (seconds * (os.cpu_count() or 1)), 0.0), 1.0))


def processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (ValueError, OSError, AttributeError):
        return None


def installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def apart(package: str) -> str | None:
    """The version of a peer that `benchmarks.install` put into a folder of its own."""
    found = metadata.distributions(path=[str(PEER_PACKAGES / package)])
    return next((distribution.version for distribution in found), None)


def sentence(machine: dict[str, object]) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())  # type: ignore[attr-defined]
    return (
        f"{machine['processor']}, {machine['cpus_granted']} CPUs, {machine['memory_gb']} GB, "
        f"{machine['system']}, Python {machine['python']}; "
        f"{machine['threads_granted_to_each_peer']} threads granted to each; {packages}."
    )

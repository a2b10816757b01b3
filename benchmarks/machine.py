"""Where figures were taken: they mean nothing without it."""

from __future__ import annotations

import os
import platform
import threading
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


class Waiting:
    """How long the threads of this process wait for a CPU while others have them.

    The system's counts end with a thread, so they are read every now and then.
    """

    EVERY = 0.1  # seconds

    def __enter__(self) -> Waiting:
        self._first = scheduled()
        self.last = dict(self._first)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self.last |= scheduled()

    def _watch(self) -> None:
        while not self._done.wait(self.EVERY):
            self.last |= scheduled()

    @property
    def share(self) -> float | None:
        """Of the time in which a thread could have run; None where the system does not say."""
        ran = waited = 0
        for thread, (running, waiting) in self.last.items():
            before = self._first.get(thread, (0, 0))
            ran, waited = ran + running - before[0], waited + waiting - before[1]
        return waited / (ran + waited) if ran > 0 else None


def scheduled() -> dict[str, tuple[int, int]]:
    """Nanoseconds that each thread of this process ran, and waited for a CPU."""
    found = {}
    for path in Path("/proc/self/task").glob("*/schedstat"):
        try:
            running, waiting = path.read_text().split()[:2]
        except (OSError, ValueError):  # it has ended meanwhile
            continue
        found[path.parent.name] = (int(running), int(waiting))
    return found


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

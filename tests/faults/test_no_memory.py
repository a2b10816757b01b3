"""Memory that runs out anywhere in a fit: a MemoryError or a model, never a crash, never a hang."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/statm, forks")

# A fit in a child of its own for each limit; the room grows until two fits succeed.
SCRIPT = """
import os, resource, signal, traceback, warnings
import numpy as np
from maxmargin import KernelSVC, LinearSVC, RankSVM, StreamSVC

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 20))
y = np.where(X[:, 0] + 0.3 * rng.normal(size=len(X)) > 0, 1, -1)


def address_space():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def hoarded():
    # all that the process has and does not use, so that the limit alone counts
    blocks = []
    for power in range(22, 9, -1):
        try:
            while True:
                blocks.append(bytearray(1 << power))
        except MemoryError:
            pass
    return blocks


def in_child(fit, room):
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 3
    try:
        signal.alarm(60)  # a fit that hangs is killed, which the exit code tells
        used = address_space()
        resource.setrlimit(resource.RLIMIT_AS, (used, resource.RLIM_INFINITY))
        hoard = hoarded()
        resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))
        fit()
        code = 0
    except MemoryError:
        code = 1
    except BaseException:
        traceback.print_exc()
        code = 2
    finally:
        os._exit(code)


def ends_of(fit):
    fit()  # imports, and what libraries allocate once
    ends, room = [], 0
    while ends[-2:] != [0, 0] and room < 1 << 28:
        ends.append(in_child(fit, room))
        room += max(room // 2, 1 << 17)
    return ends


{fit}
"""

FITS = {
    "newton": "LinearSVC(solver='newton', n_jobs=2).fit(X, y)",
    "dual": "LinearSVC(solver='dual', n_jobs=2).fit(X, y)",
    "rank": "RankSVM(n_jobs=2).fit(X, X[:, 0].round(1))",
    "stream": "StreamSVC(n_jobs=2).fit(X, y)",
    # One thread: OpenBLAS itself crashes where memory for its threads runs out.
    "kernel": "KernelSVC(n_jobs=1).fit(X[:600], y[:600])",
}


def test_a_fit_without_memory_ends_in_a_memory_error_or_a_model():
    lines = "\n".join(f"print('{name}', *ends_of(lambda: {fit}))" for name, fit in FITS.items())
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("{fit}", lines)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    found = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert found.keys() == FITS.keys(), done.stderr
    for name, ends in found.items():
        assert set(ends) == {"0", "1"}, (name, ends, done.stderr)

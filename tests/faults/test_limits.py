"""Limits on threads and memory: a fit goes on with what there is, or ends in a MemoryError."""

import subprocess
import sys
import textwrap

import pytest

from maxmargin import _core

resource = pytest.importorskip("resource", reason="needs limits on a process")

PRELUDE = """
import resource
import numpy as np
from maxmargin import _core


def address_space():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def limit(room):
    bound = address_space() + room
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))


x = np.ones(100_000)
"""


def run(script):
    """What a script prints; one that hangs fails after minutes."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr}"
    return done.stdout.split()


linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/statm")


@linux
@pytest.mark.parametrize("room", ["0", "12 << 20"], ids=["no thread", "one thread"])
def test_a_pool_goes_on_with_the_threads_that_start(room):
    found = run(
        f"""
        limit({room})
        pool = _core.Pool(_core.most_threads())
        print(_core.inner(x, x, pool), pool.threads < _core.most_threads())
        """
    )
    assert found == ["100000.0", "True"]


@pytest.mark.parametrize("asked", [10**6, 10**9, 2**40])
def test_a_pool_makes_no_more_threads_than_cpus_can_serve(asked):
    assert _core.most_threads() == 4 * _core.available_cpus()
    assert _core.Pool(asked).threads <= _core.most_threads()


def test_a_fit_that_asks_for_a_thousand_million_threads_ends(svm):
    from maxmargin import LinearSVC

    X, y = svm.blobs(300, 5)
    assert LinearSVC(n_jobs=10**9).fit(X, y).predict(X).shape == y.shape


FITS = {
    "linear": lambda m, X, y: m.LinearSVC(n_jobs=2).fit(X, y),
    "regression": lambda m, X, y: m.LinearSVR(n_jobs=2).fit(X, y),
    "kernel": lambda m, X, y: m.KernelSVC(n_jobs=2).fit(X, y),
    "kernel regression": lambda m, X, y: m.KernelSVR(n_jobs=2).fit(X, y),
    "sparse kernel": lambda m, X, y: m.SparseKernelSVC(n_basis=3, n_jobs=2).fit(X, y),
    "rank": lambda m, X, y: m.RankSVM(n_jobs=2).fit(X, y),
    "ordinal": lambda m, X, y: m.OrdinalSVC(n_jobs=2).fit(X, y),
    "measure": lambda m, X, y: m.MeasureSVC(n_jobs=2).fit(X, y),
    "stream": lambda m, X, y: m.StreamSVC(n_jobs=2).fit(X, y),
}


@pytest.mark.parametrize("name", FITS)
def test_small_fits_start_no_threads(name, svm, monkeypatch):
    import maxmargin

    asked, pool = [], _core.Pool

    def noted(threads, *rest):
        asked.append(threads)
        return pool(threads, *rest)

    monkeypatch.setattr(_core, "Pool", noted)
    X, y = svm.blobs(100, 3)
    FITS[name](maxmargin, X, y).predict(X)
    assert set(asked) == {1}


# Each allocates some megabytes around loops compiled for several processors.
STARVED = {
    "kinks": """
        p, dp = rng.normal(size=n), rng.normal(size=n)
        loss = _core.Pointwise("hinge", 0.0, np.ones(n), None)
        work = lambda: loss.list_kinks(p, dp, 0.0, np.inf, pool)
        """,
    "ranks": """
        loss = _core.PairLoss(np.arange(n, dtype=float), None, 1, None, pool)
        p, l = rng.normal(size=n), np.empty(n)
        work = lambda: loss.evaluate(p, l, pool)
        """,
}


@linux
@pytest.mark.parametrize("name", STARVED)
def test_memory_that_runs_out_in_a_hot_loop_is_a_memory_error(name):
    found = run(
        "n, rng = 400_000, np.random.default_rng(0)\npool = _core.Pool(1)\n"
        + textwrap.dedent(STARVED[name])
        + textwrap.dedent(
            """
            for room in range(0, 40 << 20, 1 << 18):
                bound = address_space() + room
                resource.setrlimit(resource.RLIMIT_AS, (bound, resource.RLIM_INFINITY))
                try:
                    work()
                except MemoryError:
                    print("MemoryError")
                else:
                    print("done")
                    break
            """
        )
    )
    assert set(found[:-1]) == {"MemoryError"}
    assert found[-1] == "done"

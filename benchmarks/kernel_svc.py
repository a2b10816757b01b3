"""One kernel machine on many rows, beside scikit-learn's SVC at a gap that is no better.

    python -m benchmarks.kernel_svc skin separable drawn-0 drawn-1
    python -m benchmarks.kernel_svc a9a ijcnn1 mnist10 --data FOLDER
    python -m benchmarks.kernel_svc covtype --rows 50000 --data FOLDER --cap 240

SVC has a free offset, our machines have none: each has a problem of its own. So each is judged by
the relative gap of its own: P and D are computed here, in float64, from the coefficients it hands
over. SVC goes first, at its default tolerance; ours then runs at a tolerance that is at most the
gap SVC was found to have (and at most 1e-3), so that its precision is the better one. SVC has one
thread, ours as many as are given; CPU seconds are those of all threads. SVC runs in a process of
its own, which is ended at the cap.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import kernel_tables, options
from benchmarks.kernel_tasks import Task, task
from benchmarks.machine import describe
from benchmarks.paths import RESULTS
from maxmargin import KernelSVC
from maxmargin.solvers.kernel.coding import Coding

TILE = 1024
TOL = 1e-3

# ---------------------------------------------------------------- who solves it


@dataclass(frozen=True)
class Found:
    """``f_k = sum_j beta_jk k(x_j, x) + b_k`` of every pair of classes, and the seconds it took."""

    support: np.ndarray
    beta: np.ndarray
    b: np.ndarray
    seconds: float
    cpu: float


def ours(what: Task, tol: float, threads: int) -> Found:
    model = KernelSVC(C=what.C, gamma=what.gamma, tol=tol, multi_class="ovo", n_jobs=threads)
    began, cpu = time.perf_counter(), time.process_time()
    model.fit(what.X, what.y)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    kept = model.to_model()
    pairs = kept.coefficients.shape[1]
    return Found(kept.support, kept.coefficients, np.zeros(pairs), seconds, cpu)


def svc(what: Task, cap: float) -> Found | None:
    """SVC's answer; None if it did not end in `cap` seconds."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_fit_svc, args=(what, there))
    child.start()
    there.close()
    try:
        return here.recv() if here.poll(cap) else None
    finally:
        child.kill()
        child.join()


def _fit_svc(what: Task, pipe) -> None:
    from sklearn.svm import SVC

    model = SVC(C=what.C, gamma=what.gamma, cache_size=2000, decision_function_shape="ovo")
    began, cpu = time.perf_counter(), time.process_time()
    model.fit(what.X, what.y)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    beta, b = _pairs_of(model, what.coding)
    pipe.send(Found(model.support_, beta, b, seconds, cpu))


def _pairs_of(model, coding: Coding) -> tuple[np.ndarray, np.ndarray]:
    """SVC's coefficients with a column for each pair of classes."""
    dual = np.asarray(
        model.dual_coef_.todense() if hasattr(model.dual_coef_, "todense") else model.dual_coef_
    )
    if coding.n_classes == 2:
        return np.ascontiguousarray(dual.T), model.intercept_
    ends = np.cumsum(np.append(0, model.n_support_))
    beta = np.zeros((dual.shape[1], len(coding.pairs)))
    for k, (i, j) in enumerate(coding.pairs):
        of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        beta[of_i, k], beta[of_j, k] = dual[j - 1, of_i], dual[i, of_j]
    return beta, model.intercept_


# ---------------------------------------------------------------- the judge


def relative_gap(what: Task, found: Found) -> float:
    """``(P - D) / P`` over all pairs, by plain numpy in float64."""
    f = scores(what, what.X, found)
    norm2 = np.einsum("ij,ij->j", found.beta, f[found.support])
    dual = float(np.abs(found.beta).sum() - 0.5 * norm2.sum())
    primal = 0.5 * float(norm2.sum())
    for k, labels in enumerate(what.coding.labels(what.y)):
        hinge = np.maximum(0.0, 1.0 - labels * (f[:, k] + found.b[k]))
        primal += what.C * float(hinge[labels != 0].sum())
    return (primal - dual) / primal


def scores(what: Task, X, found: Found) -> np.ndarray:
    """``sum_j beta_jk k(x_j, x_i)`` of rows, for every pair."""
    support = _dense(what.X[found.support])
    norms = np.einsum("ij,ij->i", support, support)
    f = np.empty((X.shape[0], found.beta.shape[1]))
    for begin in range(0, X.shape[0], TILE):
        rows = _dense(X[begin : begin + TILE])
        D = np.einsum("ij,ij->i", rows, rows)[:, None] + norms - 2.0 * rows @ support.T
        f[begin : begin + TILE] = np.exp(-what.gamma * np.maximum(D, 0.0)) @ found.beta
    return f


def _dense(X) -> np.ndarray:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def test_error(what: Task, found: Found) -> float | None:
    if what.test is None:
        return None
    f = scores(what, what.test[0], found) + found.b
    return 100 * float((what.coding.decide(f) != what.test[1]).mean())


def compare(what: Task, cap: float, threads: int, repeats: int) -> dict:
    """Both, each with its seconds, gap and number of support vectors."""
    result, tol = {}, TOL
    peer = svc(what, cap)
    if peer is None:
        result["SVC"] = {"seconds": f"> {cap:g}"}
    else:
        gap = relative_gap(what, peer)
        result["SVC"] = told(what, peer, gap)
        tol = min(tol, max(gap, 1e-9))
    runs = [ours(what, tol, threads) for _ in range(repeats)]
    best = min(runs, key=lambda run: run.seconds)
    result["ours"] = told(what, best, relative_gap(what, best))
    beside = cap if peer is None else peer.seconds
    ratio = beside / best.seconds
    result["ratio"] = {"times faster": f"> {ratio:.3g}" if peer is None else ratio}
    return result


def told(what: Task, found: Found, gap: float) -> dict:
    row = {
        "seconds": found.seconds,
        "CPU seconds": found.cpu,
        "gap": gap,
        "support vectors": len(found.support),
    }
    error = test_error(what, found)
    return row if error is None else row | {"test error": error}


def main(arguments: list[str]) -> None:
    p = options.parser(__doc__.splitlines()[0])
    p.add_argument("names", nargs="+", help="skin, separable, drawn-SEED, mnist10 or a set's name")
    p.add_argument("--C", type=float)
    p.add_argument("--gamma", type=float)
    p.add_argument("--cap", type=float, default=240.0, help="seconds that SVC may take")
    p.add_argument("--repeats", type=int, default=3)
    p.add_argument("--json", type=Path, default=RESULTS / "kernel.json")
    chosen = p.parse_args(arguments)
    for name in chosen.names:
        what = task(name, chosen)
        rows = {what.title: compare(what, chosen.cap, chosen.threads, chosen.repeats)}
        kernel_tables.keep(chosen.json, "svc", rows, describe(chosen.threads))
        print(kernel_tables.table(rows), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

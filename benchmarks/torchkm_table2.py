"""Tuning by ten folds and fifty values of C, on the simulated data of TorchKM's second table.

    python -m benchmarks.torchkm_table2 --sizes 10000,1000 20000,1000 --repeats 3
    python -m benchmarks.torchkm_table2 --sizes 1000,100

TorchKM (Zhang and others, https://github.com/YikaiZhang95/torchkm) publishes 37.7 and 129 s for
10 000 and 20 000 rows of 1000 features, on an L40S. Its data, as its paper describes them: ten
normal centres in p dimensions, five a class; those of the negative class have 2 added to the
first half of the features, those of the positive class to the second half; rows are normal about
a centre drawn at random, with the standard deviation 3. Features are standardised. The width is
that of `sigest`: the mean of one over the lower and over the upper decile of squared distances.
The kernel is ``exp(-2 sigma ||x - z||^2)``, the grid fifty values of lambda from 1e3 to 1e-3.

What is compared, at every lambda and evaluated here in float64, whoever found the function:

    O(f) = 1/n sum_i max(0, 1 - y_i f(x_i)) + lambda ||f||^2,        C = 1 / (2 n lambda)

TorchKM's f has an offset b that costs nothing. So ours has one too: `OFFSET` of KernelSVC, which
costs lambda b^2 / OFFSET^2, and for every f, whoever found it, the best b is taken, which a sort
finds. Ours are those of a path over the grid by the rule and the tolerance of the search. The bound
is the certified one of our problem less that cost: no f does better whose offset is no larger.
Seconds are those of the whole search with its last fit. TorchKM runs where it is installed (`pip
install torchkm`), on the CPU with as many threads.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.machine import describe
from maxmargin import KernelSVC, KernelSVCCV, _core
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.kernel.path import BinaryProblem, Method, RegularisationPath
from maxmargin.solvers.kernel.sources import budget_of, source_of

FOLDS, COUNT = 10, 50
OFFSET = 10.0
TOL = 1e-5  # of the clipped rule: mean losses are within this of the least
LAMBDAS = np.geomspace(1e3, 1e-3, COUNT)
CENTRES, SHIFT, SPREAD = 5, 2.0, 3.0
CERTIFIED = (0, 12, 24, 36, 49)  # grid points whose optimum is bounded from below
TILE = 1024
PUBLISHED = {(10000, 1000): 37.7, (20000, 1000): 129.0}  # seconds on an L40S


@dataclass(frozen=True)
class Drawn:
    """Rows, signs and the width of the kernel."""

    X: np.ndarray
    y: np.ndarray
    gamma: float

    @property
    def Cs(self) -> np.ndarray:
        return 1.0 / (2.0 * len(self.y) * LAMBDAS)


def draw(n: int, p: int, seed: int) -> Drawn:
    """The data of the table, from a generator of our own."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(2 * CENTRES, p))
    centres[:CENTRES, : p // 2] += SHIFT
    centres[CENTRES:, p // 2 :] += SHIFT
    positive = random.random(n) < 0.5
    centre = random.integers(0, CENTRES, n) + np.where(positive, CENTRES, 0)
    X = centres[centre] + SPREAD * random.normal(size=(n, p))
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    pairs = random.integers(0, n, (2, n // 2))
    distances = np.square(X[pairs[0]] - X[pairs[1]]).sum(axis=1)
    low, high = np.quantile(distances[distances > 0], [0.1, 0.9])
    sigma = 0.5 * (1.0 / low + 1.0 / high)
    return Drawn(X.astype(np.float32), np.where(positive, 1.0, -1.0), 2.0 * sigma)


def objectives(drawn: Drawn, betas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``O(f + b)`` of a column of coefficients for each lambda, from float64 kernel values, and the
    offsets b that make it least."""
    X = drawn.X.astype(np.float64)
    norms = np.einsum("ij,ij->i", X, X)
    sums = np.empty_like(betas)
    for begin in range(0, len(X), TILE):
        rows = slice(begin, begin + TILE)
        D = norms[rows, None] + norms - 2.0 * X[rows] @ X.T
        sums[rows] = np.exp(-drawn.gamma * np.maximum(D, 0.0)) @ betas
    # Along b the slope of the loss is -n_positive at first, and 1 more after each kink y_i - f_i.
    offsets = np.sort(drawn.y[:, None] - sums, axis=0)[int((drawn.y > 0).sum()) - 1]
    hinge = np.maximum(0.0, 1.0 - drawn.y[:, None] * (sums + offsets))
    return hinge.mean(axis=0) + LAMBDAS * np.einsum("ij,ij->j", betas, sums), offsets


def ours(drawn: Drawn, threads: int, tol: float = TOL) -> dict:
    """Seconds of the search; objectives of a path over the grid; bounds at some of its points."""
    began = time.perf_counter()
    model = KernelSVCCV(
        Cs=drawn.Cs,
        gammas=[drawn.gamma],
        offset=OFFSET,
        cv=FOLDS,
        tol=tol,
        n_jobs=threads,
        random_state=0,
    ).fit(drawn.X, drawn.y)
    seconds = time.perf_counter() - began
    pool = _core.Pool(threads)
    kernel = Kernel("rbf", drawn.gamma, constant=OFFSET**2)
    source = source_of(drawn.X, kernel, budget_of(None), pool)
    path = RegularisationPath(
        BinaryProblem(source, drawn.y, np.ones(len(drawn.y))), Method(rule="clipped"), pool
    )
    betas = np.empty((len(drawn.y), COUNT))
    for k in np.argsort(drawn.Cs):
        path.start(drawn.Cs[k])
        path.run(tol, 2**62)
        betas[:, k] = path.beta
    found, offsets = objectives(drawn, betas)
    bounds = {}
    for k in CERTIFIED:
        offset = OFFSET * max(1.0, OFFSET * LAMBDAS[k] ** 0.5)  # the cost is at most 1e-4 b^2
        one = KernelSVC(
            C=drawn.Cs[k], gamma=drawn.gamma, offset=offset, tol=1e-4, n_jobs=threads
        ).fit(drawn.X, drawn.y)
        cost = LAMBDAS[k] * (offsets[k] / offset) ** 2
        bounds[k] = one.certificate_.dual * 2.0 * LAMBDAS[k] - cost
    return {
        "seconds": seconds,
        "accuracy": model.best_score_,
        "lambda": 1.0 / (2.0 * len(drawn.y) * model.C_),
        "objectives": found.tolist(),
        "bounds": bounds,
    }


def torchkm(drawn: Drawn, threads: int, most: int) -> dict:
    """The same by TorchKM, from the kernel matrix it computes."""
    import torch
    from torchkm.cvksvm import cvksvm
    from torchkm.functions import rbf_kernel

    torch.set_num_threads(threads)
    folds = torch.arange(len(drawn.y)) % FOLDS + 1
    began = time.perf_counter()
    K = rbf_kernel(torch.from_numpy(drawn.X).double(), drawn.gamma / 2.0)
    model = cvksvm(
        Kmat=K,
        y=torch.from_numpy(drawn.y),
        nlam=COUNT,
        ulam=torch.from_numpy(LAMBDAS.copy()),
        foldid=folds,
        nfolds=FOLDS,
        maxit=most,
        device="cpu",
    )
    model.fit()
    seconds = time.perf_counter() - began
    found = model.alpmat.cpu().numpy()
    return {
        "seconds": seconds,
        "objectives": objectives(drawn, np.ascontiguousarray(found[1:]))[0].tolist(),
    }


def show(n: int, p: int, runs: list[dict]) -> None:
    """A line a size, and a line for each of some points of the grid."""
    seconds = [run["ours"]["seconds"] for run in runs]
    published = PUBLISHED.get((n, p))
    beside = "" if published is None else f", published (L40S) {published} s"
    print(f"{n} x {p}: {np.median(seconds):.2f} s in the median of {len(runs)} runs{beside}")
    theirs = [run["torchkm"]["seconds"] for run in runs if run["torchkm"]]
    print(f"  torchkm here: {np.median(theirs):.2f} s" if theirs else "  torchkm: not installed")
    first = runs[0]
    print("      lambda        ours       bound     torchkm")
    for k in CERTIFIED:
        other = f"{first['torchkm']['objectives'][k]:12.6f}" if first["torchkm"] else "           -"
        mine, bound = first["ours"]["objectives"][k], first["ours"]["bounds"][k]
        print(f"{LAMBDAS[k]:12.4g}{mine:12.6f}{bound:12.6f}{other}")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=["10000,1000", "20000,1000"])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tol", type=float, default=TOL, help="of our search")
    parser.add_argument("--max-iter", type=int, default=100_000, help="of TorchKM")
    parser.add_argument("--json", type=Path, help="write every number here")
    options = parser.parse_args(arguments)
    installed = importlib.util.find_spec("torchkm") is not None
    everything = {}
    for size in options.sizes:
        n, p = map(int, size.split(","))
        runs = []
        for k in range(options.repeats):
            drawn = draw(n, p, options.seed + k)
            other = torchkm(drawn, options.threads, options.max_iter) if installed else None
            runs.append({"ours": ours(drawn, options.threads, options.tol), "torchkm": other})
        show(n, p, runs)
        everything[size] = runs
    if options.json is not None:
        found = {"machine": describe(options.threads), "runs": everything}
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])

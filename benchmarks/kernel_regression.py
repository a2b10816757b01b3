"""Quantile and least squares grids beside liquidSVM, or scikit-learn's KernelRidge.

    python -m benchmarks.kernel_regression --liquid FOLDER_OF_ITS_PROGRAMS
    python -m benchmarks.kernel_regression            # KernelRidge beside least squares alone

Both search the same grid of ten gammas and ten lambdas in five folds with as many threads, and are
judged by the loss of their choice on rows that neither has seen, computed here.

    liquidSVM   lambda ||f||^2 + 1/m sum_i phi(t_i - f(x_i)),  k(x, z) = exp(-||x - z||^2 / g^2),
                hence C = 1 / (2 m lambda) and gamma = 1 / g^2; seconds of svm-train and svm-select,
                which read and write files; its model is the mean of the machines of the folds
    KernelRidge ||f||^2 + 1/alpha sum_i (t_i - f(x_i))^2 in GridSearchCV, a process for each thread
    ours        KernelSVRCV with these values, and with its own grid ("auto")
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import kernel_tables, options
from benchmarks.machine import describe
from benchmarks.paths import RESULTS
from maxmargin import KernelSVRCV

FOLDS, STEPS = 5, 10
TEST = 4000
LEAST_SQUARES, QUANTILE = 1, 3  # solvers of svm-train
SQUARED_LOSS, PINBALL_LOSS = 2, 4  # losses of svm-test


@dataclass(frozen=True)
class Task:
    """Rows with targets, for training and for testing, and the loss."""

    name: str
    X: np.ndarray
    t: np.ndarray
    X_test: np.ndarray
    t_test: np.ndarray
    tau: float | None  # None: least squares

    @property
    def title(self) -> str:
        loss = "least squares" if self.tau is None else f"quantile {self.tau:g}"
        return f"{self.name} ({self.X.shape[0]} x {self.X.shape[1]}), {loss}"

    @property
    def lambdas(self) -> np.ndarray:
        return np.geomspace(1e-2, 1e-2 / len(self.t), STEPS)

    @property
    def gammas(self) -> np.ndarray:
        """From a width of twice the diameter of the unit cube to a tenth of it."""
        diameter = 2.0 * self.X.shape[1] ** 0.5
        return np.geomspace(0.5 / diameter, 10.0 / diameter, STEPS) ** 2

    def loss(self, predicted: np.ndarray) -> float:
        r = self.t_test - predicted
        if self.tau is None:
            return float((r**2).mean())
        return float(np.maximum(self.tau * r, (self.tau - 1.0) * r).mean())


def friedman(random: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Friedman's first function on ten features, with noise that grows along one of them."""
    X = random.random((n, 10))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    f += 10 * X[:, 3] + 5 * X[:, 4]
    noise = (0.5 + 2.0 * X[:, 5]) * random.normal(size=n)
    return 2 * X - 1, (f - 14.4 + noise) / 5.0


def wave(random: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A smooth function of two features with skewed noise."""
    X = random.uniform(-1, 1, size=(n, 2))
    f = np.sin(4 * X[:, 0]) * np.cos(3 * X[:, 1])
    return X, f + 0.2 * (1.2 + X[:, 0]) * (random.exponential(size=n) - 1)


DRAWN: dict[str, Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]] = {
    "friedman": friedman,
    "wave": wave,
}


def task(name: str, n: int, tau: float | None) -> Task:
    X, t = DRAWN[name](np.random.default_rng([20261119, n]), n + TEST)
    return Task(name, X[:n], t[:n], X[n:], t[n:], tau)


# ---------------------------------------------------------------- who searches


def ours(what: Task, threads: int, auto: bool) -> dict:
    of_loss = {"loss": "squared"} if what.tau is None else {"quantile": what.tau}
    model = KernelSVRCV(
        Cs="auto" if auto else 1.0 / (2.0 * len(what.t) * what.lambdas * halved(what)),
        gammas="auto" if auto else what.gammas,
        cv=FOLDS,
        n_jobs=threads,
        random_state=0,
        **{"loss": "quantile", **of_loss},
    )
    began = time.perf_counter()
    model.fit(what.X, what.t)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "test loss": what.loss(model.predict(what.X_test))}


def halved(what: Task) -> float:
    """Our squared loss has a half before it, that of the others none."""
    return 0.5 if what.tau is None else 1.0


def liquid(what: Task, threads: int, programs: Path) -> dict:
    """svm-train, svm-select and svm-test on files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part, X, t in (("train", what.X, what.t), ("test", what.X_test, what.t_test)):
            np.savetxt(folder / f"{part}.csv", np.column_stack([t, X]), "%.9g", ",")
        widths = " ".join(f"{1 / g**0.5:.9f}" for g in what.gammas)
        lambdas = " ".join(f"{value:.12f}" for value in what.lambdas)
        common = f"-T {threads} -d 1"
        weights = "" if what.tau is None else f"-w [ {what.tau:g} ]"
        solver = LEAST_SQUARES if what.tau is None else QUANTILE
        train = (
            f"svm-train -r 1 -s -1.0 0.001 -S {solver} -f 3 {FOLDS} -g [ {widths} ] "
            f"-l [ {lambdas} ] 0 {weights} {common} train.csv train.log summary.log"
        )
        select = "svm-select -R 1 -d 1 train.csv train.log select.log model.sol summary.log"
        loss = SQUARED_LOSS if what.tau is None else PINBALL_LOSS
        test = (
            f"svm-test -v 1 1 -L {loss} {common} train.csv model.sol test.csv test.log "
            f"result.csv summary.log"
        )
        began = time.perf_counter()
        call(programs, train, folder)
        call(programs, select, folder)
        seconds = time.perf_counter() - began
        call(programs, test, folder)
        found = np.loadtxt(folder / "result.csv", delimiter=",", ndmin=2)
    predicted = found[:, -1] if found.shape[1] > 1 else found[:, 0]
    return {"seconds": seconds, "test loss": what.loss(predicted)}


def call(programs: Path, command: str, folder: Path) -> None:
    words = command.split()
    subprocess.run([programs / words[0], *words[1:]], cwd=folder, check=True, capture_output=True)


def ridge(what: Task, threads: int) -> dict:
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV, KFold

    alphas = what.lambdas * len(what.t) * (FOLDS - 1) / FOLDS
    search = GridSearchCV(
        KernelRidge(kernel="rbf"),
        {"alpha": alphas, "gamma": what.gammas},
        cv=KFold(FOLDS, shuffle=True, random_state=0),
        scoring="neg_mean_squared_error",
        n_jobs=threads,
    )
    began = time.perf_counter()
    search.fit(what.X, what.t)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "test loss": what.loss(search.predict(what.X_test))}


def compare(what: Task, threads: int, programs: Path | None, repeats: int) -> dict:
    result = {}
    for name, auto in (("ours", False), ("ours, its own grid", True)):
        runs = [ours(what, threads, auto) for _ in range(repeats)]
        result[name] = min(runs, key=lambda run: run["seconds"])
    if programs is not None:
        result["liquidSVM"] = liquid(what, threads, programs)
    elif what.tau is None:
        result["KernelRidge"] = ridge(what, threads)
    peers = [result[name]["seconds"] for name in ("liquidSVM", "KernelRidge") if name in result]
    if peers:
        result["ratio"] = {"times faster": peers[0] / result["ours"]["seconds"]}
    return result


def main(arguments: list[str]) -> None:
    p = options.parser(__doc__.splitlines()[0])
    p.add_argument("names", nargs="*", default=["friedman", "wave"], help="friedman, wave")
    p.add_argument("--sizes", type=int, nargs="+", default=[2000, 5000])
    p.add_argument("--taus", type=float, nargs="*", default=[0.1, 0.5])
    p.add_argument("--liquid", type=Path, help="folder of svm-train, svm-select and svm-test")
    p.add_argument("--repeats", type=int, default=1)
    p.add_argument("--json", type=Path, default=RESULTS / "kernel.json")
    chosen = p.parse_args(arguments)
    for name in chosen.names:
        for n in chosen.sizes:
            for tau in (None, *chosen.taus):
                what = task(name, n, tau)
                found = compare(what, chosen.threads, chosen.liquid, chosen.repeats)
                rows = {what.title: found}
                kernel_tables.keep(chosen.json, "regression", rows, describe(chosen.threads))
                print(kernel_tables.table(rows), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

"""python -m benchmarks.losses: every pointwise loss against its peers, at equal objective.

    P(w) = 1/2 ||w||^2 + C sum_i f(r_i),   no intercept

Each program climbs its ladder of tolerances until P is within `--near` of the lowest P that anybody
reached; what counts is the CPU time of that fit, runs taken in turn in one process. Ours: `auto`
with its proof included. Pairs that we lose are printed first.

Two peers minimise something else, and are met where they are: HiGHS (scikit-learn's
QuantileRegressor) and statsmodels know no L2 penalty, so for ``C = inf`` P is the loss alone and
ours climbs a ladder of C instead; HuberRegressor finds a scale too, so delta and C are those that
its scale makes of 1.35 and C.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from benchmarks import options
from benchmarks.datasets import DRAWN
from benchmarks.reports import measured_on, table

EPSILON, QUANTILE = 0.1, 0.3
HUBER_EPSILON = 1.35  # HuberRegressor's, in units of the scale that it finds
LADDER = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
OURS_LADDER = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
LADDER_OF_C = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)  # ours, where there is no penalty
CLASSIFICATION = ("hinge", "squared_hinge", "logistic")
HOPELESS = 5.0  # times the best: not repeated

Fit = Callable[[float], np.ndarray]  # w at a tolerance


@dataclass(frozen=True)
class Problem:
    """A data set, a loss and a C; infinite for no penalty."""

    X: sp.csr_matrix
    y: np.ndarray
    loss: str
    C: float
    delta: float = 1.0

    @property
    def is_penalised(self) -> bool:
        return math.isfinite(self.C)

    def primal(self, w: np.ndarray) -> float:
        if w.shape != (self.X.shape[1],) or not np.isfinite(w).all():
            return math.inf
        p = self.X @ w
        r = self.y * p if self.loss in CLASSIFICATION else self.y - p
        if self.loss == "huber":
            loss = float(huber(r, self.delta).sum())
        else:
            loss = float(VALUES[self.loss](r).sum())
        return 0.5 * float(w @ w) + self.C * loss if self.is_penalised else loss


def huber(r: np.ndarray, delta: float) -> np.ndarray:
    return np.where(np.abs(r) < delta, r**2 / 2, delta * (np.abs(r) - delta / 2))


VALUES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "hinge": lambda m: np.maximum(1 - m, 0),
    "squared_hinge": lambda m: np.maximum(1 - m, 0) ** 2,
    "logistic": lambda m: np.logaddexp(0, -m),
    "epsilon_insensitive": lambda r: np.maximum(np.abs(r) - EPSILON, 0),
    "squared_epsilon_insensitive": lambda r: np.maximum(np.abs(r) - EPSILON, 0) ** 2,
    "quantile": lambda r: np.maximum(QUANTILE * r, (QUANTILE - 1) * r),
    "expectile": lambda r: np.where(r > 0, QUANTILE, 1 - QUANTILE) * r**2,
    "huber": lambda r: huber(r, 1.0),
    "squared": lambda r: r**2 / 2,
}


# ---------------------------------------------------------------- who takes part


def ours(problem: Problem, solver: str, threads: int) -> Fit:
    from maxmargin import LinearSVC, LinearSVR

    def fit(rung: float) -> np.ndarray:
        common = {
            "C": problem.C if problem.is_penalised else rung,
            "loss": problem.loss,
            "solver": solver,
            "tol": rung if problem.is_penalised else 3e-5,
            "fit_intercept": False,
            "n_jobs": threads,
            "random_state": 0,
            "max_time": 60.0,
        }
        if problem.loss in CLASSIFICATION:
            model = LinearSVC(**common)
        else:
            model = LinearSVR(epsilon=EPSILON, delta=problem.delta, quantile=QUANTILE, **common)
        return model.fit(problem.X, problem.y).coef_.ravel()

    return fit


LIBLINEAR = {
    "hinge": (3,),
    "squared_hinge": (1, 2),
    "logistic": (0, 7),
    "epsilon_insensitive": (13,),
    "squared_epsilon_insensitive": (11, 12),
}


def liblinear(problem: Problem, kind: int) -> Fit:
    from liblinear import liblinearutil as library

    prepared = library.problem(problem.y, problem.X)

    def fit(tol: float) -> np.ndarray:
        given = f"-s {kind} -q -c {problem.C!r} -e {tol!r} -p {EPSILON}"
        model = library.train(prepared, library.parameter(given))
        w = np.ctypeslib.as_array(model.w, (model.nr_feature,)).copy()
        return -w if problem.loss in CLASSIFICATION and model.label[0] != 1 else w

    return fit


def sklearn_logistic(problem: Problem, solver: str) -> Fit:
    from sklearn.linear_model import LogisticRegression

    def fit(tol: float) -> np.ndarray:
        model = LogisticRegression(
            C=problem.C, solver=solver, tol=tol, fit_intercept=False, max_iter=10_000
        )
        return model.fit(problem.X, problem.y).coef_.ravel()

    return fit


def sklearn_ridge(problem: Problem, solver: str) -> Fit:
    from sklearn.linear_model import Ridge

    def fit(tol: float) -> np.ndarray:
        model = Ridge(1 / problem.C, fit_intercept=False, solver=solver, tol=tol)
        return model.fit(problem.X, problem.y).coef_

    return fit


def snapml_logistic(problem: Problem) -> Fit:
    import snapml

    def fit(tol: float) -> np.ndarray:
        model = snapml.LogisticRegression(
            regularizer=1 / problem.C, fit_intercept=False, tol=tol, max_iter=10_000, n_jobs=1
        )
        return model.fit(problem.X, problem.y).coef_.ravel()

    return fit


def sklearn_linearsvc(problem: Problem) -> Fit:
    from sklearn.svm import LinearSVC

    def fit(tol: float) -> np.ndarray:
        model = LinearSVC(C=problem.C, tol=tol, fit_intercept=False, max_iter=10_000)
        return model.fit(problem.X, problem.y).coef_.ravel()

    return fit


def sklearn_quantile(problem: Problem) -> Fit:
    from sklearn.linear_model import QuantileRegressor

    def fit(tol: float) -> np.ndarray:
        model = QuantileRegressor(quantile=QUANTILE, alpha=0, fit_intercept=False, solver="highs")
        return model.fit(problem.X, problem.y).coef_

    return fit


def statsmodels_quantile(problem: Problem) -> Fit:
    from statsmodels.regression.quantile_regression import QuantReg

    X = problem.X.toarray()

    def fit(tol: float) -> np.ndarray:
        return QuantReg(problem.y, X).fit(q=QUANTILE, p_tol=tol, max_iter=10_000).params

    return fit


def sklearn_huber(problem: Problem) -> Fit:
    return lambda tol: (
        huber_regressor(problem, problem.C * problem.delta / HUBER_EPSILON, tol).coef_
    )


def huber_regressor(problem: Problem, C: float, tol: float):
    """It minimises ``alpha ||w||^2 + scale sum_i H(r_i / scale)`` and more in the scale, where
    ``scale H(r / scale) = 2 huber(r) / scale`` with delta = 1.35 scale."""
    from sklearn.linear_model import HuberRegressor

    return HuberRegressor(
        epsilon=HUBER_EPSILON, alpha=1 / C, tol=tol, fit_intercept=False, max_iter=10_000
    ).fit(problem.X, problem.y)


def with_scale(problem: Problem) -> Problem:
    """The problem that HuberRegressor solves for w at the scale that it finds."""
    scale = huber_regressor(problem, problem.C, 1e-8).scale_
    return replace(problem, C=problem.C / scale, delta=HUBER_EPSILON * scale)


REHLINE = {
    "squared_hinge": {"name": "squared SVM"},
    "epsilon_insensitive": {"name": "SVR", "epsilon": EPSILON},
    "quantile": {"name": "QR", "qt": QUANTILE},
    "huber": {"name": "huber"},
}
REHLINE_NNZ = 2e7  # it takes dense arrays


def rehline(problem: Problem) -> Fit:
    from rehline import plqERM_Ridge

    X = problem.X.toarray()

    def fit(tol: float) -> np.ndarray:
        loss = dict(REHLINE[problem.loss])
        if problem.loss == "huber":
            loss["tau"] = problem.delta
        model = plqERM_Ridge(loss=loss, C=problem.C, tol=tol, max_iter=100_000)
        return model.fit(X, problem.y).coef_

    return fit


def contenders(problem: Problem, given: argparse.Namespace) -> dict[str, Fit]:
    found = {}
    for solver in given.solvers.split(","):
        found[f"our {solver}"] = ours(problem, solver, given.threads)
    if not problem.is_penalised:
        if problem.loss != "quantile":
            raise SystemExit("--Cs inf is for --losses quantile")
        found["HiGHS"] = sklearn_quantile(problem)
        found["statsmodels"] = statsmodels_quantile(problem)
        return found
    for kind in LIBLINEAR.get(problem.loss, ()):
        found[f"LIBLINEAR -s {kind}"] = liblinear(problem, kind)
    if given.quick:
        return found
    if problem.loss == "squared_hinge":
        found["sklearn LinearSVC"] = sklearn_linearsvc(problem)
    if problem.loss == "huber":
        found["sklearn HuberRegressor"] = sklearn_huber(problem)
    if problem.loss == "logistic":
        found["sklearn lbfgs"] = sklearn_logistic(problem, "lbfgs")
        if problem.X.shape[1] <= 2000:
            found["sklearn newton-cholesky"] = sklearn_logistic(problem, "newton-cholesky")
        found["snapml"] = snapml_logistic(problem)
    if problem.loss == "squared":
        for solver in ("sparse_cg", "lsqr", "auto"):
            found[f"sklearn {solver}"] = sklearn_ridge(problem, solver)
    if problem.loss in REHLINE and math.prod(problem.X.shape) < REHLINE_NNZ:
        found["ReHLine"] = rehline(problem)
    return found


# ---------------------------------------------------------------- measuring


def cpu_seconds(fit: Fit, tol: float) -> tuple[float, np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        try:
            w = fit(tol)
        except Exception as error:  # a peer that gives up is as good as one that is wrong
            print(f"  {error}"[:100])
            w = np.full(1, math.nan)
        return time.process_time() - start, w


def best_primal(problem: Problem) -> float:
    """P of the solver for such rows; its certificate says how far it can be from the optimum."""
    solver = "newton" if problem.X.shape[1] <= 3000 else "dual"
    if not problem.is_penalised:
        return problem.primal(sklearn_quantile(problem)(0.0))
    return problem.primal(ours(problem, solver, 2)(1e-6))


def ladder(name: str, problem: Problem) -> tuple[float, ...]:
    """The settings that a program tries in turn."""
    if name.startswith("our"):
        return OURS_LADDER if problem.is_penalised else LADDER_OF_C
    return LADDER


def measure(problem: Problem, given: argparse.Namespace) -> dict[str, float]:
    """Best CPU seconds of each contender at the loosest tolerance that is good enough."""
    target = best_primal(problem) * (1 + given.near)
    fits, tols, seconds = contenders(problem, given), {}, {}
    for name, fit in fits.items():
        for tol in ladder(name, problem):
            spent, w = cpu_seconds(fit, tol)
            if problem.primal(w) <= target:
                tols[name], seconds[name] = tol, spent
                break
            if spent > given.cap:
                break
        seconds.setdefault(name, math.inf)
    for _ in range(given.repeats):
        for name, tol in tols.items():
            if seconds[name] <= HOPELESS * min(seconds.values()):
                seconds[name] = min(seconds[name], cpu_seconds(fits[name], tol)[0])
    return seconds


def regression_target(X: sp.csr_matrix, y: np.ndarray) -> np.ndarray:
    """Real numbers: a plane, what the labels say, and noise as large as the plane."""
    rng = np.random.default_rng(7)
    plane = X @ rng.normal(size=X.shape[1])
    plane /= plane.std() or 1.0
    return plane + 0.5 * y + rng.normal(size=len(y))


def parse() -> argparse.Namespace:
    p = options.parser(__doc__ or "", sets="", Cs="0.01,1,100")
    p.add_argument("--losses", default=",".join(VALUES), help="losses, comma-separated")
    p.add_argument("--solvers", default="auto,dual,newton", help="of ours")
    p.add_argument("--near", type=float, default=1e-4, help="of the lowest P")
    p.add_argument("--repeats", type=int, default=3)
    p.add_argument("--cap", type=float, default=20.0, help="a slower fit is not tried tighter")
    p.add_argument("--quick", action="store_true", help="ours and LIBLINEAR only")
    p.set_defaults(threads=1)
    return p.parse_args()


def main() -> None:
    given = parse()
    names = options.set_names(given) if given.sets else [data.name for data in DRAWN]
    rows, choices, measured = [], [], []
    for name in names:
        X, y = options.load(name, given)
        for loss in given.losses.split(","):
            target = y if loss in CLASSIFICATION else regression_target(X, y)
            for C in options.numbers(given.Cs):
                problem = Problem(X, target, loss, C)
                seconds = measure(with_scale(problem) if loss == "huber" else problem, given)
                rows.append(line(name, X, loss, C, seconds))
                choices.append(choice(seconds))
                measured.append((loss, seconds))
                print("  ".join(map(str, rows[-1])), flush=True)
    report(rows, choices, measured, given)


def choice(seconds: dict[str, float]) -> float:
    """auto / the best of ours"""
    return seconds["our auto"] / min(s for n, s in seconds.items() if n.startswith("our"))


def line(name: str, X: sp.csr_matrix, loss: str, C: float, seconds: dict[str, float]) -> list:
    peers = {n: s for n, s in seconds.items() if not n.startswith("our")}
    best = min(peers, key=peers.__getitem__, default="")
    ratio = peers[best] / seconds["our auto"] if best else math.nan
    each = ", ".join(f"{n} {1e3 * s:.1f}" for n, s in seconds.items())
    return [f"{ratio:.2f}", name, f"{X.shape[0]} x {X.shape[1]}", loss, f"{C:g}", best, each]


def by_peer(measured: list[tuple[str, dict[str, float]]]) -> str:
    """For each loss and peer: how much longer it takes in the mean, and how often it wins."""
    ratios: dict[tuple[str, str], list[float]] = {}
    for loss, seconds in measured:
        for peer, its in seconds.items():
            if not peer.startswith("our"):
                ratios.setdefault((loss, peer), []).append(its / seconds["our auto"])
    rows = []
    for (loss, peer), found in ratios.items():
        reached = [ratio for ratio in found if math.isfinite(ratio)]
        mean = f"{math.exp(np.mean(np.log(reached))):.2f}" if reached else ""
        rows.append([loss, peer, mean, len(found), sum(r < 1 for r in found)])
        rows[-1].append(len(found) - len(reached))
    head = ["loss", "peer", "its time / ours (geometric mean)", "pairs", "we lose", "not reached"]
    return table(head, rows)


def report(
    rows: list[list],
    choices: list[float],
    measured: list[tuple[str, dict[str, float]]],
    given: argparse.Namespace,
) -> None:
    order = sorted(rows, key=lambda row: float(row[0]))
    ratios = [float(row[0]) for row in rows if math.isfinite(float(row[0]))]
    header = ["best peer / auto", "set", "rows x features", "loss", "C", "best peer", "CPU ms"]
    mean = math.exp(np.mean(np.log(ratios))) if ratios else math.nan
    text = (
        f"# Every loss against its peers\n\n`python -m benchmarks.losses {' '.join(sys.argv[1:])}`"
        f"\n\n{by_peer(measured)}\n\nNot reached: not within {given.near:g} of the lowest P before "
        f"a fit took {given.cap:g} s; not in the means.\n\n{table(header, order)}\n\n"
        f"Geometric mean of best peer / auto: {mean:.2f} over {len(ratios)} pairs, "
        f"{sum(r < 1 for r in ratios)} of them lost. "
        f"`auto` within 1.15x of the best of ours: {sum(c <= 1.15 for c in choices)} of "
        f"{len(choices)}.\nOurs with {given.threads} thread(s), CPU time of the whole fit; equal "
        f"objective within {given.near:g}.\n\n{measured_on('liblinear-official', 'scikit-learn')}\n"
    )
    print(text)
    options.write(given, "losses.md", text)


if __name__ == "__main__":
    main()

"""python -m benchmarks.agreement_losses: does every solver agree with others on every loss?

    P(w) = 1/2 ||w||^2 + C sum_i f(r_i),   no intercept

For each set, loss, C, solver and tolerance: is the relative gap within the tolerance, does no
primal of another program lie below our dual, is the certificate P(w) as computed here, and how far
is P(w) from the lowest that others reach: LIBLINEAR, scikit-learn and ReHLine where they have the
loss, and L-BFGS (scipy) where it is smooth. Regressions: the columns of a table are brought to
mean 0 and deviation 1; of covtype the elevation is predicted from the other columns.
"""

from __future__ import annotations

import argparse
import math
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from benchmarks import losses, options
from benchmarks.paths import data_folder
from benchmarks.reports import measured_on, table
from maxmargin import LinearSVC, LinearSVR

TABLES = {
    "abalone": "abalone.csv",
    "california": "californiahousing.csv",
    "fireman": "fireman_example.csv",
}
CLASSES = ("a9a", "ijcnn1", "covtype", "imdb")
SOLVERS = ("auto", "dual", "newton", "ocas", "cpa")
SLOPES = {
    "squared_hinge": lambda m: -2 * np.maximum(1 - m, 0),
    "logistic": lambda m: -1 / (1 + np.exp(np.minimum(m, 500))),
    "squared_epsilon_insensitive": lambda r: (
        2 * np.sign(r) * np.maximum(np.abs(r) - losses.EPSILON, 0)
    ),
    "expectile": lambda r: 2 * np.where(r > 0, losses.QUANTILE, 1 - losses.QUANTILE) * r,
    "huber": lambda r: np.clip(r, -losses.DELTA, losses.DELTA),
    "squared": lambda r: r,
}
ROUNDING = 1e-9
PEER_LADDER = (1e-4, 1e-6, 1e-8)


def problem_of(name: str, loss: str, C: float, given: argparse.Namespace) -> losses.Problem:
    if loss in losses.CLASSIFICATION:
        return losses.Problem(*options.load(name, given), loss, C)
    if name in TABLES:
        path = Path(data_folder(given.data) or "") / "ordinal" / TABLES[name]
        rows = np.genfromtxt(path, delimiter=",", skip_header=1)
        X, t = rows[:, 1:], rows[:, 0]
        X = sp.csr_matrix((X - X.mean(axis=0)) / X.std(axis=0))
    else:
        X, _ = options.load("covtype", given)
        X, t = sp.csr_matrix(X[:, 1:]), X[:, 0].toarray().ravel()
    return losses.Problem(X, (t - t.mean()) / t.std(), loss, C)


def by_lbfgs(problem: losses.Problem) -> float:
    """The lowest P that L-BFGS reaches."""
    sign = 1.0 if problem.loss in losses.CLASSIFICATION else -1.0

    def value_and_slope(w: np.ndarray) -> tuple[float, np.ndarray]:
        p = problem.X @ w
        r = problem.y * p if sign > 0 else problem.y - p
        slope = SLOPES[problem.loss](r) * (problem.y if sign > 0 else -1.0)
        return problem.primal(w), w + problem.C * (problem.X.T @ slope)

    start = np.zeros(problem.X.shape[1])
    goals = {"maxiter": 5000, "maxfun": 10_000, "ftol": 1e-14, "gtol": 1e-9}
    found = minimize(value_and_slope, start, jac=True, method="L-BFGS-B", options=goals)
    return float(found.fun)


def lowest_of_others(problem: losses.Problem, cap: float) -> float:
    found = [by_lbfgs(problem)] if problem.loss in SLOPES else []
    everyone = argparse.Namespace(solvers="auto", threads=1, quick=False)
    for name, fit in losses.contenders(problem, everyone).items():
        for tol in PEER_LADDER if not name.startswith("our") else ():
            spent, w = losses.cpu_seconds(fit, tol)
            found.append(problem.primal(w))
            if spent > cap:
                break
    return min(found, default=math.inf)


def check(problem: losses.Problem, solver: str, tol: float, others: float, cap: float) -> list[str]:
    common = {"C": problem.C, "loss": problem.loss, "solver": solver, "tol": tol, "max_time": cap}
    if problem.loss in losses.CLASSIFICATION:
        machine = LinearSVC(fit_intercept=False, **common)
    else:
        own = {"epsilon": losses.EPSILON, "delta": losses.DELTA, "quantile": losses.QUANTILE}
        machine = LinearSVR(fit_intercept=False, **own, **common)
    w = machine.fit(problem.X, problem.y).coef_.ravel()
    certificate, P = machine.certificate_, problem.primal(w)
    faults = {
        "gap above tol": not certificate.relative_gap <= tol,
        "dual above another's primal": certificate.dual > min(P, others) * (1 + ROUNDING),
        "certificate is not P(w)": abs(certificate.primal / P - 1) > 1e-6,
        "worse than another by more than tol": P / others - 1 > tol,
    }
    said = "; ".join(what for what, found in faults.items() if found)
    above = "-" if math.isinf(others) else f"{P / others - 1:+.1e}"
    gap, seconds = f"{certificate.relative_gap:.1e}", f"{certificate.seconds:.3g}"
    return [solver, f"{tol:g}", seconds, gap, above, f"**{said}**" if said else "ok"]


def main() -> None:
    p = options.parser(__doc__ or "", sets="", Cs="0.01,1")
    p.add_argument("--losses", default=",".join(losses.VALUES), help="losses, comma-separated")
    p.add_argument("--solvers", default=",".join(SOLVERS), help="of ours")
    p.add_argument("--tols", default="1e-3,1e-6")
    p.add_argument("--cap", type=float, default=20.0, help="seconds for one run")
    given = p.parse_args()
    warnings.simplefilter("ignore")
    names = given.sets.split(",") if given.sets else [*CLASSES, *TABLES, "elevation"]
    rows = []
    for name in names:
        for loss in given.losses.split(","):
            if (loss in losses.CLASSIFICATION) != (name in CLASSES):
                continue
            for C in options.numbers(given.Cs):
                problem = problem_of(name, loss, C, given)
                others = lowest_of_others(problem, given.cap)
                for solver in given.solvers.split(","):
                    for tol in options.numbers(given.tols):
                        cells = check(problem, solver, tol, others, given.cap)
                        rows.append([name, loss, f"{C:g}", *cells])
                        print(*rows[-1], flush=True)
    report(rows, given)


def report(rows: list[list[str]], given: argparse.Namespace) -> None:
    header = ["set", "loss", "C", "solver", "tol", "seconds", "relative gap", "P(w) against others"]
    good = sum(row[-1] == "ok" for row in rows)
    text = (
        "# Do the solvers agree with others on every loss?\n\n"
        f"{good} of {len(rows)} runs without fault. Where the last number is negative, ours is the "
        "lower objective. Seconds may have been taken while other work ran.\n\n"
        f"{table([*header, 'verdict'], rows)}\n\n"
        f"{measured_on('liblinear-official', 'scikit-learn', 'rehline')}\n"
    )
    options.write(given, "agreement_losses.md", text)


if __name__ == "__main__":
    main()

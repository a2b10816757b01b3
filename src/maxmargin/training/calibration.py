"""From the scores of a machine to probabilities: calibration on rows that were held out.

    f_i   score of row i by a machine trained without it
    t_i   its target, smoothed: (N+ + 1) / (N+ + 2) for positives, 1 / (N- + 2) for negatives
    s_i   its weight, class weights included: the same population as in training

    sigmoid    minimise over A, B   sum_i s_i [log(1 + exp(z_i)) - t_i z_i],      z_i = A f_i + B
    isotonic   minimise over increasing p   sum_i s_i (t_i - p(f_i))^2
    auto       sigmoid, unless isotonic has the smaller log-loss on parts it was not fitted to, by
               more than its standard error

J. Platt, *Probabilistic outputs for support vector machines* (1999), with the safeguarded Newton
method of H.-T. Lin, C.-J. Lin, R. Weng, *Machine Learning* 68 (2007).

A fold is a set of rows that weigh nothing. Its machine starts from the answer on all rows and is
given no more iterations than its share of those that answer took, so that all folds together cost
no more than the fit. It needs no certificate: a few steps take it to where the left-out rows are
forgotten. Where rows are many, some of the folds are enough.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.models.calibration import METHODS, Calibration, Isotonic, Sigmoid
from maxmargin.parameters import Options, ParameterError
from maxmargin.problem import Certificate, Clock, Status, callers_line
from maxmargin.training.targets import Labels

AUTO = "auto"
FOLDS = 5
FEW, MANY = (10_000, 1_000), (100_000, 10_000)  # rows that are enough to hold out: all, of a class
ENOUGH = {AUTO: FEW, "sigmoid": FEW, "isotonic": MANY}
SLACK = 10.0  # the tolerance of a fold's machine, in those of the fit
STOPPED = (Status.MAX_TIME, Status.INTERRUPTED, Status.CALLBACK)
NEWTON_STEPS = 100
ROUNDING = 1e-13  # of a sum over rows, relative
LARGEST_LOG_ODDS = 30.0  # beyond this a probability is 0 or 1 in float64, or nearly

# Scores of the rows held out by a machine trained without them, (n held out, k); None if stopped.
ScoresWithout = Callable[[np.ndarray, Options], np.ndarray | None]


def method_of(probability: Any) -> str | None:
    """The method that a parameter `probability` asks for."""
    if probability is False:
        return None
    if probability is True:
        return AUTO
    if isinstance(probability, str) and probability in METHODS:
        return probability
    raise ParameterError("probability", f"True, False or one of {', '.join(METHODS)}", probability)


@dataclass(frozen=True)
class Calibrated:
    """What calibration needs to know of a fit on all rows.

    `keys` are numbers made from the contents of rows, equal for equal rows: a weight of 2 and a row
    given twice must lead to the same folds. `own` gives the scores of all rows by the machine
    itself.
    """

    labels: Labels
    keys: np.ndarray
    certificates: Sequence[Certificate]
    own: Callable[[], np.ndarray]


def calibrate(
    method: str, machine: Calibrated, scores_without: ScoresWithout, options: Options, clock: Clock
) -> Calibration:
    """The calibration of a machine, by machines trained without some of the rows.

    A fit that was stopped leaves no time for them: its own scores stand in, and that is said.
    `clock` has run since the fit began: `max_time` is for all of it.
    """
    labels, weights = machine.labels, machine.labels.weights()
    fold, count = folds_of(machine.keys, labels), 0
    stopped = any(certificate.status in STOPPED for certificate in machine.certificates)
    if not stopped:
        count = folds_needed(fold, labels, method)
    scores = np.empty((labels.n, len(labels.positives)))
    held = np.zeros(labels.n, dtype=bool)
    for k in range(count):
        rows = fold == k
        if not rows.any():
            continue
        found = scores_without(rows, _fold_options(options, machine, clock, count - k, count))
        if found is None:
            stopped = True
            break
        scores[rows] = found.reshape(len(found), -1)
        held |= rows
    held &= weights > 0
    _fill_in(scores, held, machine, stopped)
    problems = [
        Problem(scores[held, j], labels.codes[held] == labels.positives[j], weights[held])
        for j in range(scores.shape[1])
    ]
    if method == AUTO:
        method = better_method(problems, machine.keys[held])
    return fit_maps(method, problems)


def _fill_in(scores: np.ndarray, held: np.ndarray, machine: Calibrated, stopped: bool) -> None:
    """Rows of classes of which none was held out take part with the machine's own scores."""
    labels, weights = machine.labels, machine.labels.weights()
    missing = (weights > 0) & ~np.isin(labels.codes, labels.codes[held])
    if not missing.any():
        return
    names = ", ".join(str(label) for label in labels.classes[np.unique(labels.codes[missing])[:5]])
    why = "the fit was stopped" if stopped else "there are too few different rows of it"
    warnings.warn(
        f"no row of class {names} was held out, because {why}: its probabilities are calibrated on "
        "the scores of the rows that were trained on, and are likely too sure",
        UserWarning,
        stacklevel=callers_line(),
    )
    scores[missing] = machine.own().reshape(labels.n, -1)[missing]
    held |= missing


def _fold_options(
    options: Options, machine: Calibrated, clock: Clock, left: int, count: int
) -> Options:
    """What the machine of a fold may use: its share of the iterations, and of the time left."""
    iterations = max((certificate.n_iter for certificate in machine.certificates), default=1)
    share = max(2, math.ceil(iterations / count))
    seconds = None
    if options.max_time is not None:
        seconds = max((options.max_time - clock()) / left, 1e-3)
    return Options(
        tol=min(SLACK * options.tol, 0.5),
        max_iter=share if options.max_iter is None else min(share, options.max_iter),
        max_time=seconds,
        threads=options.threads,
        seed=options.seed,
    )


# ---------------------------------------------------------------- folds


def key_direction(d: int) -> np.ndarray:
    """A vector whose products with rows are their keys."""
    return np.random.default_rng(0).normal(size=d)


def folds_of(keys: np.ndarray, labels: Labels) -> np.ndarray:
    """The fold of each row, -1 for rows that are never held out.

    Equal rows of a class are in one fold. The different rows of each class are dealt in the order
    of their keys, so that every fold has its share of each class. Rows of weight 0, and a class of
    equal rows only, are not held out.
    """
    fold = np.full(labels.n, -1)
    weights, dealt = labels.weights(), 0
    for code in range(len(labels.classes)):
        rows = np.flatnonzero((labels.codes == code) & (weights > 0))
        different, place = np.unique(keys[rows], return_inverse=True)
        if len(different) < 2:
            continue
        fold[rows] = (place.ravel() + dealt) % FOLDS
        dealt += len(different)
    return fold


def folds_needed(fold: np.ndarray, labels: Labels, method: str) -> int:
    """How many folds to hold out until enough rows of every class were."""
    rows, of_class = ENOUGH[method]
    for count in range(1, FOLDS):
        held = np.bincount(labels.codes[(fold >= 0) & (fold < count)])
        if held.sum() >= rows and held.min() >= of_class and len(held) == len(labels.classes):
            return count
    return FOLDS


# ---------------------------------------------------------------- maps


@dataclass(frozen=True)
class Problem:
    """Scores of rows, whether they are of the class in question, and their weights."""

    f: np.ndarray
    is_one: np.ndarray
    s: np.ndarray

    def part(self, rows: np.ndarray) -> Problem:
        return Problem(self.f[rows], self.is_one[rows], self.s[rows])

    def log_losses(self, z: np.ndarray) -> np.ndarray:
        """Of log-odds z, row by row."""
        return np.logaddexp(0.0, np.where(self.is_one, -z, z))


def fit_maps(method: str, problems: Sequence[Problem]) -> Calibration:
    """A map for each problem."""
    if method == "sigmoid":
        found = np.array([fit_sigmoid(p.f, smoothed(p.is_one, p.s), p.s) for p in problems])
        return Sigmoid(np.ascontiguousarray(found[:, 0]), np.ascontiguousarray(found[:, 1]))
    parts = [fit_isotonic(p.f, smoothed(p.is_one, p.s), p.s) for p in problems]
    return Isotonic(
        np.concatenate([knots for knots, _ in parts]),
        np.concatenate([values for _, values in parts]),
        np.cumsum([0, *(len(knots) for knots, _ in parts)], dtype=np.int64),
    )


def better_method(problems: Sequence[Problem], keys: np.ndarray) -> str:
    """Isotonic if it is better on parts of the rows that were left out, by a standard error."""
    _, place = np.unique(keys, return_inverse=True)
    part = place.ravel() // FOLDS % 2
    lost = np.zeros(len(keys))
    for k in np.unique(part):
        others, own = part != k, part == k
        for problem in problems:
            if not problem.part(others).s.any():
                return "sigmoid"
            for method, sign in (("isotonic", 1.0), ("sigmoid", -1.0)):
                z = fit_maps(method, [problem.part(others)]).log_odds(problem.f[own])
                lost[own] += sign * problem.part(own).log_losses(z)
    s = problems[0].s
    mean = float(np.average(lost, weights=s))
    error = math.sqrt(float(np.average((lost - mean) ** 2, weights=s)) / float(s.sum()))
    return "isotonic" if mean < -error else "sigmoid"


def smoothed(is_one: np.ndarray, s: np.ndarray) -> np.ndarray:
    """``t_i``: what positives and negatives are taken for, given how much of them there is."""
    positive, total = float(s[is_one].sum()), float(s.sum())
    return np.where(is_one, (positive + 1) / (positive + 2), 1 / (total - positive + 2))


def fit_sigmoid(f: np.ndarray, t: np.ndarray, s: np.ndarray) -> tuple[float, float]:
    """A and B, by Newton's method on scores of mean 0 and deviation 1, halving steps that fail."""
    mean = float(np.average(f, weights=s))
    scale = math.sqrt(float(np.average((f - mean) ** 2, weights=s)))
    prior = float(np.average(t, weights=s))
    B = math.log(prior / (1 - prior))
    if not scale > 1e-12 * max(abs(mean), 1e-300):
        return 0.0, B
    x, A = (f - mean) / scale, 0.0
    value = _logistic(A * x + B, t, s)
    for _ in range(NEWTON_STEPS):
        p = 1 / (1 + np.exp(-np.clip(A * x + B, -500, 500)))
        slope = s * (p - t)
        gA, gB = float(slope @ x), float(slope.sum())
        h = s * p * (1 - p)
        hAA, hAB, hBB = float(h @ (x * x)) + 1e-12, float(h @ x), float(h.sum()) + 1e-12
        if max(abs(gA), abs(gB)) <= 1e-10 * float(s.sum()):
            break
        determinant = hAA * hBB - hAB * hAB
        dA, dB = (hAB * gB - hBB * gA) / determinant, (hAB * gA - hAA * gB) / determinant
        step, rate = 1.0, gA * dA + gB * dB
        if -rate <= ROUNDING * value:
            break  # the value can no longer tell better from worse
        while step > 1e-10:
            moved = _logistic((A + step * dA) * x + B + step * dB, t, s)
            if moved <= value + 1e-4 * step * rate:
                break
            step /= 2
        else:
            break
        A, B, value = A + step * dA, B + step * dB, moved
    return A / scale, B - A * mean / scale


def _logistic(z: np.ndarray, t: np.ndarray, s: np.ndarray) -> float:
    return float(s @ (np.logaddexp(0.0, z) - t * z))


def fit_isotonic(f: np.ndarray, t: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Knots and log-odds: the ends of the steps of the increasing function nearest to t."""
    from scipy.optimize import isotonic_regression

    at, place = np.unique(f, return_inverse=True)
    weight = np.bincount(place.ravel(), s)
    p = isotonic_regression(np.bincount(place.ravel(), s * t) / weight, weights=weight).x
    z = np.clip(np.log(p / (1 - p)), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    first = np.append(True, np.diff(z) > 0)
    ends = first | np.append(first[1:], True)
    return at[ends], z[ends]

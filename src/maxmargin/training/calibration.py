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

Where it can be computed what the machine would say of a row without that row (`left_out`), no
machine is trained again. Elsewhere a fold is a set of rows that weigh nothing. Its machine starts
from the answer on all rows and is given no more iterations than its share of those that answer
took, so that all folds together cost no more than the fit. It needs no certificate: a few steps
take it to where the left-out rows are forgotten. Where rows are many, some of them are enough.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.models.calibration import METHODS, Calibration, Isotonic, Sigmoid
from maxmargin.parameters import Options, ParameterError
from maxmargin.problem import Certificate, Clock, Status, callers_line
from maxmargin.training.left_out import LeftOut
from maxmargin.training.targets import Labels

AUTO = "auto"
FOLDS = 5
FEW, MANY = (10_000, 1_000), (100_000, 10_000)  # rows that are enough to hold out: all, of a class
ENOUGH = {AUTO: FEW, "sigmoid": FEW, "isotonic": MANY}
SLACK = 10.0  # the tolerance of a fold's machine, in those of the fit
STOPPED = (Status.MAX_TIME, Status.INTERRUPTED, Status.CALLBACK)
HASH = np.uint64(0x9E3779B97F4A7C15)  # odd, with bits all over
HASHES = 2.0**32

# Scores of the rows held out by a machine trained without them, (n held out, k); None if stopped.
ScoresWithout = Callable[[np.ndarray, Options], np.ndarray | None]
# Scores of rows left out one at a time, (n left out, k); None if folds are the cheaper way.
ScoresLeftOut = Callable[[LeftOut], np.ndarray | None]


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
    itself; `left_out`, where it is known, those of at most `most` rows without these rows.
    """

    labels: Labels
    keys: np.ndarray
    certificates: Sequence[Certificate]
    own: Callable[[], np.ndarray]
    left_out: ScoresLeftOut | None = None
    most: int | None = None


def calibrate(
    method: str, machine: Calibrated, scores_without: ScoresWithout, options: Options, clock: Clock
) -> Calibration:
    """The calibration of a machine, by machines trained without some of the rows.

    A fit that was stopped leaves no time for them: its own scores stand in, and that is said.
    `clock` has run since the fit began: `max_time` is for all of it.
    """
    labels, weights = machine.labels, machine.labels.weights()
    scores, held = np.empty((labels.n, len(labels.positives))), np.zeros(labels.n, dtype=bool)
    stopped = any(certificate.status in STOPPED for certificate in machine.certificates)
    if not stopped:
        stands_for = one_by_one(method, machine, scores, held)
        if stands_for is None:
            stopped = by_folds(method, machine, scores_without, options, clock, scores, held)
        else:
            weights = stands_for
    _fill_in(scores, held, machine, stopped)
    one = [labels.codes[held] == positive for positive in labels.positives]
    problems = [Problem(scores[held, j], is_one, weights[held]) for j, is_one in enumerate(one)]
    if method == AUTO:
        method = better_method(problems, machine.keys[held])
    return fit_maps(method, problems)


def one_by_one(
    method: str, machine: Calibrated, scores: np.ndarray, held: np.ndarray
) -> np.ndarray | None:
    """Rows left out one at a time; what each of them weighs, standing for others of its class."""
    if machine.left_out is None:
        return None
    out, stands_for = rows_to_leave_out(machine.keys, machine.labels, method, machine.most)
    found = machine.left_out(out)
    if found is None:
        return None
    scores[out.rows] = found
    held[out.rows] = True
    return stands_for


def by_folds(
    method: str,
    machine: Calibrated,
    scores_without: ScoresWithout,
    options: Options,
    clock: Clock,
    scores: np.ndarray,
    held: np.ndarray,
) -> bool:
    """Fills in the scores of rows that machines were trained without; whether it was stopped."""
    fold = folds_of(machine.keys, machine.labels)
    count = folds_needed(fold, machine.labels, method)
    for k in range(count):
        rows = fold == k
        if not rows.any():
            continue
        found = scores_without(rows, _fold_options(options, machine, clock, count - k, count))
        if found is None:
            return True
        scores[rows] = found.reshape(len(found), scores.shape[1])
        held |= rows
    return False


def _fill_in(scores: np.ndarray, held: np.ndarray, machine: Calibrated, stopped: bool) -> None:
    """Rows of classes of which none was held out take part with the machine's own scores."""
    labels, weights = machine.labels, machine.labels.weights()
    held_of = np.bincount(labels.codes[held], minlength=len(labels.classes))
    missing = (weights > 0) & (held_of == 0)[labels.codes]
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


# ---------------------------------------------------------------- rows left out one at a time


def hashed(keys: np.ndarray) -> np.ndarray:
    """32 bits that look random, the same for equal keys."""
    bits = (keys + 0.0).view(np.uint64)  # a zero has one sign
    return (bits ^ (bits >> np.uint64(29))) * HASH >> np.uint64(32)


def rows_to_leave_out(
    keys: np.ndarray, labels: Labels, method: str, most: int | None
) -> tuple[LeftOut, np.ndarray]:
    """Enough rows of every class, drawn by their contents, and what they weigh for all of it.

    Equal rows of a class are left out together. Rows of weight 0, and a class of equal rows only,
    are not left out.
    """
    weights, (enough, of_class) = labels.weights(), ENOUGH[method]
    enough = enough if most is None else min(enough, most)
    stands_for = weights.copy()
    rows, group, first, groups = [], [], [], 0
    for code in range(len(labels.classes)):
        own = np.flatnonzero((labels.codes == code) & (weights > 0))
        share = max(enough / labels.n, of_class / max(len(own), 1))
        drawn = own if share >= 1 else own[hashed(keys[own]) < share * HASHES]
        where, place = groups_of_equals(keys[drawn])
        if len(where) < 2:
            continue
        stands_for[drawn] *= weights[own].sum() / weights[drawn].sum()
        rows.append(drawn)
        group.append(place + groups)
        first.append(drawn[where])
        groups += len(where)
    if not rows:
        nothing = np.empty(0, dtype=np.intp)
        return LeftOut(nothing, nothing, nothing), stands_for
    return LeftOut(np.concatenate(rows), np.concatenate(group), np.concatenate(first)), stands_for


def groups_of_equals(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The place of one key of each group of equal ones, and the group of each."""
    order = np.argsort(keys)
    in_order = keys[order]
    is_new = np.append(True, in_order[1:] != in_order[:-1])[: len(keys)]
    if is_new.all():
        return np.arange(len(keys)), np.arange(len(keys))
    group = np.empty(len(keys), dtype=np.intp)
    group[order] = np.cumsum(is_new) - 1
    return order[is_new], group


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
    part = hashed(keys) % np.uint64(2)
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
    slope, offset, _ = _core.fit_sigmoid(f, t, s)
    return slope, offset


def fit_isotonic(f: np.ndarray, t: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Knots and log-odds: the ends of the steps of the increasing function nearest to t."""
    return _core.fit_isotonic(f, t, s)

"""Which errors a kernel machine trades for which: machines along the weight of one class.

    odds r      positives weigh r times as much as negatives, all of a class taken together
    for every fold
        for r from small to large     each fit started from the one before
            the rates of false and of true positives on the rows held out

A Neyman-Pearson machine is the point with the most true positives among those whose rate of false
positives is at most what is allowed. The rows of a fold that are held out weigh nothing, and as
steps keep all residuals up to date, their predictions are there when a fit ends.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.parameters import ParameterError, is_whole
from maxmargin.solvers.common.run import interruptible
from maxmargin.solvers.kernel.path import NO_LIMIT, BinaryProblem, RegularisationPath
from maxmargin.solvers.kernel.sources import PartialSource, budget_of, source_of
from maxmargin.training.folds import Folds, check_weighed, checked_folds
from maxmargin.training.kernel import KernelPlan, form_of, rows_for, threads_for
from maxmargin.training.kernel_gamma import gamma_of
from maxmargin.training.kernel_offset import with_constant
from maxmargin.training.normal_form import NormalForm
from maxmargin.training.targets import Labels, labels_of
from maxmargin.training.weights import checked_weights

WIDEST = 64.0  # odds from 1 / 64 to 64
POLL = 0.02  # seconds between two looks at the stop flag


@dataclass(frozen=True)
class RocFront:
    """Rates on held-out rows, by the weight of the second class.

    Parameters
    ----------
    classes : array
        The two classes; the second is the positive one.
    totals : array
        The weights of the rows of each class.
    odds : array
        What all positives weigh over what all negatives weigh, growing.
    false_positive_rate, true_positive_rate : arrays
        Of the held-out rows of all folds, NaN where the time was over.
    """

    classes: np.ndarray
    totals: np.ndarray
    odds: np.ndarray
    false_positive_rate: np.ndarray
    true_positive_rate: np.ndarray

    def weights(self, odds: float) -> tuple[float, float]:
        """Of a row of each class, so that the sum over all rows stays what it is."""
        total = float(self.totals.sum())
        share = odds / (1.0 + odds)
        return (1.0 - share) * total / self.totals[0], share * total / self.totals[1]

    def best(self, max_false_positive_rate: float) -> int:
        """The place of the most true positives at no more than this rate of false ones."""
        allowed = self.false_positive_rate <= max_false_positive_rate
        if not allowed.any():
            known = self.false_positive_rate[~np.isnan(self.false_positive_rate)]
            least = f"{known.min():.4g}" if known.size else "unknown"
            raise ValueError(
                f"no weight has a rate of false positives of at most {max_false_positive_rate:g}: "
                f"the least is {least}, at odds from {self.odds[0]:.3g} to {self.odds[-1]:.3g}. "
                f"Try smaller odds, another C and gamma, or allow more"
            )
        order = np.lexsort((self.false_positive_rate, -self.true_positive_rate, ~allowed))
        return int(order[0])

    def class_weight(self, max_false_positive_rate: float) -> dict[Any, float]:
        """`class_weight` of the Neyman-Pearson machine for this rate of false positives."""
        found = self.weights(float(self.odds[self.best(max_false_positive_rate)]))
        return dict(zip(self.classes.tolist(), found, strict=True))


def odds_of(given: Any) -> np.ndarray:
    """Positive numbers, growing; or how many from 1 / 64 to 64."""
    if is_whole(given) and given >= 2:
        return np.geomspace(1.0 / WIDEST, WIDEST, int(given))
    found = np.unique(np.asarray(given, dtype=np.float64)) if np.ndim(given) == 1 else np.zeros(0)
    if not found.size or not np.isfinite(found).all() or found[0] <= 0:
        raise ParameterError("odds", "positive numbers, or how many (at least 2)", given)
    return found


def roc_front(
    X: Any, y: np.ndarray, plan: KernelPlan, odds: Any, folds: Folds, sample_weight: Any = None
) -> RocFront:
    """Rates of false and true positives by cross-validation, one weight after another."""
    labels = labels_of(y, sample_weight)
    refuse(plan, len(labels.classes))
    counts, values = checked_weights(sample_weight, labels.n), odds_of(odds)
    folds = checked_folds(folds, labels.n)
    check_weighed(folds, counts)
    check_both_held_out(labels, counts, folds)
    X = rows_for(X, plan.kernel, plan.offset)
    form = form_of(X, labels, plan, counts, folds)
    totals = np.bincount(form.codes, weights=form.weights, minlength=2)
    nothing = np.full(len(values), np.nan)
    front = RocFront(labels.classes, totals, values, nothing, nothing)
    with interruptible(plan.options.max_time) as stop:
        try:
            predicted = held_out(form, front, plan, stop)
        except _core.Stopped:
            return front
    return replace(front, **rates(form, predicted))


def check_both_held_out(labels: Labels, counts: np.ndarray | None, folds: Folds) -> None:
    """Rates are shares of the rows of a class that are held out: there must be some."""
    tests = np.concatenate([test for _, test in folds])
    weights = None if counts is None else counts[tests]
    held = np.bincount(labels.codes[tests], weights=weights, minlength=2)
    if not held.all():
        missing = labels.classes[int(np.argmin(held))]
        raise ValueError(
            f"the folds hold out no row of class {missing} that weighs anything; expected rows "
            f"of both classes among the {len(tests)} held out"
        )


def refuse(plan: KernelPlan, classes: int) -> None:
    """What has no front."""
    if classes != 2:
        raise ValueError(f"a front of two rates needs two classes; got {classes}")
    if plan.class_weight is not None:
        raise ValueError("the front finds the class weights itself: leave out class_weight")
    if plan.cells is not None:
        raise ValueError("there is no front for machines in cells: leave out cells")


def held_out(
    form: NormalForm, front: RocFront, plan: KernelPlan, stop: _core.Stop
) -> list[np.ndarray]:
    """Which held-out rows of each fold every machine takes for positive: (odds, rows)."""
    gamma = gamma_of(plan.gamma, form.X, form.weights) if plan.has_gamma else 1.0
    pool = _core.Pool(threads_for(plan.options, form.X, len(form.folds)), stop)
    kernel = with_constant(plan.kernel_with(gamma), plan.offset)
    source = source_of(form.X, kernel, budget_of(plan.memory), pool)
    if isinstance(source, PartialSource):
        source.fill(pool)
    problem = BinaryProblem(source, np.where(form.codes == 1, 1.0, -1.0), form.weights)
    with ThreadPoolExecutor(pool.threads if source.rows.whole else 1) as executor:
        futures = [
            executor.submit(one_fold, problem, fold, form, front, plan, stop) for fold in form.folds
        ]
        while wait(futures, timeout=POLL).not_done:
            stop.poll()
    return [future.result() for future in futures]


def one_fold(
    problem: BinaryProblem,
    fold: tuple[np.ndarray, np.ndarray],
    form: NormalForm,
    front: RocFront,
    plan: KernelPlan,
    stop: _core.Stop,
) -> np.ndarray:
    """The machines of a fold, from the smallest weight of the positives on."""
    train, test = fold
    s = np.zeros(len(form.codes))
    s[train] = form.weights[train]
    C = float(plan.C) * float(form.weights.sum() / s.sum())
    method = replace(plan.method, rule="clipped") if plan.stopping == "relative" else plan.method
    path: RegularisationPath | None = None
    predicted = np.empty((len(front.odds), len(test)), dtype=bool)
    for k, odds in enumerate(front.odds):
        weighed = s * np.array(front.weights(float(odds)))[form.codes]
        if path is None:
            one = replace(problem, s=weighed)
            path = RegularisationPath(one, method, _core.Pool(1), stop, False, plan.options.seed)
            path.start(C)
        else:
            path.reweigh(weighed)
        if path.run(plan.options.tol, plan.options.max_iter or NO_LIMIT) == _core.RunEnd.stopped:
            raise _core.Stopped
        predicted[k] = (path.y - path.r)[test] > 0
    return predicted


def rates(form: NormalForm, predicted: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Shares of the negatives and of the positives that were taken for positive."""
    tests = np.concatenate([test for _, test in form.folds])
    taken, counts = np.concatenate(predicted, axis=1), form.counts[tests]
    found = {}
    for name, code in (("false_positive_rate", 0), ("true_positive_rate", 1)):
        weight = np.where(form.codes[tests] == code, counts, 0.0)
        found[name] = taken @ weight / weight.sum()
    return found

"""What a search of (C, gamma) is given, and what it gives back."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin.problem import C_from_lambda
from maxmargin.solvers.kernel.coding import Coding
from maxmargin.solvers.kernel.gram import Kernel, KernelCallable
from maxmargin.solvers.kernel.two_variable import KernelSolution

DEVIATIONS = 2.0  # standard deviations that two errors may differ by chance


def paper_Cs(n: int, count: int, total: float | None = None) -> np.ndarray:
    """C for lambda geometric in [10 n^-2, 1], growing; `total` is the sum of weights if not n."""
    lowest = min(10.0 / n**2, 1.0)
    total = n if total is None else total
    return np.array([C_from_lambda(lam, total) for lam in np.geomspace(1.0, lowest, count)])


def paper_gammas(n: int, d: int, kernel: str, count: int) -> np.ndarray:
    """gamma for sigma geometric in [0.1, 2 n^(1/d)], growing."""
    sigmas = np.geomspace(0.1, 2.0 * n ** (1.0 / max(d, 1)), count)
    return sigmas if kernel == "laplacian" else sigmas**2


@dataclass
class GridResult:
    """What every point of the grid gave: arrays (gammas, Cs, folds), NaN where it was cut short.

    `loss` is the mean hinge loss of the validation rows, predictions clipped to [-1, 1].
    """

    Cs: np.ndarray
    gammas: np.ndarray
    error: np.ndarray
    loss: np.ndarray
    iterations: np.ndarray
    best: tuple[int, int] = (0, 0)
    seconds: float = 0.0
    complete: bool = True
    solutions: list[KernelSolution] = field(default_factory=list)

    @property
    def C(self) -> float:
        return float(self.Cs[self.best[1]])

    @property
    def gamma(self) -> float:
        return float(self.gammas[self.best[0]])


@dataclass(frozen=True)
class GridProgress:
    """What a callback of a grid sees after every task (one fold of one gamma)."""

    done: int
    total: int
    seconds: float
    best_error: float
    best_C: float
    best_gamma: float

    @property
    def seconds_left(self) -> float:
        return self.seconds / max(self.done, 1) * (self.total - self.done)


@dataclass
class GridProblem:
    """What is searched: rows, class numbers, weights, folds, and the grid.

    `counts` weigh the validation rows in errors and losses.
    `kernel` is a Kernel (its gamma is replaced), a function of two arrays, or "precomputed"; the
    last two have one gamma. `folds` are pairs of index arrays (training, validation).
    """

    X: Any
    codes: np.ndarray
    weights: np.ndarray
    counts: np.ndarray
    folds: Sequence[tuple[np.ndarray, np.ndarray]]
    coding: Coding
    kernel: Kernel | KernelCallable | str
    Cs: np.ndarray
    gammas: np.ndarray

    @property
    def n(self) -> int:
        return self.codes.shape[0]


def best_point(error: np.ndarray, loss: np.ndarray) -> tuple[int, int]:
    """(gamma, C) of the smallest mean error over folds; of equal ones the smallest loss, then the
    first. Whoever names a best point names this one. NaN counts as not tried; where no point was
    tried in every fold, the folds that there are decide."""
    errors, losses = error.mean(axis=2), loss.mean(axis=2)
    if np.isnan(errors).all() and not np.isnan(error).all():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # points without any fold
            errors, losses = np.nanmean(error, axis=2), np.nanmean(loss, axis=2)
    order = np.lexsort((losses.ravel(), np.nan_to_num(errors.ravel(), nan=np.inf)))
    g, at = np.unravel_index(order[0], errors.shape)
    return int(g), int(at)


def promising(error: np.ndarray, least: float, counts: np.ndarray) -> np.ndarray:
    """Which errors on one fold may belong to the best point, as far as chance goes.

    Two machines that err on shares p and q of m rows differ by ``p - q`` with a variance of at
    most ``(p + q) / m``: more than `DEVIATIONS` of its roots above `least` is no chance.
    """
    total, squares = float(counts.sum()), float(counts @ counts)
    m = total * total / squares if squares > 0 else 1.0
    chance = DEVIATIONS * np.sqrt((error + least) / m)
    return np.asarray(~(error - least > chance))


def mean(values: np.ndarray, weights: np.ndarray) -> float:
    """The weighted mean; NaN where nothing weighs."""
    total = float(weights.sum())
    return float((values * weights).sum()) / total if total > 0 else np.nan


def mean_of_known(errors: np.ndarray) -> float:
    """The mean of those that are no NaN; infinity if all are."""
    known = errors[~np.isnan(errors)]
    return float(known.mean()) if known.size else np.inf


def empty_result(problem: GridProblem) -> GridResult:
    shape = (len(problem.gammas), len(problem.Cs), len(problem.folds))
    error, loss = np.full(shape, np.nan), np.full(shape, np.nan)
    return GridResult(problem.Cs, problem.gammas, error, loss, np.zeros(shape, dtype=np.int64))

"""From rows and labels to sparse kernel models: one basis for all classes, one run for all sizes.

Estimators and commands both train here; nothing in this file needs scikit-learn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.cpus import granted_cpus
from maxmargin.losses.hinge import Hinge
from maxmargin.models.kernel_training import _checked, _is_number, gamma_of
from maxmargin.models.sparse_kernel import SparseKernelModel
from maxmargin.problem import Callback, Progress, Settings
from maxmargin.solvers import subspace_pursuit
from maxmargin.solvers.basis_choice import BASES, check_preimages, choice_of
from maxmargin.solvers.coding import coding_of
from maxmargin.solvers.kernels import KERNELS, Kernel
from maxmargin.solvers.preimages import Search
from maxmargin.solvers.run import interruptible
from maxmargin.solvers.subspace import Subspace
from maxmargin.solvers.subspace_pursuit import Stage


@dataclass(frozen=True)
class SparseKernelPlan:
    """What is to be solved, how, and when to stop. Construction checks every value.

    Parameters are those of SparseKernelSVC.
    """

    n_basis: int | Sequence[int] = 100
    C: float = 1.0
    kernel: str = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    basis: str = "free"
    residual_rows: int = Search.rows
    starts: int = Search.starts
    restarts: int = Search.restarts
    tol: float = 1e-3
    max_iter: int | None = None
    max_time: float | None = None
    threads: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, str) or self.kernel not in KERNELS:
            raise ValueError(
                f"kernel must be one of {', '.join(KERNELS)} (basis vectors that are no training "
                f"rows need a kernel by name); got {self.kernel!r}"
            )
        for name in ("C", "tol"):
            value = getattr(self, name)
            if not (_is_number(value) and value > 0 and math.isfinite(value)):
                raise ValueError(f"{name} must be a positive number; got {value!r}")
        for name in ("residual_rows", "starts", "restarts"):
            value = getattr(self, name)
            if not (_is_number(value) and value >= 1 and int(value) == value):
                raise ValueError(f"{name} must be a positive integer; got {value!r}")
        for name in ("max_iter", "max_time", "threads"):
            value = getattr(self, name)
            if value is not None and not (_is_number(value) and value > 0):
                raise ValueError(f"{name} must be positive, or None for no limit; got {value!r}")
        if self.basis not in BASES:
            raise ValueError(f"basis must be one of {', '.join(BASES)}; got {self.basis!r}")
        if self.basis == "free":
            check_preimages(Kernel(self.kernel, 1.0, self.degree, self.coef0))
        _ = self.sizes

    @property
    def sizes(self) -> list[int]:
        """The numbers of basis vectors to stop at, increasing."""
        one: Any = self.n_basis
        given = [one] if _is_number(one) else list(one)
        whole = all(_is_number(k) and int(k) == k and k >= 1 for k in given)
        if not given or not whole or any(a >= b for a, b in pairwise(given)):
            raise ValueError(
                f"n_basis must be a whole number >= 1, or an increasing sequence of them; "
                f"got {self.n_basis!r}"
            )
        return [int(k) for k in given]

    @property
    def search(self) -> Search:
        return Search(int(self.residual_rows), int(self.starts), int(self.restarts))


@dataclass(frozen=True)
class TrainedSparseKernel:
    """A model for each size asked for that was reached (at least one), and the runs behind them."""

    path: list[SparseKernelModel]
    stages: list[Stage]
    gamma: float

    @property
    def model(self) -> SparseKernelModel:
        """The largest."""
        return self.path[-1]

    @property
    def history(self) -> list[Progress]:
        """All problems' progress up to the largest model, one after the other."""
        return [p for solution in self.stages[-1].solutions for p in solution.history]


def train(
    X,
    y: np.ndarray,
    plan: SparseKernelPlan,
    weights: np.ndarray | None = None,
    callback: Callback | None = None,
) -> TrainedSparseKernel:
    """Trains on finite rows X (dense or CSR) with labels y and weights of rows.

    Ctrl-C and `max_time` give the best model so far; its certificates say how good it is.
    """
    classes, codes, weights = _checked(X, y, weights, plan.kernel)
    n, sizes = X.shape[0], plan.sizes
    if plan.basis != "free" and sizes[-1] > n:
        raise ValueError(
            f"n_basis={sizes[-1]} vectors cannot be chosen among {n} training rows "
            f"(basis={plan.basis!r}): ask for at most {n}, or use basis='free'"
        )
    gamma = gamma_of(plan.gamma, X, weights) if plan.kernel != "linear" else 1.0
    kernel = Kernel(plan.kernel, gamma, plan.degree, plan.coef0)
    with interruptible(plan.max_time) as stop:
        pool = _core.Pool(plan.threads or granted_cpus(), stop)
        settings = Settings(plan.tol, plan.max_iter, plan.seed, callback, stop)
        subspace = Subspace(X, kernel, sizes[-1], pool)
        losses = [
            Hinge(signs, plan.C * weights, pool)
            for signs in coding_of(len(classes), "ovr").labels(codes)
        ]
        choice = choice_of(plan.basis, subspace, plan.search, plan.seed)
        stages = subspace_pursuit.solve(subspace, losses, choice, sizes, settings)
    vectors = subspace.basis.kept()
    path = [_model(stage, vectors, classes, kernel, plan) for stage in stages]
    return TrainedSparseKernel(path, stages, gamma)


def _model(stage: Stage, vectors, classes, kernel: Kernel, plan) -> SparseKernelModel:
    names = ("basis", "kernel", "degree", "coef0", "residual_rows", "starts", "restarts", "tol")
    parameters = {name: getattr(plan, name) for name in (*names, "max_iter", "max_time")} | {
        "n_basis": stage.k if stage.k else plan.sizes[0],
        "C": float(plan.C),
        "gamma": float(kernel.gamma),
        "n_jobs": plan.threads,
        "random_state": plan.seed,
    }
    beta = np.zeros((stage.k, len(stage.solutions)))
    for p, solution in enumerate(stage.solutions):  # a run that was stopped may know fewer vectors
        beta[: len(solution.beta), p] = solution.beta
    return SparseKernelModel(
        kernel,
        vectors[: stage.k],
        beta,
        classes,
        tuple(solution.certificate for solution in stage.solutions),
        tuple(solution.bounds for solution in stage.solutions),
        parameters=parameters,
    )

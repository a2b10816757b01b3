"""From rows and labels to sparse kernel models: one basis for all classes, one run for all sizes.

Estimators and commands both train here; nothing in this file needs scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.cpus import granted_cpus
from maxmargin.losses.base import Loss
from maxmargin.losses.measures import MEASURES
from maxmargin.losses.pointwise import LossSpec, losses_for
from maxmargin.models.sparse_kernel import SparseKernelModel
from maxmargin.parameters import (
    Options,
    ParameterError,
    is_number,
    is_whole,
    one_of,
    positive,
    positive_whole,
)
from maxmargin.problem import Clock, Progress, Solution, joined
from maxmargin.solvers.common.run import interruptible
from maxmargin.solvers.kernel.coding import coding_of
from maxmargin.solvers.kernel.gram import KERNELS, Kernel
from maxmargin.solvers.subspace import subspace_pursuit
from maxmargin.solvers.subspace.basis_choice import BASES, check_preimages, choice_of
from maxmargin.solvers.subspace.kernel_values import diagonal
from maxmargin.solvers.subspace.preimages import PreImageOptions
from maxmargin.solvers.subspace.span import Subspace
from maxmargin.solvers.subspace.subspace_pursuit import Pursuit, Stage
from maxmargin.training.calibration import method_of
from maxmargin.training.choice import Start
from maxmargin.training.fit import LinearPlan, Trained
from maxmargin.training.kernel_gamma import check_gamma, gamma_of
from maxmargin.training.linear import calibrated
from maxmargin.training.scores import Measure, cut
from maxmargin.training.targets import Labels, labels_of

# Parameters that a model file keeps as they are.
KEPT = (
    *("loss", "beta", "k", "class_weight", "probability"),
    *("kernel", "degree", "coef0"),
    *("basis", "residual_rows", "starts", "restarts", "bounds", "delta"),
)


@dataclass(frozen=True)
class SparseKernelPlan:
    """What a machine on few basis vectors is to minimise, and how. Construction checks every value.

    Parameters are those of SparseKernelSVC.
    """

    n_basis: int | Sequence[int] = 100
    C: float = 1.0
    loss: str = "hinge"
    beta: float = 1.0
    k: int | float | None = None
    pos_label: Any = None
    kernel: str = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    basis: str = "free"
    residual_rows: int = PreImageOptions.rows
    starts: int = PreImageOptions.starts
    restarts: int = PreImageOptions.restarts
    bounds: str = "auto"
    delta: float | None = None
    class_weight: Mapping | str | None = None
    probability: bool | str = False
    options: Options = field(default_factory=Options)

    def __post_init__(self) -> None:
        positive("C", self.C)
        one_of("loss", self.loss, (*losses_for("classification"), *MEASURES))
        positive("beta", self.beta)
        if self.pos_label is not None and self.loss not in MEASURES:
            raise ValueError(
                f"pos_label is for measures, but loss={self.loss!r} treats both classes alike: "
                "leave it out"
            )
        if method_of(self.probability) is not None and self.loss in MEASURES:
            raise ValueError(
                f"loss={self.loss!r} is a measure of all labels at once, whose cut probabilities "
                "would undo: leave probability out, or use loss='hinge'"
            )
        one_of("kernel", self.kernel, KERNELS)
        check_gamma(self.gamma)
        for name in ("residual_rows", "starts", "restarts"):
            positive_whole(name, getattr(self, name))
        one_of("bounds", self.bounds, ("auto", "exact"))
        if self.delta is not None:
            positive("delta", self.delta)
        one_of("basis", self.basis, BASES)
        if self.basis == "free":
            check_preimages(Kernel(self.kernel, 1.0, self.degree, self.coef0))
        _ = self.sizes

    @property
    def sizes(self) -> list[int]:
        """The numbers of basis vectors to stop at, increasing."""
        given: Any = [self.n_basis] if is_number(self.n_basis) else self.n_basis
        whole = isinstance(given, Iterable) and all(is_whole(k) and k >= 1 for k in given)
        if not whole or len(given) == 0 or any(a >= b for a, b in pairwise(given)):
            raise ParameterError(
                "n_basis", "a whole number >= 1, or an increasing sequence of them", self.n_basis
            )
        return [int(k) for k in given]

    @property
    def measure(self) -> Measure | None:
        """The measure of all labels at once that the loss bounds, if it is not a sum over rows."""
        return (
            Measure(self.loss, self.beta, self.k, self.pos_label) if self.loss in MEASURES else None
        )

    def problem(self, signs: np.ndarray, labels: Labels, pool: _core.Pool) -> Loss:
        """The loss of one class (sign +1) against the others."""
        if self.measure is not None:
            return self.measure.loss(signs, self.C, labels.weight)(pool)
        return LossSpec(self.loss).on_margins(signs, labels.costs(self.C), pool)

    @property
    def pre_images(self) -> PreImageOptions:
        return PreImageOptions(int(self.residual_rows), int(self.starts), int(self.restarts))


@dataclass(frozen=True)
class TrainedSparseKernel:
    """A model for each size asked for that was reached (at least one), and the runs behind them."""

    path: list[SparseKernelModel]
    stages: list[Stage]
    gamma: float
    starts: None = None  # every basis is sought anew

    def with_model(self, model: SparseKernelModel) -> TrainedSparseKernel:
        """The same runs, with the largest model changed after them."""
        return replace(self, path=[*self.path[:-1], model])

    @property
    def model(self) -> SparseKernelModel:
        """The largest."""
        return self.path[-1]

    @property
    def history(self) -> list[Progress]:
        """All problems' progress up to the largest model, one after the other."""
        return joined(solution.history for solution in self.stages[-1].solutions)


def train(
    X, y: np.ndarray, plan: SparseKernelPlan, sample_weight: Any = None
) -> TrainedSparseKernel:
    """Trains on finite rows X (dense or CSR) with labels y and weights of rows.

    Ctrl-C and `max_time` give the best model so far; its certificates say how good it is.
    """
    clock = Clock()
    labels, options = labels_of(y, sample_weight, plan.class_weight), plan.options
    classes, weights = labels.classes, labels.weights()
    n, sizes = X.shape[0], plan.sizes
    turn = -1.0 if plan.measure is not None and plan.measure.turns(classes) else 1.0
    codings = [turn * signs for signs in coding_of(len(classes), "ovr").labels(labels.codes)]
    if plan.basis != "free" and sizes[-1] > n:
        raise ValueError(
            f"n_basis={sizes[-1]} vectors cannot be chosen among {n} training rows "
            f"(basis={plan.basis!r}): ask for at most {n}, or use basis='free'"
        )
    gamma = gamma_of(plan.gamma, X, weights) if plan.kernel != "linear" else 1.0
    kernel = Kernel(plan.kernel, gamma, plan.degree, plan.coef0)
    # What overflows in a search ends in a certificate that says so.
    with interruptible(options.max_time) as stop, np.errstate(all="ignore"):
        pool = _core.Pool(options.threads or granted_cpus(), stop)
        settings = options.settings(stop)
        subspace = Subspace(X, kernel, sizes[-1], pool)
        _check_range(subspace)
        losses = [plan.problem(signs, labels, pool) for signs in codings]
        choice = choice_of(plan.basis, subspace, plan.pre_images, options.seed)
        all_rows, pursuit = plan.bounds == "exact", Pursuit(delta=plan.delta)
        stages = subspace_pursuit.solve(
            subspace, losses, choice, sizes, settings, all_rows, pursuit
        )
    vectors = subspace.basis.kept()
    path = [
        replace(
            _model(stage, vectors, classes, kernel, plan, turn),
            intercept=_cuts(stage, codings, labels, plan, turn),
        )
        for stage in stages
    ]
    method = method_of(plan.probability)
    if method is not None and not (plan.probability is True and path[-1].calibration is not None):
        path = [_calibrated(method, model, subspace, labels, plan, clock) for model in path]
    return TrainedSparseKernel(path, stages, gamma)


def _calibrated(
    method: str,
    model: SparseKernelModel,
    subspace: Subspace,
    labels: Labels,
    plan: SparseKernelPlan,
    clock: Clock,
) -> SparseKernelModel:
    """The model with probabilities, by linear machines on the coordinates in its span.

    The basis is that of all rows: what is held out is the part of the labels in the coefficients.
    """
    k = model.n_basis
    W = subspace.L[:k, :k].T @ model.coefficients
    solutions = [Solution(w, c) for w, c in zip(W.T.copy(), model.certificates)]
    linear = LinearPlan(plan.C, loss=plan.loss, bias=0.0, options=plan.options)
    trained = Trained(model, solutions, [Start(solution.w) for solution in solutions])
    return calibrated(method, subspace.all_coordinates(k), labels, linear, trained, clock).model


def _check_range(subspace: Subspace) -> None:
    """Refuses rows whose kernel values float64 cannot hold."""
    kernel, largest = subspace.kernel, float(subspace.norms.max(initial=0.0))
    if not np.isfinite(diagonal(kernel, np.float64(largest))):
        raise ValueError(
            f"kernel values of these rows overflow: the longest has a squared norm of "
            f"{largest:.2g} and the kernel is {kernel.name!r}. Scale the features, or take a "
            "smaller gamma or degree"
        )


def _cuts(
    stage: Stage,
    codings: list[np.ndarray],
    labels: Labels,
    plan: SparseKernelPlan,
    turn: float,
) -> np.ndarray | None:
    """What is added to the scores where a measure of their order says nothing of a threshold."""
    measure = plan.measure
    if measure is None or not measure.needs_cut:
        return None
    return -turn * np.array(
        [
            cut(solution.predictions, signs, measure, labels)
            for solution, signs in zip(stage.solutions, codings, strict=True)
        ]
    )


def _model(
    stage: Stage, vectors, classes, kernel: Kernel, plan: SparseKernelPlan, turn: float
) -> SparseKernelModel:
    parameters = {name: getattr(plan, name) for name in KEPT} | {
        "pos_label": None if plan.measure is None else plan.measure.pos_label,
        "n_basis": stage.k if stage.k else plan.sizes[0],
        "C": float(plan.C),
        "gamma": float(kernel.gamma),
        "tol": plan.options.tol,
        "max_iter": plan.options.max_iter,
        "random_state": plan.options.seed or None,
    }
    beta = np.zeros((stage.k, len(stage.solutions)))
    for p, solution in enumerate(stage.solutions):  # a run that was stopped may know fewer vectors
        beta[: len(solution.beta), p] = turn * solution.beta
    return SparseKernelModel(
        kernel,
        vectors[: stage.k],
        beta,
        classes,
        certificates=tuple(solution.certificate for solution in stage.solutions),
        bounds=tuple(solution.bounds for solution in stage.solutions),
        parameters=parameters,
    )

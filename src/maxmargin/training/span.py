"""A kernel machine in the span of few basis vectors, for losses of any kind.

minimise   1/2 ||f||^2 + R(f(x_1) .. f(x_n)),     f in the span of k basis vectors

What all these machines share: how the basis is found, and what a model keeps of it. The losses are
in `training.subspace` (classes and measures) and `training.span_scores` (all others).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import useful_threads
from maxmargin.losses.base import Loss
from maxmargin.parameters import (
    Options,
    ParameterError,
    is_number,
    is_whole,
    one_of,
    positive,
    positive_whole,
)
from maxmargin.problem import Progress, joined
from maxmargin.solvers.common.run import interruptible
from maxmargin.solvers.kernel.blas import OneBlasThread
from maxmargin.solvers.kernel.gram import KERNELS, Kernel
from maxmargin.solvers.subspace import subspace_pursuit
from maxmargin.solvers.subspace.basis_choice import BASES, check_preimages, choice_of
from maxmargin.solvers.subspace.kernel_values import diagonal
from maxmargin.solvers.subspace.preimages import PreImageOptions
from maxmargin.solvers.subspace.span import Subspace
from maxmargin.solvers.subspace.subspace_pursuit import Pursuit, Stage
from maxmargin.training.kernel_gamma import check_gamma, gamma_of


@dataclass(frozen=True, kw_only=True)
class SpanPlan:
    """The basis of a machine, and how it is found. Construction checks every value."""

    n_basis: int | Sequence[int] = 100
    C: float = 1.0
    kernel: str = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    basis: str = "free"
    residual_rows: int = PreImageOptions.rows
    starts: int = PreImageOptions.starts
    restarts: int = PreImageOptions.restarts
    bounds: str = "auto"
    options: Options = field(default_factory=Options)

    kept: ClassVar[tuple[str, ...]] = (  # parameters that a model file keeps as they are
        *("kernel", "degree", "coef0", "basis", "residual_rows", "starts", "restarts", "bounds"),
    )

    def __post_init__(self) -> None:
        positive("C", self.C)
        one_of("kernel", self.kernel, KERNELS)
        check_gamma(self.gamma)
        for name in ("residual_rows", "starts", "restarts"):
            positive_whole(name, getattr(self, name))
        one_of("bounds", self.bounds, ("auto", "exact"))
        if self.nearness is not None:
            positive(self.nearness_name, self.nearness)
        one_of("basis", self.basis, BASES)
        if self.basis == "free":
            check_preimages(Kernel(self.kernel, 1.0, self.degree, self.coef0))
        _ = self.sizes

    nearness_name: ClassVar[str] = "delta"

    @property
    def nearness(self) -> float | None:
        """How near to the span every plane is to be, if vectors are to be added until then."""
        return getattr(self, self.nearness_name)

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

    def parameters(self, stage: Stage, gamma: float) -> dict[str, Any]:
        """What a model says of how it was made."""
        return {name: getattr(self, name) for name in self.kept} | {
            "n_basis": stage.k if stage.k else self.sizes[0],
            "C": float(self.C),
            "gamma": float(gamma),
            "tol": self.options.tol,
            "max_iter": self.options.max_iter,
            "random_state": self.options.seed or None,
        }


@dataclass(frozen=True)
class TrainedSpan:
    """A model for each size asked for that was reached (at least one), and the runs behind them."""

    path: list[Any]
    stages: list[Stage]
    gamma: float
    starts: None = None  # every basis is sought anew

    def with_model(self, model: Any) -> TrainedSpan:
        """The same runs, with the largest model changed after them."""
        return replace(self, path=[*self.path[:-1], model])

    @property
    def model(self) -> Any:
        """The largest."""
        return self.path[-1]

    @property
    def history(self) -> list[Progress]:
        """All problems' progress up to the largest model, one after the other."""
        return joined(solution.history for solution in self.stages[-1].solutions)


@dataclass(frozen=True)
class Span:
    """The basis that was found, and the machines on growing parts of it."""

    subspace: Subspace
    kernel: Kernel
    vectors: Any
    stages: list[Stage]

    def parts(self, stage: Stage, turn: float = 1.0) -> dict[str, Any]:
        """The fields of a model that every machine on these vectors has; `turn` is a sign."""
        beta = np.zeros((stage.k, len(stage.solutions)))
        for p, solution in enumerate(stage.solutions):  # one that was stopped may know fewer
            beta[: len(solution.beta), p] = turn * solution.beta
        return {
            "kernel": self.kernel,
            "vectors": self.vectors[: stage.k],
            "coefficients": beta,
            "certificates": tuple(solution.certificate for solution in stage.solutions),
            "bounds": tuple(solution.bounds for solution in stage.solutions),
        }


def pursue(
    X: Any,
    make_losses: Callable[[_core.Pool], Sequence[Loss]],
    plan: SpanPlan,
    weights: np.ndarray,
) -> Span:
    """The basis, and the machines on it, for finite rows X and all losses that share it."""
    sizes, options = plan.sizes, plan.options
    if plan.basis != "free" and sizes[-1] > X.shape[0]:
        raise ValueError(
            f"n_basis={sizes[-1]} vectors cannot be chosen among {X.shape[0]} training rows "
            f"(basis={plan.basis!r}): ask for at most {X.shape[0]}, or use basis='free'"
        )
    gamma = gamma_of(plan.gamma, X, weights) if plan.kernel != "linear" else 1.0
    kernel = Kernel(plan.kernel, gamma, plan.degree, plan.coef0)
    # What overflows in a search ends in a certificate that says so.
    ignored, one_thread = np.errstate(all="ignore"), OneBlasThread()()
    with interruptible(options.max_time) as stop, ignored, one_thread:
        # Bounds look at kernel values between all rows.
        threads = useful_threads(options.threads, X.shape[0] * max(X.shape))
        pool = _core.Pool(threads, stop)
        settings = options.settings(stop)
        losses = make_losses(pool)
        subspace = Subspace(X, kernel, sizes[-1], pool)
        _check_range(subspace)
        pre_images = PreImageOptions(int(plan.residual_rows), int(plan.starts), int(plan.restarts))
        choice = choice_of(plan.basis, subspace, pre_images, options.seed)
        all_rows, pursuit = plan.bounds == "exact", Pursuit(delta=plan.nearness)
        stages = subspace_pursuit.solve(
            subspace, losses, choice, sizes, settings, all_rows, pursuit
        )
    return Span(subspace, kernel, subspace.basis.kept(), stages)


def _check_range(subspace: Subspace) -> None:
    """Refuses rows whose kernel values float64 cannot hold."""
    kernel, largest = subspace.kernel, float(subspace.norms.max(initial=0.0))
    if not np.isfinite(diagonal(kernel, np.float64(largest))):
        raise ValueError(
            f"kernel values of these rows overflow: the longest has a squared norm of "
            f"{largest:.2g} and the kernel is {kernel.name!r}. Scale the features, or take a "
            "smaller gamma or degree"
        )

"""From rows and options to a fitted model: the one place where commands meet training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maxmargin.cli.weights import class_weights

if TYPE_CHECKING:
    from maxmargin.data import Dataset
    from maxmargin.models import LinearModel
    from maxmargin.problem import Progress


@dataclass(frozen=True)
class Choices:
    """What the options of `train` and `cv` say about a linear machine."""

    tol: float
    bias: float
    class_weight: list[str]
    solver: str
    max_time: float | None
    max_iter: int | None
    threads: int | None
    seed: int

    def parameters(self, classes: list) -> dict[str, Any]:
        """The estimator's parameters."""
        return {
            "tol": self.tol,
            "fit_intercept": self.bias > 0,
            "intercept_scaling": self.bias if self.bias > 0 else 1.0,
            "class_weight": class_weights(self.class_weight, classes),
            "solver": self.solver,
            "max_time": self.max_time,
            "max_iter": self.max_iter,
            "n_jobs": self.threads,
            "random_state": self.seed,
        }


@dataclass(frozen=True)
class Fitted:
    """A model and how the run went."""

    model: LinearModel
    history: list[Progress]


def fit_linear(
    dataset: Dataset, C: float, choices: Choices, callback: Callable[[Progress], None] | None
) -> Fitted:
    """Train on labelled rows. Ctrl-C gives the best model so far."""
    import numpy as np

    from maxmargin import _core
    from maxmargin.data import ArrayRows
    from maxmargin.losses import Hinge
    from maxmargin.models import LinearModel
    from maxmargin.problem import Settings
    from maxmargin.solvers import bundle
    from maxmargin.solvers.run import interruptible

    classes, codes = np.unique(dataset.y, return_inverse=True)
    parameters = choices.parameters(classes.tolist())
    if len(classes) < 2:
        raise ValueError(f"one class {classes}")
    if not C > 0:
        raise ValueError(f"C must be positive; got {C}")
    bias = parameters["intercept_scaling"] if parameters["fit_intercept"] else 0.0
    sols = []
    with interruptible(choices.max_time) as stop:
        pool = _core.Pool(choices.threads or 2, stop)
        rows = ArrayRows(dataset.X, bias, pool)
        for j in [1] if len(classes) == 2 else range(len(classes)):
            y = np.where(codes == j, 1.0, -1.0)
            sols.append(
                bundle.solve(
                    rows,
                    Hinge(y, C, pool),
                    Settings(
                        tol=choices.tol, max_iter=choices.max_iter, stop=stop, callback=callback
                    ),
                )
            )
    W = np.array([s.w for s in sols])
    d = dataset.X.shape[1]
    m = LinearModel(
        np.ascontiguousarray(W[:, :d]),
        bias * W[:, -1] if bias else np.zeros(len(W)),
        classes,
        tuple(s.certificate for s in sols),
        "ocas",
        {"C": C} | parameters,
        dataset.feature_names and tuple(dataset.feature_names),
        dataset.index_base,
    )
    return Fitted(m, sols[-1].history)

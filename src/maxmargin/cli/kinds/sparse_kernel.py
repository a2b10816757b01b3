"""Kernel classifiers on few basis vectors. Trained without scikit-learn, as linear ones are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxmargin.cli.fitting import Choices, Fitted, fitted
from maxmargin.cli.kinds.kernel import gamma_of, weights_of
from maxmargin.cli.kinds.linear import evaluate, predict

if TYPE_CHECKING:
    from maxmargin.data import Dataset
    from maxmargin.models import SparseKernelModel
    from maxmargin.problem import Callback

__all__ = ["evaluate", "facts", "fit", "predict"]

DEFAULT_SIZE = 100


def fit(dataset: Dataset, choices: Choices, callback: Callback | None) -> Fitted:
    from maxmargin.cli.rows import labels_of
    from maxmargin.training.subspace import SparseKernelPlan, train

    plan = SparseKernelPlan(
        n_basis=DEFAULT_SIZE if choices.n_basis is None else choices.n_basis,
        C=choices.C,
        kernel=choices.kernel,
        gamma=gamma_of(choices.gamma),
        basis=choices.basis,
        class_weight=weights_of(dataset, choices),
        options=choices.options(callback),
    )
    trained = train(dataset.X, labels_of(dataset), plan, dataset.weight)
    model = trained.model
    groups = f"{len(model.classes)} classes, {model.n_basis} basis vectors{distance(model)}"
    return fitted(trained, dataset, groups)


def distance(model: SparseKernelModel) -> str:
    """How far the exact machine may be below this one, in words; nothing if that is not known."""
    certificate = model.certificate
    if certificate is None or not certificate.primal > 0 or model.exact_gap != model.exact_gap:
        return ""
    share = model.exact_gap / certificate.primal
    confidence = ", with 99.9 % confidence" if model.bounds_are_estimates else ""
    return f" (objective at most {share:.2g} above that of all vectors{confidence})"


def facts(model: SparseKernelModel) -> dict:
    bounds = {
        "delta": model.delta,
        "theorem 2 bound": model.theorem2_bound,
        "exact gap": model.exact_gap,
    }
    return {
        "classes": model.classes.tolist(),
        "kernel": str(model.kernel),
        "basis vectors": model.n_basis,
        **{name: value if value == value else None for name, value in bounds.items()},
        "bounds are estimates": model.bounds_are_estimates,
    }

"""Kernel classifiers on few basis vectors. Trained without scikit-learn, as linear ones are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxmargin.cli.fitting import Choices, Fitted, with_columns
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
    from maxmargin.models.sparse_kernel_training import SparseKernelPlan, train

    plan = SparseKernelPlan(
        n_basis=DEFAULT_SIZE if choices.n_basis is None else choices.n_basis,
        C=choices.C,
        kernel=choices.kernel,
        gamma=gamma_of(choices.gamma),
        basis=choices.basis,
        tol=choices.tol,
        max_iter=choices.max_iter,
        max_time=choices.max_time,
        threads=choices.threads,
        seed=choices.seed,
    )
    trained = train(dataset.X, labels_of(dataset), plan, weights_of(dataset, choices), callback)
    model = with_columns(trained.model, dataset)
    groups = f"{len(model.classes)} classes, {model.n_basis} basis vectors"
    return Fitted(model, trained.history, groups)


def facts(model: SparseKernelModel) -> dict:
    return {
        "classes": model.classes.tolist(),
        "kernel": str(model.kernel),
        "basis vectors": model.n_basis,
    }

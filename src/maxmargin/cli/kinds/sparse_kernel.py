"""Kernel classifiers on few basis vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.cli.fitting import classes_of
from maxmargin.cli.kinds.kernel import check_kernel
from maxmargin.cli.kinds.linear import evaluate, predict

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.models import SparseKernelModel
    from maxmargin.problem import Callback

__all__ = ["evaluate", "plan", "predict", "train"]


def plan(choices: Choices, callback: Callback | None) -> Any:
    from maxmargin.training.subspace import SparseKernelPlan

    check_kernel(choices)
    wanted = getattr(choices, "probabilities", False)
    return choices.plan(SparseKernelPlan, callback, probability=wanted)


def train(dataset: Dataset, plan: Any, choices: Choices) -> tuple[Any, str]:
    from maxmargin.training.subspace import train

    trained = train(dataset.X, classes_of(dataset), plan, dataset.weight)
    model = trained.model
    return trained, f"{len(model.classes)} classes, {model.n_basis} basis vectors{distance(model)}"


def distance(model: SparseKernelModel) -> str:
    """How far the exact machine may be below this one, in words; nothing if that is not known."""
    certificate = model.certificate
    if certificate is None or not certificate.primal > 0 or model.exact_gap != model.exact_gap:
        return ""
    share = model.exact_gap / certificate.primal
    confidence = ", with 99.9 % confidence" if model.bounds_are_estimates else ""
    return f" (objective at most {share:.2g} above that of all vectors{confidence})"

"""The pictures of a report, one function each, as matplotlib figures.

from maxmargin import report
report.roc_curve(y, model.decision_function(X))      # shown by a notebook, or .savefig(...)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.report import curves
from maxmargin.report.figures import figure_of
from maxmargin.report.sections import classes, ranking, regression, search, weights
from maxmargin.report.subject import Search

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def roc_curve(
    y_true: Any, y_score: Any, *, sample_weight: Any = None, positive: Any = None
) -> Figure:
    """True over false positives at every threshold, and the point at which scores change sign.

    Parameters
    ----------
    y_true : array of shape (n,)
        Two labels.
    y_score : array of shape (n,)
        As `decision_function` gives them: larger for positive rows.
    positive : label, optional
        The positive label; the larger one if left out.
    """
    name, found = _curve(y_true, y_score, sample_weight, positive)
    return figure_of(classes.roc_chart([(name, found)]))


def precision_recall_curve(
    y_true: Any, y_score: Any, *, sample_weight: Any = None, positive: Any = None
) -> Figure:
    """Precision over recall at every threshold; parameters as in `roc_curve`."""
    name, found = _curve(y_true, y_score, sample_weight, positive)
    return figure_of(classes.precision_chart([(name, found)]))


def score_histogram(
    y_true: Any, y_score: Any, *, sample_weight: Any = None, positive: Any = None
) -> Figure:
    """Scores of positive and negative rows; parameters as in `roc_curve`."""
    name, is_positive, score = _binary(y_true, y_score, positive)
    return figure_of(classes.histogram_chart(name, is_positive, score, _weight(sample_weight)))


def calibration_curve(
    y_true: Any, y_score: Any, *, sample_weight: Any = None, positive: Any = None
) -> Figure:
    """The share of positive rows in tenths of the rows, by score; parameters as in `roc_curve`.

    Scores that are all between 0 and 1 are taken for probabilities.
    """
    name, is_positive, score = _binary(y_true, y_score, positive)
    probability = bool(((score >= 0) & (score <= 1)).all())
    which = f"labelled {name}"
    chart = classes.calibration_chart(
        which, is_positive, score, _weight(sample_weight), probability
    )
    return figure_of(chart)


def confusion_matrix(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> Figure:
    """Rows by true label (down) and predicted label (across)."""
    labels, counts = curves.confusion(
        np.asarray(y_true), np.asarray(y_pred), _weight(sample_weight)
    )
    return figure_of(classes.confusion_chart(labels, counts))


def top_weights(coef: Any, names: Sequence[str] | None = None) -> Figure:
    """The weights that are largest in size, of one score."""
    w = np.asarray(coef, dtype=np.float64).ravel()
    names = [f"feature {j}" for j in range(w.size)] if names is None else list(names)
    if len(names) != w.size:
        raise ValueError(f"{len(names)} names do not fit {w.size} weights: give one for each")
    return figure_of(weights.weights_chart(w, list(names), "Largest weights"))


def regularisation_path(Cs: Any, error: Any) -> Figure:
    """Validation errors along C.

    Parameters
    ----------
    Cs : array of shape (k,)
    error : array of shape (k, folds), between 0 and 1
    """
    found = Search(np.asarray(Cs, dtype=np.float64), np.asarray(error, dtype=np.float64)[None])
    if found.error.shape[1] != found.Cs.size:
        raise ValueError(f"errors of shape {found.error.shape[1:]} do not fit {found.Cs.size} Cs")
    return figure_of(search.path_chart(found))


def ndcg_by_query(y_true: Any, y_score: Any, qid: Any = None) -> Figure:
    """How many queries have which NDCG@10; those without a relevant row are left out."""
    values = curves.ndcg_of_queries(np.asarray(y_true), np.asarray(y_score), qid, ranking.PLACES)[1]
    if values.size == 0:
        raise ValueError("no query has a relevant row: NDCG needs a grade above 0")
    return figure_of(ranking.ndcg_chart(values))


def residuals(y_true: Any, y_pred: Any) -> Figure:
    """Targets less predictions, over the predictions."""
    predicted = np.asarray(y_pred, dtype=np.float64)
    return figure_of(regression.residual_chart(predicted, np.asarray(y_true) - predicted))


def quantile_coverage(
    y_true: Any, y_pred: Any, quantiles: Sequence[float], *, sample_weight: Any = None
) -> Figure:
    """The share of targets below each predicted quantile, beside the quantile itself.

    Parameters
    ----------
    y_pred : array of shape (n,) or (n, quantiles)
    """
    y, predicted = np.asarray(y_true, dtype=np.float64), np.asarray(y_pred, dtype=np.float64)
    columns = predicted[:, None] if predicted.ndim == 1 else predicted
    if columns.shape[1] != len(quantiles):
        raise ValueError(
            f"{columns.shape[1]} predictions a row do not fit {len(quantiles)} quantiles"
        )
    weight = np.ones(y.size) if sample_weight is None else _weight(sample_weight)
    return figure_of(regression.coverage_chart(y, columns, list(quantiles), weight))


def _curve(
    y_true: Any, y_score: Any, sample_weight: Any, positive: Any
) -> tuple[str, curves.Curve]:
    name, is_positive, score = _binary(y_true, y_score, positive)
    found = curves.curve(is_positive, score, _weight(sample_weight))
    if found is None:
        raise ValueError("all rows have the same label: a curve needs both")
    return name, found


def _binary(y_true: Any, y_score: Any, positive: Any) -> tuple[str, np.ndarray, np.ndarray]:
    y, score = np.asarray(y_true), np.asarray(y_score, dtype=np.float64)
    labels = np.unique(y)
    if score.shape != y.shape or y.ndim != 1:
        raise ValueError(f"scores of shape {score.shape} do not fit labels of shape {y.shape}")
    if positive is None and labels.size != 2:
        raise ValueError(f"found {labels.size} labels; expected two, or say which is positive")
    chosen = labels[1] if positive is None else positive
    return str(chosen), y == chosen, score


def _weight(sample_weight: Any) -> Any:
    return None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)

"""The picture face: what a run looked like, and how good a model is.

`Report` is one self-contained page; each of its pictures is a function here that returns a
matplotlib figure.
"""

from maxmargin.report.drawings import (
    calibration_curve,
    confusion_matrix,
    ndcg_by_query,
    precision_recall_curve,
    quantile_coverage,
    regularisation_path,
    residuals,
    roc_curve,
    score_histogram,
    top_weights,
)
from maxmargin.report.grid import error_chart, error_map
from maxmargin.report.pictures import training_curve
from maxmargin.report.report import Report, make_report
from maxmargin.report.subject import Rows, Search, Subject
from maxmargin.report.terminal import gap_chart

__all__ = [
    "Report",
    "Rows",
    "Search",
    "Subject",
    "calibration_curve",
    "confusion_matrix",
    "error_chart",
    "error_map",
    "gap_chart",
    "make_report",
    "ndcg_by_query",
    "precision_recall_curve",
    "quantile_coverage",
    "regularisation_path",
    "residuals",
    "roc_curve",
    "score_histogram",
    "top_weights",
    "training_curve",
]

"""The picture face: what a run looked like."""

from maxmargin.report.grid import error_chart, error_map
from maxmargin.report.pictures import training_curve
from maxmargin.report.terminal import gap_chart

__all__ = ["error_chart", "error_map", "gap_chart", "training_curve"]

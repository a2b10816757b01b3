"""The picture face: what a run looked like."""

from maxmargin.report.pictures import training_curve
from maxmargin.report.terminal import gap_chart

__all__ = ["gap_chart", "training_curve"]

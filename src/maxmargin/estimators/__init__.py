"""The scikit-learn face: validation and conventions, no mathematics."""

from maxmargin.estimators.kernel import KernelSVC, KernelSVCCV
from maxmargin.estimators.linear import LinearSVC
from maxmargin.estimators.linear_cv import LinearSVCCV

__all__ = ["KernelSVC", "KernelSVCCV", "LinearSVC", "LinearSVCCV"]

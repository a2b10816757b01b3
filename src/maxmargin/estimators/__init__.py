"""The scikit-learn face: validation and conventions, no mathematics."""

from maxmargin.estimators.linear import LinearSVC
from maxmargin.estimators.linear_cv import LinearSVCCV

__all__ = ["LinearSVC", "LinearSVCCV"]

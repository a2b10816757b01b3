"""
A grid of C and gamma
=====================

All points of the grid share one matrix of distances, and along C each fit starts from the one
before. The map says whether the best point lies at an edge.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import minmax_scale

from maxmargin import KernelSVCCV, report

X, y = load_breast_cancer(return_X_y=True)
X = minmax_scale(X, (-1, 1))

# %%
model = KernelSVCCV(Cs=[0.03, 0.1, 0.3, 1, 3, 10, 30], gammas=[0.01, 0.03, 0.1, 0.3, 1], cv=5)
model.fit(X, y)
print(model.best_params_, f"{1 - model.best_score_:.2%} error, {model.search_seconds_:.2f} s")

# %%
error = 1 - model.scores_.mean(axis=2)
picture = report.error_map(model.Cs_, model.gammas_, error)

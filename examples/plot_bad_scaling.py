"""
Bad scaling, and what the certificate says
==========================================

One feature in the thousands, the others between 0 and 1: many solvers stop with a warning and an
answer of unknown quality. A certificate says how good an answer is, whatever happened.
"""

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn import svm
from sklearn.datasets import load_wine

from maxmargin import LinearSVC

X, y = load_wine(return_X_y=True)
y = (y == 1).astype(int)
print("largest values of the features:", X.max(axis=0).round(1))

# %%
warnings.simplefilter("ignore")
found = {}
for name, machine in {
    "scikit-learn": svm.LinearSVC(C=1, loss="hinge", max_iter=1000),
    "scikit-learn, 100 000 iterations": svm.LinearSVC(C=1, loss="hinge", max_iter=100_000),
    "maxmargin": LinearSVC(C=1),
}.items():
    start = time.perf_counter()
    machine.fit(X, y)
    w, b = machine.coef_.ravel(), float(np.ravel(machine.intercept_)[0])
    margins = (2 * y - 1) * (X @ w + b)
    found[name] = 0.5 * (w @ w + b * b) + np.maximum(0, 1 - margins).sum()
    print(f"{name:>33}: objective {found[name]:8.3f} in {time.perf_counter() - start:.3f} s")

# %%
certificate = machine.certificate_
print(certificate)

# %%
# No model can have an objective below the dashed line.
figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained")
axes.barh(list(found), list(found.values()), color="#1d4ed8")
axes.axvline(certificate.dual, color="#c2410c", linestyle="--")
axes.set_xlabel("objective")

"""
Twenty basis vectors instead of a thousand
==========================================

A kernel machine keeps its support vectors, and every prediction takes a kernel value for each.
``SparseKernelSVC`` learns a few basis vectors that do the same work.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from maxmargin import KernelSVC, SparseKernelSVC

X, y = make_moons(6000, noise=0.35, random_state=0)
X_test, y_test = make_moons(20000, noise=0.35, random_state=1)

# %%
exact = KernelSVC(C=1, gamma=2.0).fit(X, y)
small = SparseKernelSVC(C=1, gamma=2.0, n_basis=20).fit(X, y)


def seconds(model):
    start = time.perf_counter()
    model.predict(X_test)
    return time.perf_counter() - start


for model, vectors in ((exact, len(exact.support_)), (small, len(small.basis_vectors_))):
    print(
        f"{vectors:5d} vectors, accuracy {model.score(X_test, y_test):.4f}, {seconds(model):.3f} s"
    )

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
axes[0].plot(*exact.support_vectors_.T, ".", markersize=3)
axes[0].set_title(f"{len(exact.support_)} support vectors")
axes[1].plot(*np.asarray(small.basis_vectors_).T, "o")
axes[1].set_title(f"{len(small.basis_vectors_)} basis vectors")

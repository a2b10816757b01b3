"""
A map with a ragged border
==========================

Two countries with an irregular coast line: a kernel machine follows it. Its support vectors lie
along the border.
"""

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import KernelSVC

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(4000, 2))
coast = 0.3 * np.sin(5 * X[:, 0]) + 0.15 * np.sin(17 * X[:, 0])
y = np.where(X[:, 1] > coast, "north", "south")

# %%
model = KernelSVC(C=100, gamma=30).fit(X, y)
print(model.certificate_)
print(len(model.support_), "support vectors of", len(X), "rows")

# %%
x1, x2 = np.meshgrid(np.linspace(-1, 1, 200), np.linspace(-1, 1, 200))
score = model.decision_function(np.stack([x1.ravel(), x2.ravel()], axis=1)).reshape(x1.shape)
figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
axes.contourf(x1, x2, score, levels=[-9, 0, 9], colors=["#bcd7f0", "#f3d9b1"])
axes.plot(*model.support_vectors_.T, ".", color="#1d4ed8", markersize=3, label="support vectors")
axes.legend(loc="lower left")
axes.set_aspect("equal")

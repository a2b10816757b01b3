"""
Quantile bands
==============

A prediction with its uncertainty: five quantiles, each fitted by its own loss, in one fit.
"""

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import LinearSVR, report

# %%
# Noise grows with x. Features are a few bumps along x.
rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 1500))
y = np.sin(x) + 0.1 * (1 + x) * rng.normal(size=x.size)
bumps = np.exp(-((x[:, None] - np.linspace(0, 10, 12)) ** 2))
levels = [0.05, 0.25, 0.5, 0.75, 0.95]

# %%
model = LinearSVR(C=10, loss="quantile", quantile=levels, non_crossing=True).fit(bumps, y)
print(model.certificate_)
bands = model.predict(bumps)

# %%
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(x, y, ".", color="0.7", markersize=3)
axes.fill_between(x, bands[:, 0], bands[:, 4], alpha=0.2, label="0.05 to 0.95")
axes.fill_between(x, bands[:, 1], bands[:, 3], alpha=0.3, label="0.25 to 0.75")
axes.plot(x, bands[:, 2], label="median")
axes.legend(frameon=False)

# %%
# How many targets lie below each quantile?
coverage = report.quantile_coverage(y, bands, levels)

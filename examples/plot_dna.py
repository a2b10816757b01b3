"""
Splice sites in DNA
===================

Strings in, features made on the fly: all substrings up to a length, at their places. No matrix of
them is ever stored.
"""

import numpy as np

from maxmargin import StreamSVC, report

# %%
# Windows around "AG". True sites have a run of C and T before it, mostly.
rng = np.random.default_rng(0)


def window(true_site):
    letters = rng.choice(list("ACGT"), size=40)
    letters[20:22] = list("AG")
    if true_site:
        run = rng.random(12) < 0.5
        letters[8:20][run] = rng.choice(list("CT"), size=run.sum())
    return "".join(letters)


y = (rng.random(4000) < 0.2).astype(int)
windows = [window(true_site) for true_site in y]

# %%
model = StreamSVC(C=0.1, features="weighted_degree:5", memory="64MB")
model.fit(windows[:3000], y[:3000])
print(model.certificate_)
print(model.features_)

# %%
picture = report.roc_curve(y[3000:], model.decision_function(windows[3000:]))

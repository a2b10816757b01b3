"""
Several labels a row
====================

What is true of a digit, from its picture: even, prime, a square number, several
of these or none. One machine for each label, each with a certificate.
"""

import pandas
from sklearn.datasets import load_digits

from maxmargin import LinearSVC

X, y = load_digits(return_X_y=True)
Y = pandas.DataFrame(
    {
        "even": y % 2 == 0,
        "prime": (y == 2) | (y == 3) | (y == 5) | (y == 7),
        "square": (y == 0) | (y == 1) | (y == 4) | (y == 9),
    }
).astype(int)
model = LinearSVC(loss="logistic").fit(X[:1200] / 16, Y[:1200])
for name, certificate in zip(Y, model.certificates_):
    print(f"{name:>6}: {certificate}")

# %%
# How probable each label is for the first three digits that it never saw.
print(y[1200:1203], model.predict_proba(X[1200:1203] / 16).round(2), sep="\n")

# %%
# What becomes of each label on all of them, and the threshold that decides on it.
made = model.report(X[1200:] / 16, Y[1200:])
print(*made.sections["labels"].text, sep="\n")

# %%
figures = made.figures()
decisions, precision = figures["Decisions by label"], figures["Precision and recall"]

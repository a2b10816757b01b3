"""
Few positives: train for F1
===========================

With few positive rows the hinge loss, which counts every row alike, may find few of them.
``MeasureSVC`` minimises a bound on 1 - F1 of all rows together.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from maxmargin import LinearSVC, MeasureSVC, report

# %%
# Eights among all digits, seen through a few pixels only, so that the task is not easy.
digits = load_digits()
X, y = digits.data[:, 18:34] / 16, (digits.target == 8).astype(int)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
print(f"{y.mean():.1%} of the rows are positive")

# %%
machines = {
    "hinge": LinearSVC(C=1.0),
    "hinge, balanced": LinearSVC(C=1.0, class_weight="balanced"),
    "F1": MeasureSVC("f1", C=100.0),
}
for name, machine in machines.items():
    machine.fit(X_train, y_train)
    print(f"{name:>16}: F1 {f1_score(y_test, machine.predict(X_test)):.3f}")

# %%
# Precision over recall, with the point at which the machine for F1 decides.
score = machines["F1"].decision_function(X_test)
picture = report.precision_recall_curve(y_test, score)
print(np.unique(machines["F1"].predict(X_test), return_counts=True))

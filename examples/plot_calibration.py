"""
Probabilities
=============

A score is a distance, not a probability. Calibration on held-out folds makes one of it.
"""

from sklearn.calibration import CalibratedClassifierCV

from maxmargin import LinearSVC, data, report

train, test = data.load_demo()
model = LinearSVC(C=0.1).fit(train.X, train.y)

# %%
# The share of positive rows by score.
by_score = report.calibration_curve(test.y, model.decision_function(test.X))

# %%
# Calibrated: the share of positives is what was predicted.
calibrated = CalibratedClassifierCV(LinearSVC(C=0.1), method="sigmoid", cv=5)
calibrated.fit(train.X, train.y)
probability = calibrated.predict_proba(test.X)[:, 1]
by_probability = report.calibration_curve(test.y, probability)

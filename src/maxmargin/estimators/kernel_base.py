"""What all kernel classifiers share: rows and weights checked, predictions, files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from maxmargin.estimators.base import check_labels, threads_of, validated
from maxmargin.models import files
from maxmargin.models.kernel_training import class_weights


class KernelClassifier(ClassifierMixin, BaseEstimator):
    """A face of `model_`, which subclasses find."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _data(self, X, y, sample_weight):
        """Checked rows, labels, weights, and weights times those of classes."""
        X, y = validated(self, X, y)
        check_labels(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of at least two classes; y holds one class: "
                f"{classes.tolist()[0]!r}"
            )
        return X, y, weights, class_weights(self.class_weight, classes, codes, weights)

    def _take(self, model: Any) -> None:
        """The attributes of a fitted estimator, from its model."""
        self.model_ = model
        self.classes_ = model.classes
        self.dual_coef_ = np.ascontiguousarray(model.coefficients.T)
        self.intercept_ = np.zeros(model.coefficients.shape[1])
        self.certificates_ = list(model.certificates)
        self.certificate_ = model.certificate
        self.n_iter_ = 0 if self.certificate_ is None else self.certificate_.n_iter

    def decision_function(self, X) -> np.ndarray:
        """``f(x) = sum_j beta_j k(z_j, x)``; one column a class with more than two classes."""
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        return self.model_.decision_function(X, threads_of(self.n_jobs))

    def predict(self, X) -> np.ndarray:
        """The class of every row."""
        scores = self.decision_function(X)
        return self.model_.labels(scores)

    def to_model(self) -> Any:
        """What `save` keeps of this estimator."""
        check_is_fitted(self)
        return self.model_

    def save(self, path: str | os.PathLike) -> None:
        """Writes a file that ``maxmargin.load`` reads."""
        files.save(self, path)

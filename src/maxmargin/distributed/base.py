"""What the estimators on a Dask cluster share, beside what the local ones do."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.data.features import feature_map
from maxmargin.distributed import prediction
from maxmargin.distributed.gathering import RemoteRows
from maxmargin.distributed.sources import Source, sources_of
from maxmargin.distributed.training import Fit, fitting
from maxmargin.estimators.base import Machine, parameters
from maxmargin.estimators.conventions import warn_if_missed
from maxmargin.estimators.sources import Given
from maxmargin.models.mapped import with_features
from maxmargin.training.fit import Trained


@parameters
class OnCluster(Machine):
    """Rows on the workers of a Dask cluster; comes before the local class."""

    client: Any = None
    read_options: dict[str, Any] | None = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on X: a dask array or dataframe, a list of delayed objects, or a list of files.

        Parameters
        ----------
        X : dask array, dask dataframe, list of delayed, or list of paths
        y : alike; of a dataframe also the name of a column. Files hold their labels.
        sample_weight : as y

        Raises
        ------
        PartitionError
            A partition failed again and again. Its `model`, and this estimator, are the best so
            far.
        """
        plan, sources = self._plan(), self._sources(X, y, sample_weight)
        features = feature_map(getattr(self, "features", None))
        with fitting(self.client, sources, plan.options.max_time, features) as fit:
            return self._finish(self._train_on(fit, plan), fit)

    def _train_on(self, fit: Fit, plan: Any) -> Trained:
        """What is made of rows on the workers; here by a loss that must see all predictions.

        These are gathered, n numbers to the driver and back each iteration, and what is known of
        the rows once.
        """
        self.gathers_predictions_ = True
        return self._train(_gathered(RemoteRows(fit)), fit.with_time_left(plan))

    def _sources(self, X: Any, y: Any, sample_weight: Any, qid: Any = None) -> list[Source]:
        made = getattr(self, "features", None) is not None
        reading = {"made": made, **(self.read_options or {})}
        return list(sources_of(X, y, sample_weight, qid, **reading))

    def _finish(self, trained: Trained, fit: Fit) -> Self:
        """The fitted attributes; a partition's failure is raised with the model so far."""
        shape = fit.shape
        self.n_samples_, self.n_partitions_ = shape.n, len(fit.sizes)
        self.index_base_ = shape.index_base
        self._note_columns(shape.columns, shape.names)
        if shape.features is not None:
            made = with_features(trained.model, shape.features, shape.kind, shape.columns)
            trained = trained.with_model(made)
        self._keep(trained, shape.index_base)
        if fit.failure is not None:
            fit.failure.model = self.to_model()
            raise fit.failure from fit.failure.__cause__
        warn_if_missed(self.certificate_)
        return self

    def _is_remote(self, X: Any) -> bool:
        """Whether X lies elsewhere; strings that name no files are texts, where these are rows."""
        made = getattr(self, "features", None) is not None
        if made and isinstance(X, list) and all(isinstance(item, str) for item in X):
            return all(os.path.exists(item) for item in X)
        return prediction.is_distributed(X)

    def decision_function(self, X: Any) -> Any:
        """Scores, lazily for what is lazy (see `fit`), else at once."""
        if not self._is_remote(X):
            return super().decision_function(X)
        classes = getattr(self, "classes_", ())
        columns = len(classes) if len(classes) > 2 else 0
        return self._lazily("decision_function", X, columns, np.float64)

    def predict(self, X: Any) -> Any:
        """Labels, or a ranking's scores, lazily for what is lazy (see `fit`), else at once."""
        if not self._is_remote(X):
            return super().predict(X)
        dtype = self.classes_.dtype if hasattr(self, "classes_") else np.float64
        return self._lazily("predict", X, 0, dtype)

    def _lazily(self, method: str, X: Any, columns: int, dtype: Any) -> Any:
        """A method of the model on rows that lie elsewhere; 0 columns for one number per row."""
        check_is_fitted(self)
        model, reading = self.to_model(), dict(self.read_options or {})
        return prediction.lazily(model, method, X, columns, np.dtype(dtype), reading)

    def _judged(self, X: Any, y: Any, sample_weight: Any, qid: Any = None) -> Given:
        """Scores and targets of rows on workers come here, the rows do not."""
        if not self._is_remote(X):
            return super()._judged(X, y, sample_weight, qid)
        check_is_fitted(self)
        model = self.to_model()
        features = getattr(model, "features", None)
        sources = self._sources(X, y, sample_weight, qid)
        with fitting(self.client, sources, None, features) as fit:
            given = _gathered(RemoteRows(fit))
            scores = np.column_stack([given.X @ w for w in model.coef])
        scores = scores + getattr(model, "intercept", 0.0)
        if model.parameters.get("non_crossing"):
            scores = np.sort(scores, axis=1)
        return replace(given, X=scores if len(model.coef) > 1 else scores[:, 0])


def _gathered(rows: RemoteRows) -> Given:
    """Rows that stay where they are, and what is known of them, which comes here."""
    return Given(rows, rows.column("y"), rows.column("weight"), rows.column("qid"))

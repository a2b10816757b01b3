"""`TableEncoder`: an encoding as a transformer of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_array,
    check_is_fitted,
)

from maxmargin.data.encoding.columns_in import as_table
from maxmargin.data.encoding.encoding import Options, TableEncoding, batches_of, fit


class TableEncoder(TransformerMixin, BaseEstimator):
    """Tables as they come, as rows of numbers.

    Numbers are scaled (zeros stay zeros where most values are zero), strings and categories have
    one feature a value, dates and truth values become numbers, long texts become hashed words and
    pairs of words, and missing values are 0 with an indicator. Columns are found by name, in any
    order; columns without information are left out.

    Parameters
    ----------
    kinds : dict, optional
        For columns whose kind should not be found out: "number", "date", "boolean", "category",
        "text" or "drop".
    min_count : int
        Values of a category in fewer rows share a feature, which unseen values get, too.
    max_categories : int
        The most frequent values of a column have a feature of their own, this many at most.
    text_bits : int
        A column of text has ``2**text_bits`` features.
    sparse_output : bool or "auto"
        Whether `transform` gives a CSR matrix; "auto": if most entries would be zero.
    dtype : {"float32", "float64"}

    Attributes
    ----------
    encoding_ : TableEncoding
        What is done to each column.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from maxmargin.data import TableEncoder
    >>> table = {"city": ["Rome", "Oslo", "Rome", "Oslo"] * 3, "age": [30, None, 20, 40] * 3}
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['city=Oslo', 'city=Rome', 'age', 'age=<missing>']
    >>> encoder.transform({"age": [30], "city": ["Paris"]}).tolist()
    [[0.0, 0.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        kinds: dict[str, str] | None = None,
        *,
        min_count: int = 2,
        max_categories: int = 10_000,
        text_bits: int = 16,
        sparse_output: bool | str = "auto",
        dtype: str = "float32",
    ) -> None:
        self.kinds = kinds
        self.min_count = min_count
        self.max_categories = max_categories
        self.text_bits = text_bits
        self.sparse_output = sparse_output
        self.dtype = dtype

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Find out what to do with each column.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Arrow table, mapping of names to columns, or array
        y : ignored
        """
        options = self._options()
        X = self._checked(X, reset=True)
        table = as_table(X)
        self.encoding_ = fit(table.column_names, lambda: batches_of(table), options).as_type(
            self.dtype
        )
        return self

    def transform(self, X: Any) -> np.ndarray | sp.csr_matrix:
        """The features of a table, by the columns it was fitted on; others are not looked at."""
        check_is_fitted(self)
        return self.encoding_.transform(self._checked(X, reset=False))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features: a column's own, or with a value, as in ``city=Rome``."""
        check_is_fitted(self)
        own = getattr(self, "feature_names_in_", None)
        if input_features is None or (own is not None and list(input_features) == list(own)):
            return np.array(self.encoding_.feature_names, dtype=object)
        if own is not None:
            raise ValueError("input_features is not equal to feature_names_in_")
        if len(input_features) != self.n_features_in_:
            raise ValueError(
                f"input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(input_features)}"
            )
        renamed = {f"x{j}": str(name) for j, name in enumerate(input_features)}
        names = [
            renamed[column.name] + name.removeprefix(column.name)
            for column in self.encoding_.columns
            for name in column.feature_names()
        ]
        return np.array(names, dtype=object)

    def _options(self) -> Options:
        if self.sparse_output not in (True, False, "auto"):
            raise ValueError(
                f"sparse_output is {self.sparse_output!r}; expected True, False or 'auto'"
            )
        if self.dtype not in ("float32", "float64"):
            raise ValueError(f"dtype is {self.dtype!r}; expected 'float32' or 'float64'")
        return Options(
            kinds=dict(self.kinds or {}),
            min_count=self.min_count,
            max_categories=self.max_categories,
            text_bits=self.text_bits,
            sparse=None if self.sparse_output == "auto" else bool(self.sparse_output),
        )

    def _checked(self, X: Any, reset: bool) -> Any:
        """scikit-learn's conventions for arrays; tables are matched by the names of columns."""
        if _has_names(X):
            if reset:
                names = as_table(X).column_names
                self.feature_names_in_ = np.array(names, dtype=object)
                self.n_features_in_ = len(names)
            return X
        if reset:
            _check_feature_names(self, X, reset=True)
        X = check_array(X, dtype=None, ensure_all_finite="allow-nan", estimator=self)
        _check_n_features(self, X, reset=reset)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{j}" for j in range(X.shape[1])]
        return as_table(X, list(names))

    def __sklearn_is_fitted__(self) -> bool:
        return isinstance(getattr(self, "encoding_", None), TableEncoding)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _has_names(X: Any) -> bool:
    """Whether columns are found by name."""
    marks = ("__arrow_c_stream__", "__arrow_c_array__", "iloc")
    mapping = isinstance(X, dict) and not sp.issparse(X)  # a dok_matrix is both
    return mapping or any(hasattr(X, mark) for mark in marks)

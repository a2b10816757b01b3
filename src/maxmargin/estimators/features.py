"""Features made on the fly of the rows of a file, of arrays, or of texts."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from maxmargin.data.features import feature_map, mapped
from maxmargin.data.stream.array_source import ArraySource, check_texts, texts_of
from maxmargin.data.stream.blocks import Strings
from maxmargin.estimators.base import Machine, parameters
from maxmargin.estimators.conventions import threads_of
from maxmargin.estimators.sources import Given, opened, read_labelled
from maxmargin.models.base import kinds
from maxmargin.models.files import register_estimator
from maxmargin.models.mapped import SUFFIX


@parameters
class MakesFeatures(Machine):
    """A machine that may be fitted to features that a map makes of the rows in every pass."""

    features: Any = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__dict__.get("_kind", "") + SUFFIX in kinds():
            register_estimator(cls._kind + SUFFIX, cls.from_model)

    def _given(
        self, X: Any, y: Any, sample_weight: Any = None, qid: Any = None, **options: Any
    ) -> Given:
        features = feature_map(self.features)
        if features is None:
            return super()._given(X, y, sample_weight, qid, **options)
        threads, base = threads_of(self.n_jobs), None
        if self._is_file(X, labelled=y is not None):
            source = opened(X, threads)
            file = read_labelled(source, y, sample_weight, qid, threads, rows=False)
            y, sample_weight, qid = file.y, file.weight, file.qid
            self._note_columns(source.d, source.feature_names)
            base = source.index_base
        else:
            if y is None:
                raise ValueError("y is missing: rows in memory need labels")
            if is_text(X):
                y = np.asarray(y)
                self._note_columns(0, None)
            else:
                X, y = self._rows(X, y, **options)
            source = ArraySource(X, y)
        return Given(mapped(source, features, threads), y, sample_weight, qid, base)

    def _show(self, model: Any) -> None:
        super()._show(model)
        if getattr(model, "features", None) is not None:
            self.features_ = model.features

    def _is_file(self, X: Any, labelled: bool = False) -> bool:
        """Strings that are no files are texts, if they have labels or features are made of them."""
        if not super()._is_file(X):
            return False
        texts = isinstance(X, (list, tuple)) and (labelled or self.features is not None)
        return not texts or all(os.path.exists(item) for item in X)

    def _rows(self, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        is_made_of_texts = self.features is not None and is_text(X)
        if is_made_of_texts:
            return X
        refuse_texts(X, self.features)
        if not options.get("reset", True) and getattr(self.model_, "rows", None) == "strings":
            raise ValueError("X holds numbers; the model was trained on strings: give it strings")
        return super()._rows(X, y, **options)

    @classmethod
    def from_model(cls, model: Any) -> Any:
        """The fitted estimator whose `to_model` this was, without its history."""
        estimator = super().from_model(model)
        estimator.features = getattr(model, "features", None)
        return estimator


def is_text(X: Any) -> bool:
    """Whether X holds strings rather than numbers."""
    return isinstance(X, Strings) or bool(texts_of(X))


def refuse_texts(X: Any, features: Any) -> None:
    """Say what is wrong with texts that are no rows, where validation would try to read them as
    numbers."""
    if hasattr(X, "columns") or (hasattr(X, "dtype") and X.dtype.kind not in "OUS"):
        return
    if not isinstance(X, (list, tuple, np.ndarray)) or not len(X):
        return
    if features is None and is_text(X):
        raise ValueError(
            "X holds texts: say which features to make of them (features='weighted_degree:8' or "
            "'word_ngrams:2', say)"
        )
    if isinstance(X, np.ndarray) and X.ndim == 2 and isinstance(X[0, 0], str | bytes):
        raise ValueError(
            f"X holds texts in a matrix of {X.shape[1]} columns; expected a list of them, one a "
            "row. Categories become numbers by maxmargin.data.TableEncoder"
        )
    check_texts(X)

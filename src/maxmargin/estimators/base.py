"""What all estimators share: options, rows from arrays and files, the fitted model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted, validate_data

from maxmargin.data.arrays import is_surely_finite, number_types, safe_rows
from maxmargin.data.stream.source_rows import check_numbers
from maxmargin.estimators.callbacks import Observed, both
from maxmargin.estimators.conventions import (
    check_labels,
    is_nothing,
    is_plain,
    progress_callback,
    seed_of,
    shared_parameters,
    threads_of,
    warn_if_missed,
)
from maxmargin.estimators.reporting import Reporting
from maxmargin.estimators.sources import (
    Given,
    is_source,
    opened,
    read_labelled,
    read_table,
    refuse_dask,
)
from maxmargin.models.files import register_estimator, save
from maxmargin.parameters import Options, positive
from maxmargin.problem import Callback
from maxmargin.training.targets import check_one_column, checked_queries
from maxmargin.training.tasks import Task

T = TypeVar("T")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def parameters(estimator: type[T]) -> type[T]:
    """Makes annotated attributes the parameters of `__init__`, by keyword, as scikit-learn likes.

    Parameters of base classes come along. ``field(default=..., kw_only=False)`` makes one that may
    be given by position.
    """
    return dataclass(eq=False, repr=False, kw_only=True)(estimator)


@parameters
class Machine(Reporting, Observed, BaseEstimator):
    """A face of `model_`, which `fit` finds by way of `maxmargin.training`.

    Subclasses name the kind of their model files, which attributes they show of the model, how
    parameters become a plan (`_plan`) and what is learned by it (`_learns`; or they have a `_train`
    of their own).
    """

    tol: float = 1e-3
    max_iter: int | None = None
    max_time: float | None = None
    n_jobs: int | None = None
    verbose: int = 0
    callback: Callback | None = None

    _kind: ClassVar[str] = ""
    _learns: ClassVar[type[Task]]  # what `maxmargin.training` calls it
    _shown: ClassVar[tuple[str, ...]] = ()  # of the model; with an underscore they are ours
    _rows_stay_on_disk: ClassVar[bool] = False  # where X is a file

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_kind" in cls.__dict__:
            register_estimator(cls._kind, cls.from_model)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fits the model to rows X (dense or CSR, float32 or float64: used where they lie).

        `sample_weight` multiplies C row by row: a weight of 2 equals the row twice. X may also be a
        file, a glob, a list of files, or what `maxmargin.data.open_source` gives. Labels and
        weights are then the file's: leave `y` out.
        """
        plan = self._plan()
        given = self._given(X, y, sample_weight)
        return self._adopt(self._train(given, plan), given.index_base)

    def _plan(self) -> Any:
        """What is to be solved, every parameter checked."""
        raise NotImplementedError

    def _task(self, given: Given, plan: Any) -> Task:
        """What is to be learned of the rows, in a fit or in a search."""
        return self._learns(given.y, plan, given.weight, given.qid)

    def _train(self, given: Given, plan: Any) -> Any:
        """What `maxmargin.training` makes of the rows."""
        return self._task(given, plan).train(given.X, self._starts())

    # ------------------------------------------------------------ before a fit

    def _planned(self, plan: type[T], **more: Any) -> T:
        """A plan with the parameters that it shares with this estimator, and `more`."""
        classes: tuple[Any, Any] = type(self), plan
        shared = {name: getattr(self, name) for name in shared_parameters(*classes)}
        return plan(**{"options": self._options(), **shared, **more})

    def _options(self) -> Options:
        """The parameters that every estimator has, checked."""
        return Options(
            tol=self.tol,
            max_iter=self.max_iter,
            max_time=self.max_time,
            threads=threads_of(self.n_jobs),
            seed=seed_of(getattr(self, "random_state", None)),
            callback=both(
                progress_callback(self.callback, self.verbose, self.tol),
                self._callback_of_moments(),
            ),
        )

    def _is_file(self, X: Any) -> bool:
        """Whether X names rows rather than holding them."""
        refuse_dask(X, type(self).__name__)
        return is_source(X)

    def _given(
        self, X: Any, y: Any, sample_weight: Any = None, qid: Any = None, **options: Any
    ) -> Given:
        """Rows with their targets, from arrays or from a file, read into memory if need be."""
        if not self._is_file(X):
            X, y = self._rows(X, y, **options)
            return Given(X, y, sample_weight, checked_queries(qid, X.shape[0]))
        threads, in_memory = threads_of(self.n_jobs), not self._leaves_on_disk(X)
        file = read_labelled(X, y, sample_weight, qid, threads, rows=in_memory)
        if not in_memory:
            check_numbers(file.X)
        self._note_columns(file.d, file.feature_names)
        return file

    def _leaves_on_disk(self, X: Any) -> bool:
        """Whether the rows of a file are read in every pass."""
        return self._rows_stay_on_disk

    def _rows(self, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        """scikit-learn's `validate_data` for rows we can use, with our own threads looking for NaN
        and infinity; what they find is reported in scikit-learn's words."""
        if not options.get("multi_output"):
            check_one_column(y, type(self).__name__)
        X, y = safe_rows(X, threads_of(self.n_jobs)), safe_rows(y, 1)
        types = number_types(X)
        if is_plain(self, X, y, types, options.get("reset", True)):
            checked = X if is_nothing(y) else (X, y)
            self._note_columns(X.shape[1], None)
        else:
            checked = validate_data(
                self, X, y, accept_sparse="csr", dtype=types, ensure_all_finite=False, **options
            )
        rows = checked[0] if isinstance(checked, tuple) else checked
        if not is_surely_finite(rows, threads_of(self.n_jobs)):
            with np.errstate(invalid="ignore"):  # it adds up infinities of both signs
                assert_all_finite(rows, estimator_name=type(self).__name__, input_name="X")
        return checked

    def _note_columns(self, d: int, names: Any) -> None:
        """scikit-learn's attributes for rows that it has not validated."""
        self.n_features_in_ = d
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _starts(self) -> Any:
        """Where the last fit ended, if a warm start is asked for."""
        return getattr(self, "_ends", None) if getattr(self, "warm_start", False) else None

    # ------------------------------------------------------------ after a fit

    def _adopt(self, trained: Any, index_base: int | None = None) -> Any:
        """The fitted attributes, from what training gave; a missed tolerance is said."""
        self._keep(trained, index_base)
        warn_if_missed(self.certificate_)
        return self

    def _keep(self, trained: Any, index_base: int | None = None) -> None:
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else tuple(names)
        self._show(replace(trained.model, feature_names=names, index_base=index_base))
        self._ends = getattr(trained, "starts", None)
        self.history_ = trained.history

    def _show(self, model: Any) -> None:
        """The attributes of a fitted estimator, from its model."""
        self.model_ = model
        for name in self._shown:
            setattr(self, name + "_", getattr(model, name))
        self.certificates_ = list(model.certificates)
        self.certificate_ = model.certificate
        self.n_iter_ = max((c.n_iter for c in model.certificates), default=0)

    @classmethod
    def from_model(cls, model: Any) -> Any:
        """The fitted estimator whose `to_model` this was, without its history."""
        known = cls().get_params()
        estimator = cls(**{k: v for k, v in model.parameters.items() if k in known})
        estimator._show(model)
        if model.encoder is None:
            estimator._note_columns(model.n_features, model.feature_names)
        else:
            estimator._note_columns(len(model.encoder.inputs), model.encoder.inputs)
        estimator.history_ = []
        return estimator

    def to_model(self) -> Any:
        """The model without the estimator: what `save` writes."""
        check_is_fitted(self)
        return self.model_

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted model to one file, readable by `maxmargin.load` and the commands.

        A model may replace a model; any other file only with `overwrite`.
        """
        save(self, path, overwrite=overwrite)

    # ------------------------------------------------------------ predictions

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores of the rows: one number each, or one per class with more than two classes.

        X may be a file: it is read block by block.
        """
        return self._apply("decision_function", X)

    def predict(self, X: Any) -> np.ndarray:
        """The label of each row; of a ranking its score. X may be a file."""
        return self._apply("predict", X)

    def _apply(self, method: str, X: Any) -> np.ndarray:
        """What a method of the model says about rows, once they are checked."""
        check_is_fitted(self)
        apply, threads = getattr(self.to_model(), method), threads_of(self.n_jobs)
        encoder = self.to_model().encoder
        if encoder is not None:
            return apply(read_table(encoder, X, threads).X if self._is_file(X) else X, threads)
        if self._is_file(X):
            source = opened(X, threads, self.n_features_in_)
            return np.concatenate([apply(block.X, threads) for block in source.blocks()])
        return apply(self._rows(X, reset=False), threads)

    def _scored(self, X: Any, y: Any, sample_weight: Any, qid: Any = None) -> Given:
        """Rows and targets to be judged by; a file has its own."""
        check_is_fitted(self)
        if not self._is_file(X):
            return Given(X, y, sample_weight, qid)
        encoder = self.to_model().encoder
        if encoder is not None:
            table = read_table(encoder, X, threads_of(self.n_jobs))
            return Given(table.X, table.y, table.weight, table.qid)
        source = opened(X, threads_of(self.n_jobs), self.n_features_in_)
        known = read_labelled(source, y, sample_weight, qid, threads_of(self.n_jobs), rows=False)
        return Given(source, known.y, known.weight, known.qid)

    def _judged(self, X: Any, y: Any, sample_weight: Any, qid: Any = None) -> Given:
        """Targets of rows to be judged by, with the scores of the rows in the place of X."""
        given = self._scored(X, y, sample_weight, qid)
        return replace(given, X=self._apply("decision_function", given.X))


@parameters
class Classifier(ClassifierMixin, Machine):
    """A machine whose predictions are labels."""

    class_weight: Mapping[Any, Any] | str | None = None

    def _given(self, X: Any, y: Any, *more: Any, **options: Any) -> Given:
        given = super()._given(X, y, *more, **options)
        check_labels(given.y)
        return given

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows whose label is right; of a file, by its own labels and weights."""
        given = self._scored(X, y, sample_weight)
        return super().score(given.X, given.y, given.weight)


@parameters
class Probabilistic(Classifier):
    """A classifier that has probabilities if it was fitted so."""

    _probabilities_by: ClassVar[str] = "probability=True"  # how to get them

    @property
    def predict_proba(self) -> Callable[[Any], np.ndarray]:
        """The probability of each class, in the order of `classes_`. X may be a file.

        A classifier that was fitted without probabilities has no such method.
        """
        if not self._has_probabilities():
            raise AttributeError(
                f"this {type(self).__name__} has no probabilities: fit it with "
                f"{self._probabilities_by}"
            )
        return self._probabilities

    def _has_probabilities(self) -> bool:
        model = getattr(self, "model_", None)
        if model is not None:
            return model.has_probabilities
        own = self.get_params(deep=False)
        return bool(own.get("probability")) or own.get("loss") == "logistic"

    def _probabilities(self, X: Any) -> np.ndarray:
        return self._apply("probabilities", X)


@parameters
class WithProbabilities(Probabilistic):
    """A classifier whose scores can be calibrated."""

    probability: bool | str = False


@parameters
class WithIntercept(Machine):
    """The intercept is the weight of a constant feature."""

    fit_intercept: bool = True
    intercept_scaling: float = 1.0

    def _bias(self) -> float:
        """The value of the constant feature; 0 for none."""
        scaling = positive("intercept_scaling", self.intercept_scaling)
        return scaling if self.fit_intercept else 0.0

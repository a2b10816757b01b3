"""Linear machines on data larger than memory that find their own C."""

from __future__ import annotations

from typing import Any, ClassVar

from maxmargin.data.stream.source_rows import read_metadata
from maxmargin.estimators.base import Probabilistic, parameters
from maxmargin.estimators.conventions import check_labels
from maxmargin.estimators.regression import Regressor
from maxmargin.estimators.searching import Searching, SearchingClasses
from maxmargin.estimators.sources import Given, checked_targets
from maxmargin.estimators.stream import ReadsStreams
from maxmargin.training.stream import StreamPlan, StreamRegressionPlan
from maxmargin.training.stream_search import ClassesOnStream, ValuesOnStream
from maxmargin.training.tasks import Task


@parameters
class SearchesStreams(Searching, ReadsStreams):
    """A search whose rows stay where they are."""

    def _given(
        self, X: Any, y: Any, sample_weight: Any = None, qid: Any = None, **options: Any
    ) -> Given:
        source = self._source(X, y, sample_weight)
        known = read_metadata(source)
        y = checked_targets(source, known.y)
        self._check_targets(y)
        groups = known.qid if qid is None else qid
        return Given(source, y, known.weight, groups, source.index_base)

    def _task(self, given: Given, plan: StreamPlan) -> Task:
        return super()._task(given, self._patient(plan, given.X))


@parameters
class StreamSVCCV(SearchingClasses, SearchesStreams, Probabilistic):
    """`StreamSVC` with the C that classifies held-out rows best.

    The folds are trained beside each other: they share the cache and every pass over the rows, so
    the search reads the file about as often as one machine would along the values of C. Each
    solution starts the next. The model is refitted on all rows with the least C of best mean score.

    Parameters
    ----------
    Cs, scoring, widen, tune_threshold
        As in `LinearSVCCV`; a scorer of scikit-learn gets predictions, as rows are not in memory.
    cv : int, splitter or iterable
        As in `LinearSVCCV`. Eight folds at a time are trained together; more are trained in turn.
    memory : int or str
        As in `StreamSVC`. Besides it there are w and a number per row for each class and fold, the
        labels, and a byte per row.
    class_weight : dict, "balanced" or None
        "balanced" goes by the classes of all rows.

    The others are those of `StreamSVC`, which has checkpoints too; `max_time` is a limit for each
    C, and for the fit on all rows.

    Attributes
    ----------
    C_, Cs_, scores_, best_score_, best_params_, scoring_, threshold_
        As in `LinearSVCCV`.

    All others are those of `StreamSVC`, for the refitted model.

    Examples
    --------
    >>> from maxmargin import StreamSVCCV, data
    >>> train, test = data.load_demo()
    >>> model = StreamSVCCV(Cs=[0.01, 0.1], cv=3, memory="1MB").fit(train.X, train.y)
    >>> model.scores_.shape
    (3, 2)
    """

    _shown = ("coef", "intercept", "classes", "features")
    _probabilities_by = "loss='logistic'"
    _learns = ClassesOnStream

    loss: str = "hinge"

    def _check_targets(self, y: Any) -> None:
        check_labels(y)


@parameters
class StreamSVRCV(SearchesStreams, Regressor):
    """`StreamSVR` with the C that predicts held-out rows best.

    The folds are trained beside each other, as in `StreamSVCCV`.

    Parameters
    ----------
    Cs, widen
        As in `LinearSVCCV`.
    cv, memory
        As in `StreamSVCCV`; folds are not stratified.
    scoring : str or callable, optional
        As in `LinearSVRCV`.

    The others are those of `StreamSVR`, which has checkpoints too; `max_time` is a limit for each
    C, and for the fit on all rows.

    Attributes
    ----------
    C_, Cs_, scores_, best_score_, best_params_, scoring_
        As in `LinearSVRCV`.

    All others are those of `StreamSVR`, for the refitted model.
    """

    _shown = ("features",)
    _plans = StreamRegressionPlan
    _validation: ClassVar[dict[str, Any]] = {"y_numeric": True}
    _learns = ValuesOnStream

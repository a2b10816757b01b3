"""Linear machines on data larger than memory, certified."""

from __future__ import annotations

import os
from dataclasses import field, replace
from typing import Any, ClassVar, Self

import numpy as np

from maxmargin.data.features import feature_map
from maxmargin.data.stream.array_source import ArraySource
from maxmargin.data.stream.blocks import BlockSource
from maxmargin.estimators.base import Probabilistic, WithIntercept, parameters
from maxmargin.estimators.conventions import check_labels
from maxmargin.estimators.features import MakesFeatures, is_text
from maxmargin.estimators.regression import Regressor
from maxmargin.estimators.sources import opened, refuse_beside
from maxmargin.training.stream import StreamPlan, StreamRegressionPlan, train_stream
from maxmargin.training.stream_memory import blocks_within
from maxmargin.training.targets import numbers_in
from maxmargin.training.weights import checked_weights


@parameters
class ReadsStreams(MakesFeatures, WithIntercept):
    """What machines on streams share: where rows come from, and what is kept in memory."""

    memory: int | float | str = "1GB"
    random_state: Any = None
    deterministic: bool | None = None
    alpha_dtype: str = "float64"

    _plans: ClassVar[type[StreamPlan]] = StreamPlan
    _validation: ClassVar[dict[str, Any]] = {}  # of arrays, by scikit-learn

    def _plan(self) -> StreamPlan:
        features = feature_map(self.features)
        patient = bool(self.deterministic)
        return self._planned(self._plans, bias=self._bias(), features=features, patient=patient)

    def _patient(self, plan: StreamPlan, source: BlockSource) -> StreamPlan:
        """Unless told otherwise, fits of rows in memory repeat."""
        in_memory = self.deterministic is None and isinstance(source, ArraySource)
        return replace(plan, patient=True) if in_memory else plan

    def _check_targets(self, y: Any) -> None:
        """Before arrays are trained on."""
        if self._validation.get("y_numeric"):
            numbers_in(y, type(self).__name__)

    def _source(self, X: Any, y: Any, sample_weight: Any) -> BlockSource:
        """The rows as a source of blocks, wherever they are."""
        if self._is_file(X, labelled=y is not None):
            source = opened(X, None, block_bytes=blocks_within(self.memory))
            refuse_beside(source, y, "y", "labels")
            refuse_beside(source, sample_weight, "sample_weight", "weights")
            self._note_columns(source.d, source.feature_names)
            return source
        if is_text(X) and y is None:
            raise ValueError("y is missing: texts in memory need labels")
        if not is_text(X):
            X, y = self._rows(X, y, **self._validation)
        self._check_targets(y)
        weight = checked_weights(sample_weight, len(y))
        blocks = blocks_within(self.memory)
        rows = ArraySource(X, np.asarray(y), weight=weight, block_bytes=blocks)
        if is_text(X):
            self._note_columns(rows.d, rows.feature_names)
        return rows


@parameters
class OnStream(ReadsStreams):
    """A machine trained on a stream with one C."""

    C: float = field(default=1.0, kw_only=False)
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_every: float = 600.0
    alpha_file: str | os.PathLike[str] | None = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on a file, a list of files, a `BlockSource`, or arrays in memory.

        Files and sources bring their labels and weights: leave `y` and `sample_weight` out. Arrays
        (dense or CSR), `Strings` and sequences of texts need `y`.
        """
        plan = self._plan()
        source = self._source(X, y, sample_weight)
        return self._adopt(train_stream(source, self._patient(plan, source)), source.index_base)


@parameters
class StreamSVC(OnStream, Probabilistic):
    """Linear support vector classification of rows that need not fit in memory.

        minimise   1/2 ||w||^2 + C sum_i s_i f(y_i (<w, phi(x_i)> + b))

    Solved by dual cached loops: one thread reads the rows again and again, one takes coordinate
    steps on them as they arrive and on the informative ones, which stay in a cache. The optimum is
    that of `LinearSVC`. More than two classes are trained one against the rest, all in the same
    passes over the data.

    Parameters
    ----------
    C : float
        What a unit of loss costs; multiplies a sum over rows, as in LIBLINEAR.
    loss : {"hinge", "squared_hinge", "logistic"}
        ``f(m)``: ``max(0, 1 - m)``, its square, or ``log(1 + exp(-m))``, which gives probabilities.
    memory : int or str
        Bytes for cached rows, their index, the blocks under way and two vectors as long as w
        ("512MB", "2GB"). Besides it there are w and one number per row, for each class.
    features : str, map or callable, optional
        Features made on the fly: "weighted_degree:8", "word_ngrams:2", "char_ngrams:4", "pairs",
        "fourier:1000,gamma=0.5", a map of `maxmargin.data.features`, or a callable that takes the
        rows of a block and returns as many rows of numbers.
    tol : float
        Relative duality gap to reach.
    max_iter, max_time : number, optional
        Limits on passes over the rows, and on seconds. Like Ctrl-C they give the best model that
        was looked at, with its certificate, and a ConvergenceWarning.
    fit_intercept, intercept_scaling : bool, float
        The intercept is the weight of a constant feature of value `intercept_scaling`, hence
        regularised; a larger value regularises it less.
    class_weight : dict, "balanced" or None
    n_jobs : int, optional
        Threads for the problems of several classes, besides the reader; None for all available
        CPUs.
    random_state : int, generator or None
        Seed of the orders of visits; None means 0.
    deterministic : bool, optional
        True: how often cached rows are visited depends on counts only, so fits repeat. False: the
        trainer also visits them whenever it would have to wait for the reader. None: True for
        arrays, False for files.
    checkpoint : path, optional
        Where the state of the run is kept. A fit that finds the checkpoint of the same data and
        problem goes on from there.
    checkpoint_every : float
        Seconds between two checkpoints.
    alpha_dtype : {"float64", "float32"}
        Of the dual variables, one per row and class.
    alpha_file : path, optional
        Keep the dual variables in this file, mapped into memory, where even they are too many.
    verbose : int
        1 prints one line per pass to standard error.
    callback : callable, optional
        Called with a `StreamProgress` after each pass; True ends the fit with the best model so
        far.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, n_iter_ : as in scikit-learn
        `coef_` has a column for each feature of the map; `n_iter_` counts passes.
    certificate_ : Certificate
        Of the binary problem furthest from its optimum. `certificates_` has one for each.
    history_ : list of StreamProgress
        With passes, exact objective, dual objective, rows per second, cache hit rate.
    features_ : the map, with what it learned from the rows; None without one

    Examples
    --------
    >>> from maxmargin import StreamSVC, data
    >>> train, test = data.load_demo()
    >>> model = StreamSVC(C=0.1, memory="1MB").fit(train.X, train.y)
    >>> model.certificate_.relative_gap <= 1e-3
    True
    >>> bool(model.score(test.X, test.y) > 0.84)
    True
    """

    _kind = "stream"
    _shown = ("coef", "intercept", "classes", "features")
    _probabilities_by = "loss='logistic'"

    loss: str = "hinge"

    def _check_targets(self, y: Any) -> None:
        check_labels(y)


@parameters
class StreamSVR(OnStream, Regressor):
    """Linear regression of rows that need not fit in memory, by one of six losses.

        minimise   1/2 ||w||^2 + C sum_i s_i f(t_i - <w, phi(x_i)> - b)

    Solved by dual cached loops, as `StreamSVC` is; the optimum is that of `LinearSVR`. Several
    quantiles or expectiles are trained in the same passes over the data.

    Parameters
    ----------
    C, loss, epsilon, quantile, delta, non_crossing, fit_intercept, intercept_scaling
        As in `LinearSVR`.
    memory, features, tol, max_iter, max_time, n_jobs, random_state, deterministic, checkpoint, \
checkpoint_every, alpha_dtype, alpha_file, verbose, callback
        As in `StreamSVC`.

    Attributes
    ----------
    coef_, intercept_, certificate_, certificates_, history_, n_iter_, n_features_in_, features_
        As in `LinearSVR` and `StreamSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import StreamSVR
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = StreamSVR(C=10, loss="huber", memory="1MB").fit(X, 2 * X[:, 0])
    >>> model.certificate_.relative_gap <= 1e-3
    True
    """

    _kind = "stream-regression"
    _shown = ("features",)
    _plans = StreamRegressionPlan
    _validation: ClassVar[dict[str, Any]] = {"y_numeric": True}

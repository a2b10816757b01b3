"""Linear classification of data larger than memory, certified."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from maxmargin.data.blocks import BlockSource, Strings
from maxmargin.data.features import feature_map
from maxmargin.data.sources import ArraySource, open_source
from maxmargin.estimators.base import (
    check_labels,
    progress_callback,
    seed_of,
    threads_of,
    validated,
    warn_if_missed,
)
from maxmargin.models.files import register_estimator, save
from maxmargin.models.stream import StreamModel
from maxmargin.models.stream_training import StreamPlan, train_stream
from maxmargin.problem import Callback
from maxmargin.solvers.kernel_sources import parse_bytes

SMALLEST_BLOCKS = 1 << 12


class StreamSVC(ClassifierMixin, BaseEstimator):
    """Linear support vector classification of rows that need not fit in memory.

        minimise   1/2 ||w||^2 + C sum_i s_i max(0, 1 - y_i (<w, phi(x_i)> + b))

    Solved by dual cached loops: one thread reads the rows again and again, one takes coordinate
    steps on them as they arrive and on the informative ones, which stay in a cache. The optimum is
    that of `LinearSVC`. More than two classes are trained one against the rest, all in the same
    passes over the data.

    Parameters
    ----------
    C : float
        What a unit of loss costs; multiplies a sum over rows, as in LIBLINEAR.
    memory : int or str
        Bytes for cached rows, their index, the blocks under way and two vectors as long as w
        ("512MB", "2GB"). Besides it there are w and one number a row, for each class.
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
        Threads for the problems of several classes, besides the reader; None for all CPUs granted.
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
        Of the dual variables, one a row and class.
    alpha_file : path, optional
        Keep the dual variables in this file, mapped into memory, where even they are too many.
    verbose : int
        1 prints a line a pass to standard error.
    callback : callable, optional
        Called with a `StreamProgress` a pass; True ends the fit with the best model so far.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, n_iter_ : as in scikit-learn
        `coef_` has a column for each feature of the map; `n_iter_` counts passes.
    certificate_ : Certificate
        Of the binary problem furthest from its optimum. `certificates_` has one for each.
    history_ : list of StreamProgress
        With passes, exact objective, dual objective, rows a second, cache hit rate.
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

    def __init__(
        self,
        C: float = 1.0,
        *,
        memory: int | float | str = "1GB",
        features: Any = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        max_time: float | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight=None,
        n_jobs: int | None = None,
        random_state=None,
        deterministic: bool | None = None,
        checkpoint: str | os.PathLike | None = None,
        checkpoint_every: float = 600.0,
        alpha_dtype: str = "float64",
        alpha_file: str | os.PathLike | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.C = C
        self.memory = memory
        self.features = features
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.deterministic = deterministic
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.alpha_dtype = alpha_dtype
        self.alpha_file = alpha_file
        self.verbose = verbose
        self.callback = callback

    def fit(self, X, y=None, sample_weight=None) -> StreamSVC:
        """Train on a file, a list of files, a `BlockSource`, or arrays in memory.

        Files and sources bring their labels and weights: leave `y` and `sample_weight` out. Arrays
        (dense or CSR), `Strings` and sequences of texts need `y`.
        """
        plan = self._plan(in_memory=y is not None)
        source = self._source(X, y, sample_weight)
        trained = train_stream(source, plan)
        self.n_features_in_ = source.d
        self._adopt_model(trained.model)
        self.history_ = trained.history
        warn_if_missed(trained.model.certificate, self.tol, stacklevel=3)
        return self

    def _plan(self, in_memory: bool) -> StreamPlan:
        scaling = float(self.intercept_scaling)
        if self.fit_intercept and not scaling > 0:
            raise ValueError(
                f"intercept_scaling must be positive; got {self.intercept_scaling!r}; "
                "use fit_intercept=False for no intercept"
            )
        return StreamPlan(
            C=self.C,
            memory=self.memory,
            features=feature_map(self.features),
            tol=self.tol,
            max_iter=self.max_iter,
            max_time=self.max_time,
            bias=scaling if self.fit_intercept else 0.0,
            class_weight=self.class_weight,
            threads=threads_of(self.n_jobs),
            seed=seed_of(self.random_state),
            callback=progress_callback(self.callback, self.verbose),
            checkpoint=self.checkpoint,
            checkpoint_every=self.checkpoint_every,
            alpha_dtype=self.alpha_dtype,
            alpha_file=self.alpha_file,
            patient=in_memory if self.deterministic is None else bool(self.deterministic),
        )

    def _source(self, X, y, sample_weight) -> BlockSource:
        if y is None and is_source(X):
            if sample_weight is not None:
                raise ValueError(
                    "sample_weight is for arrays: files and sources have their own weights"
                )
            return open_source(X)
        if is_text(X):
            if y is None:
                raise ValueError("y is missing: texts in memory need labels")
            check_labels(y)
        else:
            X, y = validated(self, X, y)
            check_labels(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight,
                X if hasattr(X, "ndim") else np.empty((len(y), 1)),
                dtype=np.float64,
                ensure_non_negative=True,
            )
        blocks = max(SMALLEST_BLOCKS, min(4 << 20, parse_bytes(self.memory) // 32))
        return ArraySource(X, np.asarray(y), weight=sample_weight, block_bytes=blocks)

    def _adopt_model(self, model: StreamModel) -> None:
        self._model = model
        self.coef_, self.intercept_, self.classes_ = model.coef, model.intercept, model.classes
        self.features_ = model.features
        self.certificates_ = list(model.certificates)
        self.certificate_ = model.certificate
        self.n_iter_ = max((c.n_iter for c in model.certificates), default=0)

    def to_model(self) -> StreamModel:
        """The model without the estimator: what `save` writes."""
        check_is_fitted(self)
        return self._model

    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted model, its feature map included, to one file.

        Readable by `maxmargin.load` and the commands. A map of your own cannot be saved.
        """
        save(self, path)

    def decision_function(self, X) -> np.ndarray:
        """``<w_j, phi(x)> + b_j``: one number a row for two classes, else one a class.

        X as in `fit`: arrays, texts, or files, which are read block by block.
        """
        check_is_fitted(self)
        threads = threads_of(self.n_jobs)
        if not is_source(X) or (self._model.rows == "strings" and not could_be_paths(X)):
            if not is_text(X):
                X = validated(self, X, reset=False)
            return self._model.decision_function(X, threads)
        source = open_source(X)
        return np.concatenate(
            [self._model.decision_function(block.X, threads) for block in source.blocks()]
        )

    def predict(self, X) -> np.ndarray:
        """The class of each row."""
        return self.to_model().labels(self.decision_function(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def is_source(X: Any) -> bool:
    """Whether X is a source of blocks, a path or a list of paths."""
    return hasattr(X, "blocks") or could_be_paths(X)


def could_be_paths(X: Any) -> bool:
    """A path, or a list of paths all of which exist."""
    if isinstance(X, str | os.PathLike):
        return True
    listed = isinstance(X, Sequence) and len(X) > 0
    return listed and all(isinstance(x, str | os.PathLike) and os.path.exists(x) for x in X)


def is_text(X: Any) -> bool:
    """Whether X holds strings rather than numbers."""
    if isinstance(X, Strings):
        return True
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and X.dtype.kind in "US"
    return isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], str | bytes)


def _from_model(model: StreamModel) -> StreamSVC:
    known = StreamSVC().get_params()
    estimator = StreamSVC().set_params(**{k: v for k, v in model.parameters.items() if k in known})
    estimator.features = model.features
    estimator._adopt_model(model)
    estimator.history_ = []
    estimator.n_features_in_ = model.n_features
    return estimator


register_estimator("stream", _from_model)

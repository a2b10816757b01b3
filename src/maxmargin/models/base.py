"""What all models share: where they came from, and a file made of what their fields declare."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from maxmargin.models.calibration import Calibration, Sigmoid, StoredCalibration, probabilities_of
from maxmargin.models.contents import (
    Certificates,
    Contents,
    Encoding,
    IndexBase,
    Names,
    Parameters,
    Scalar,
    Tensors,
    Words,
    stored,
    stored_fields,
)
from maxmargin.problem import Certificate

if TYPE_CHECKING:
    from maxmargin.data.encoding.encoding import TableEncoding

_kinds: dict[str, type[Model]] = {}


def kinds() -> Mapping[str, type[Model]]:
    """The kinds of models there are, by the name in their files."""
    from maxmargin import models

    models.import_all()
    return _kinds


@dataclass(frozen=True, kw_only=True)
class Model(ABC):
    """What is kept of a fit.

    A subclass names its `kind`, and gives each field that belongs into a file its form by `stored`
    (`maxmargin.models.contents`); its `__post_init__` checks that they fit each other.

    Parameters
    ----------
    certificates : one for each problem, or none if unknown
    solver : the method that found it
    parameters : of the estimator: plain values, lists of them, and `class_weight` as a mapping
    feature_names : of the columns, where the training data had names
    index_base : 0 or 1, the number svmlight training text gave its first feature: test text
        must be read with the same base
    encoder : TableEncoding, optional
        Makes features of the columns of a table, where the model was trained on one: such a model
        is given tables, and `feature_names` are those of the features
    """

    kind: ClassVar[str] = ""
    task: ClassVar[str] = "classes"  # or "labels" (several a row), "order", "ranking", "values"

    certificates: tuple[Certificate, ...] = stored(Certificates(), ())
    solver: str = stored(Words(), "unknown")
    parameters: Mapping[str, Scalar | Mapping[Any, Any] | Sequence[Any]] = stored(
        Parameters(), default_factory=dict
    )
    feature_names: tuple[str, ...] | None = stored(Names(), None)
    index_base: int | None = stored(IndexBase(), None)
    encoder: TableEncoding | None = stored(Encoding(), None)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            _kinds[cls.kind] = cls

    if TYPE_CHECKING:  # a field or a property of each model

        @property
        def n_features(self) -> int:
            """Columns of the rows it predicts."""

    @property
    def certificate(self) -> Certificate | None:
        """Of the problem furthest from its optimum."""
        return max(self.certificates, key=lambda c: c.relative_gap, default=None)

    @abstractmethod
    def decision_function(self, X: Any, threads: int | None = None) -> np.ndarray:
        """One number per row, or one column per class with more than two classes."""

    @abstractmethod
    def predict(self, X: Any, threads: int | None = None) -> np.ndarray:
        """The label of each row; of a ranking its score."""

    def rows_of(self, X: Any) -> Any:
        """X as it is scored: a table encoded, an array if it has the columns of training."""
        if self.encoder is not None:
            X = self.encoder.transform(X)
        self._check_columns(X)
        return X

    def _check_columns(self, X: Any) -> None:
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(
                f"X has shape {X.shape}, but the model was trained on {self.n_features} "
                f"{self._columns_are}"
            )

    @property
    def _columns_are(self) -> str:
        return "features"

    def _check_problems(self, problems: int, **more: Sequence[Any]) -> None:
        """One certificate (or what else is named) for each problem, one name for each feature."""
        for name, found in {"certificates": self.certificates, **more}.items():
            if len(found) not in (0, problems):
                raise ValueError(f"{len(found)} {name} do not fit {problems} problems")
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise ValueError(
                f"{len(self.feature_names)} feature names do not fit {self.n_features} features"
            )
        if self.encoder is not None and self.encoder.width != self.n_features:
            raise ValueError(
                f"an encoding of {self.encoder.width} features does not fit {self.n_features}"
            )
        self._check_calibration()

    def _check_calibration(self) -> None:  # noqa: B027
        """Only models of classes have one."""

    # ------------------------------------------------------------ the file

    def pack(self) -> tuple[Tensors, dict[str, Any]]:
        """Tensors and JSON-able content."""
        contents = Contents({}, {})
        for name, form in stored_fields(self).items():
            form.pack(name, getattr(self, name), contents)
        return contents.tensors, contents.plain

    @classmethod
    def unpack(cls, tensors: Tensors, content: dict[str, Any]) -> Self:
        """The model that `pack` was asked of; ValueError where these cannot be one."""
        contents = Contents(dict(tensors), content)
        values = {name: form.unpack(name, contents) for name, form in stored_fields(cls).items()}
        if values["encoder"] is not None:
            values["feature_names"] = tuple(values["encoder"].feature_names)
        if contents.tensors:
            raise ValueError(f"it holds the unknown tensors {sorted(contents.tensors)}")
        model = cls(**values)
        model.check_loaded()
        return model

    def check_loaded(self) -> None:  # noqa: B027
        """What training cannot get wrong but a file can."""


class Regressing(Model):
    """A model of numbers: one function, or several, such as one for each quantile.

    Where the parameter "non_crossing" is true, the predictions of a row are sorted.
    """

    task = "values"

    @abstractmethod
    def functions(self, X: Any, threads: int | None = None) -> np.ndarray:
        """The values of all functions, (n, k), in an array of its own."""

    def decision_function(self, X: Any, threads: int | None = None) -> np.ndarray:
        """The predictions."""
        return self.predict(X, threads)

    def predict(self, X: Any, threads: int | None = None) -> np.ndarray:
        """(n,) for one function, else (n, k)."""
        values = self.functions(X, threads)
        if self.parameters.get("non_crossing"):
            values.sort(axis=1)
        return values.ravel() if values.shape[1] == 1 else values


@dataclass(frozen=True, kw_only=True)
class Labelling(Model):
    """A model of classes: how its scores become probabilities and labels.

    Parameters
    ----------
    calibration : Calibration, optional
        From scores to log-odds. With it `decision_function` gives the log-odds of each class, and
        labels are the most probable classes.
    """

    if TYPE_CHECKING:  # a field of each model

        @property
        def classes(self) -> np.ndarray:
            """Labels in increasing order."""

    calibration: Calibration | None = stored(StoredCalibration(), None)

    @property
    def has_probabilities(self) -> bool:
        """Whether its scores are log-odds."""
        return self.calibration is not None

    @abstractmethod
    def margins(self, X: Any, threads: int | None = None) -> np.ndarray:
        """What was trained: (n,) for two classes, else (n, k)."""

    def decision_function(self, X: Any, threads: int | None = None) -> np.ndarray:
        """The scores: (n,) for two classes, else (n, k). Calibrated ones are log-odds."""
        margins = self.margins(X, threads)
        return margins if self.calibration is None else self.calibration.log_odds(margins)

    def probabilities(self, X: Any, threads: int | None = None) -> np.ndarray:
        """The probability of each class, (n, k)."""
        if self.calibration is None:
            raise ValueError("the model has no probabilities: train it with probability=True")
        return probabilities_of(self.decision_function(X, threads))

    def labels(self, scores: np.ndarray) -> np.ndarray:
        """The class each row of `decision_function` speaks for."""
        if self.calibration is not None:
            scores = probabilities_of(scores)
        if scores.ndim == 1:
            return self.classes[(scores > 0).astype(np.intp)]
        return self.classes[np.argmax(scores, axis=1)]

    def _check_calibration(self) -> None:
        """A map for each score. Those of the logistic loss are log-odds as they are."""
        scores = 1 if len(self.classes) == 2 else len(self.classes)
        if self.calibration is None and self.parameters.get("loss") == "logistic":
            object.__setattr__(self, "calibration", Sigmoid(np.ones(scores), np.zeros(scores)))
        if self.calibration is not None and self.calibration.problems != scores:
            raise ValueError(
                f"a calibration of {self.calibration.problems} scores does not fit "
                f"{len(self.classes)} classes"
            )

    def predict(self, X: Any, threads: int | None = None) -> np.ndarray:
        """The label of each row."""
        return self.labels(self.decision_function(X, threads))

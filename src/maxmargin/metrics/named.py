"""Measures by name, for rows that were held out: what `scoring=` and ``--scoring`` take.

classes     accuracy, precision, recall, f1, f2, f0.5, prbep, roc_auc, precision@k, recall@k (the
            mean over classes where there are more than two)
ordered     accuracy, mean_absolute_error (in places)
rankings    ndcg, ndcg@k, map, pairwise_accuracy, precision@k, recall@k, query by query
values      mean_absolute_error, mean_squared_error, r2
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from maxmargin.metrics import labelling, ranking

AT_K = ("ndcg", "precision", "recall")
ERRORS = ("mean_absolute_error", "mean_squared_error")  # less is better
OF_ORDER = ("prbep", "roc_auc", "ndcg", "map", "pairwise_accuracy")  # of scores: no labels
OF_CLASSES = ("accuracy", "f1", "fbeta", "prbep", "roc_auc", "precision", "recall")
OF_RANKINGS = ("ndcg", "map", "pairwise_accuracy", "precision", "recall")
OF_VALUES = ("mean_absolute_error", "mean_squared_error", "r2")
NAMES = tuple(dict.fromkeys((*OF_CLASSES, *OF_RANKINGS, *OF_VALUES)))


@dataclass(frozen=True)
class HeldOut:
    """Rows beside what a model says of them.

    `values` are decision values, scores or predicted numbers. `rows` gives the rows themselves,
    for scorers that want them.
    """

    model: Any
    values: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None
    qid: np.ndarray | None = None
    rows: Callable[[], Any] | None = None

    @cached_property
    def labels(self) -> np.ndarray:
        return self.model.labels(self.values)

    def shifted(self, cut: float) -> HeldOut:
        """The same rows with a threshold at `cut`."""
        return replace(self, values=self.values - cut, rows=None)


@dataclass(frozen=True)
class Named:
    """A measure of ours; called with rows held out, it says how good they are predicted."""

    name: str
    k: int | float | None = None
    beta: float = 1.0

    @property
    def title(self) -> str:
        return self.name if self.k is None else f"{self.name}@{self.k:g}"

    @property
    def has_threshold(self) -> bool:
        """Whether labels count, and so where scores are cut into them."""
        return self.k is None and self.name not in OF_ORDER

    def __call__(self, held: HeldOut) -> float:
        """The measure, negative where it is an error: more is better."""
        value = self.value(held)
        return -value if self.name in ERRORS else value

    def value(self, held: HeldOut) -> float:
        """The measure as it is written in papers."""
        check_weights(held)
        task = held.model.task
        if task == "ranking":
            return self._of_ranking(held)
        if task == "values":
            return self._of_values(held)
        if task == "order" and self.name == "mean_absolute_error":
            return places_apart(held.model.classes, held)
        return self._of_classes(held)

    def _of_ranking(self, held: HeldOut) -> float:
        self._check(OF_RANKINGS, "rankings")
        y, score, qid, k = held.y, held.values, held.qid, self.k
        if self.name == "pairwise_accuracy":
            return ranking.pairwise_accuracy(y, score, qid=qid, sample_weight=held.weight)
        if self.name == "map":
            return ranking.mean_average_precision(y, score, qid=qid)
        places = None if k is None else int(k)
        if self.name == "ndcg":
            return ranking.ndcg(y, score, qid=qid, k=places)
        if places is None:
            raise ValueError(f"{self.name} of a ranking needs k: write {self.name}@10")
        found = ranking.precision_at if self.name == "precision" else ranking.recall_at
        return found(y, score, k=places, qid=qid)

    def _of_classes(self, held: HeldOut) -> float:
        self._check(OF_CLASSES, "classes")
        if self.name == "accuracy":
            return labelling.accuracy(held.y, held.labels, held.weight)
        name = self.name if self.k is None else f"{self.name}_at_k"
        return judged(name, held, self.beta, self.k)

    def _of_values(self, held: HeldOut) -> float:
        self._check(OF_VALUES, "predicted numbers")
        columns = held.values.reshape(len(held.y), -1).T
        if self.name == "mean_absolute_error":
            errors = [np.abs(held.y - column) for column in columns]
        else:
            errors = [(held.y - column) ** 2 for column in columns]
        means = [float(np.average(error, weights=held.weight)) for error in errors]
        if self.name != "r2":
            return float(np.mean(means))
        centre = np.average(held.y, weights=held.weight)
        spread = float(np.average((held.y - centre) ** 2, weights=held.weight))
        if spread == 0:
            raise ValueError("all targets are equal; r2 needs targets that differ")
        return 1.0 - float(np.mean(means)) / spread

    def _check(self, known: tuple[str, ...], what: str) -> None:
        if self.name not in known:
            raise ValueError(
                f"{self.title!r} is no measure of {what}: expected one of {', '.join(known)}"
            )


def check_weights(held: HeldOut) -> None:
    """Refuses rows of which none counts: a mean over them would divide by nothing."""
    if held.weight is None or held.model.task == "ranking":
        return
    if not np.sum(held.weight) > 0:
        raise ValueError(f"its {len(held.weight)} rows weigh nothing; expected a positive weight")


def judged(name: str, held: HeldOut, beta: float, k: int | float | None) -> float:
    """A measure of a classifier's scores; with several classes, the mean over them.

    The positive one of two classes is the `pos_label` that the model was trained for, if any, and
    else the second.
    """
    classes, labels = held.model.classes, held.labels
    if name == "error":
        return labelling.accuracy(held.y, labels, held.weight)
    if len(classes) == 2:
        positive = positive_class(held.model)
        sign = 1.0 if positive == 1 else -1.0
        columns, positives = [sign * held.values], classes[[positive]]
    else:
        columns, positives = list(held.values.T), classes
    values = [
        labelling.measured(name, held.y == label, column, labels == label, held.weight, beta, k)
        for column, label in zip(columns, positives, strict=True)
    ]
    return float(np.mean(values))


def positive_class(model: Any) -> int:
    """Which of two classes is the positive one."""
    label = model.parameters.get("pos_label")
    known = [str(one) for one in model.classes.tolist()]
    return known.index(str(label)) if label is not None and str(label) in known else 1


def places_apart(classes: np.ndarray, held: HeldOut) -> float:
    """Mean number of places between predicted and true label."""
    place = {label: j for j, label in enumerate(classes.tolist())}
    unknown = [label for label in np.unique(held.y).tolist() if label not in place]
    if unknown:
        raise ValueError(f"y has the label {unknown[0]!r}; expected one of {classes.tolist()}")
    true = np.array([place[label] for label in held.y.tolist()])
    predicted = np.array([place[label] for label in held.labels.tolist()])
    return float(np.average(np.abs(predicted - true), weights=held.weight))


def measures_of(text: str) -> list[Named]:
    """``NDCG@1,3,5,map`` as measures: a number alone is another k of the name before it."""
    found: list[Named] = []
    for word in text.replace(" ", "").split(","):
        if re.fullmatch(r"[0-9.]+", word) and found and found[-1].k is not None:
            found.append(Named(found[-1].name, _places(word, text), found[-1].beta))
        else:
            named = measure_of(word)
            if named is None:
                raise ValueError(
                    f"{word!r} is no measure: expected some of {', '.join(NAMES)}, with @k where "
                    "places are counted"
                )
            found.append(named)
    return found


def measure_of(text: str) -> Named | None:
    """A measure by name, as ``ndcg@10``, ``precision_at_k`` aside; None if there is none."""
    name, _, k = text.lower().partition("@")
    beta = re.fullmatch(r"f([0-9.]+)", name)
    if beta is not None and name != "f1":
        return Named("fbeta", beta=float(beta[1]))
    name = {"roc_area": "roc_auc", "mae": "mean_absolute_error", "error": "accuracy"}.get(
        name, name
    )
    if name not in NAMES:
        return None
    if k and name not in AT_K:
        raise ValueError(f"{text!r}: {name} counts all rows; leave @{k} out")
    return Named(name, _places(k, text) if k else None)


def _places(text: str, whole: str) -> int | float:
    try:
        k = float(text)
    except ValueError:
        k = 0.0
    if not k > 0 or (k > 1 and k != int(k)):
        raise ValueError(f"{whole!r}: @{text} is no number of rows, 1 or more, nor a share of them")
    return int(k) if k >= 1 else k

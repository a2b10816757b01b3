"""Scorers of scikit-learn, called with machines that were trained without some of the rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from sklearn.metrics import get_scorer

from maxmargin.metrics.named import HeldOut, Named, measure_of
from maxmargin.models.calibration import probabilities_of


def scoring_of(
    scoring: Any, wrap: Callable[[Any], Any], probabilities_by: str | None = None
) -> Any:
    """What `scoring=` means: a measure of ours by name, else a scorer of scikit-learn or a
    function of an estimator, rows and targets. `wrap` makes an estimator of a model;
    `probabilities_by` says how to get one that has probabilities, if there is a way."""
    if scoring is None or isinstance(scoring, Named):
        return scoring
    ours = measure_of(scoring) if isinstance(scoring, str) else None
    return ours or Scorer(_scorer(scoring), wrap, str(scoring), probabilities_by)


def _scorer(scoring: Any) -> Any:
    try:
        return get_scorer(scoring)
    except ValueError:
        raise ValueError(
            f"scoring is {scoring!r}; expected a measure (ndcg@10, f1, roc_auc, ...), the name of "
            "a scorer of scikit-learn, or a function of an estimator, X and y"
        ) from None


class Scorer:
    """A function of an estimator, X and y, as a function of rows held out."""

    def __init__(
        self,
        scorer: Any,
        wrap: Callable[[Any], Any],
        title: str,
        probabilities_by: str | None = None,
    ) -> None:
        self.scorer, self.wrap, self.title = scorer, wrap, title
        self.probabilities_by = probabilities_by
        judged_by = getattr(scorer, "_score_func", scorer)
        self.takes_weight = "sample_weight" in inspect.signature(judged_by).parameters

    def __call__(self, held: HeldOut) -> float:
        estimator = self.wrap(held.model)
        weighted = self.takes_weight and held.weight is not None
        weight = {"sample_weight": held.weight} if weighted else {}
        if held.rows is None:  # they stay on disk, or a threshold is tried
            X: Any = held.values
            estimator = with_known_predictions(estimator, held)
        else:
            X = held.rows()
        try:
            return float(self.scorer(estimator, X, held.y, **weight))
        except AttributeError as error:
            reason = self._no_probabilities() if "predict_proba" in str(error) else str(error)
            raise ValueError(f"scoring {self.title!r} does not suit it: {reason}") from error

    def _no_probabilities(self) -> str:
        if self.probabilities_by is None:
            return "it needs probabilities, which this kind of machine does not have"
        return f"it needs probabilities: fit with {self.probabilities_by}"


def with_known_predictions(estimator: Any, held: HeldOut) -> Any:
    """An estimator that answers what is known, whatever it is asked about."""
    known: dict[str, Callable[[], Any]] = {"predict": lambda: held.values}
    if hasattr(held.model, "labels"):
        known = {"predict": lambda: held.labels, "decision_function": lambda: held.values}
    if getattr(held.model, "has_probabilities", False):
        known["_probabilities"] = lambda: probabilities_of(held.values)
    for name, values in known.items():
        setattr(estimator, name, _answer(name, values))
    return estimator


def _answer(name: str, values: Callable[[], Any]) -> Callable[[Any], Any]:
    """A method; scikit-learn looks it up again by its name."""

    def answer(X: Any) -> Any:
        return values()

    answer.__name__ = name
    return answer

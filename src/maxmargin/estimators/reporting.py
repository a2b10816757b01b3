"""Reports about fitted estimators, and how they show themselves in notebooks."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from maxmargin.report.markup import element
from maxmargin.report.page import render_table, words
from maxmargin.report.report import Report, make_report
from maxmargin.report.sections.training import certificate
from maxmargin.report.subject import Search, Subject, describe_rows, search_by


class Reporting:
    """What every estimator says about itself once it is fitted."""

    def report(
        self,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: Any = None,
        qid: Any = None,
        path: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
    ) -> Report:
        """How the model was found and, given labelled rows, how good it is on them.

        Parameters
        ----------
        X, y : rows to judge the model by, as in `score`; X may be a file
        sample_weight, qid : of those rows
        path : file to write the page to, if any
        overwrite : whether `path` may replace a file that is no report

        Returns
        -------
        Report
            Shown by a notebook; `save` writes one HTML file, `figures` gives its pictures.
        """
        me: Any = self
        check_is_fitted(me)
        about: dict[str, Any] = {}
        if X is not None:
            given = me._scored(X, y, sample_weight, qid)
            about = _judged(me, given.X, given.y) | {"weight": _array(given.weight)}
            about["qid"] = _array(given.qid)
            about["cell"] = _cell_of_rows(me.to_model(), given.X)
        made = make_report(
            Subject(
                me.to_model(),
                history=me.history_,
                search=_search(me),
                parameters=_plain(me.get_params(deep=False)),
                name=type(me).__name__,
                **about,
            )
        )
        if path is not None:
            made.save(path, overwrite=overwrite)
        return made

    def _repr_html_inner(self) -> str:
        """scikit-learn's diagram and, once fitted, the certificate in words and numbers."""
        inherited: Any = super()
        return inherited._repr_html_inner() + self._certificate_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        inherited: Any = super()
        shown = inherited._repr_mimebundle_(**options)
        if "text/html" in shown:
            shown["text/html"] += self._certificate_html()
        return shown

    def _certificate_html(self) -> str:
        if getattr(self, "certificate_", None) is None:
            return ""
        me: Any = self
        section = certificate(Subject(me.to_model()))
        bounds = element(
            "details", element("summary", "Bounds"), *map(render_table, section.tables)
        )
        return element("div", *words(section), bounds)


def _judged(estimator: Any, X: Any, y: Any) -> dict[str, Any]:
    """What an estimator says about rows, beside the truth."""
    predicted = np.asarray(estimator.predict(X))
    score = estimator.decision_function(X) if hasattr(estimator, "decision_function") else None
    probability = None
    if hasattr(estimator, "predict_proba"):
        probability = np.asarray(estimator.predict_proba(X))
        if predicted.ndim == 1:  # of one label a row, that of the second of two classes
            probability = probability[:, 1] if probability.shape[1] == 2 else None
    rows = describe_rows(X if hasattr(X, "shape") or hasattr(X, "blocks") else np.asarray(X))
    names = getattr(y, "columns", None) if predicted.ndim == 2 else None
    return {
        "rows": rows,
        "y": None if y is None else _targets(y, predicted.ndim),
        "score": score,
        "predicted": predicted,
        "probability": probability,
        "label_names": None if names is None else [str(name) for name in names],
    }


def _targets(y: Any, axes: int) -> np.ndarray:
    """One a row, maybe as a column; or an indicator matrix of several labels, maybe sparse."""
    y = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
    return y[:, 0] if axes == 1 and y.ndim == 2 and y.shape[1] == 1 else y


def _cell_of_rows(model: Any, X: Any) -> np.ndarray | None:
    """Which cell of a model in cells decides each row; None for other models and rows on disk."""
    if not hasattr(model, "tree") or hasattr(X, "blocks"):
        return None
    return model.tree.route(X if hasattr(X, "indptr") else np.asarray(X))


def _array(values: Any) -> np.ndarray | None:
    return None if values is None else np.asarray(values)


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters that can be read: functions and generators by their type."""
    return {
        name: type(value).__name__ if callable(value) else value
        for name, value in parameters.items()
    }


def _search(estimator: Any) -> Search | None:
    """The scores of a cross-validation, from the attributes that searching estimators have."""
    scores, Cs = getattr(estimator, "scores_", None), getattr(estimator, "Cs_", None)
    if scores is None or Cs is None:
        return None
    usual = "negative_loss" if is_regressor(estimator) else "accuracy"
    scoring = getattr(estimator, "scoring_", usual)
    for values in ("gammas", "epsilons", "ks"):
        tried = getattr(estimator, f"{values}_", None)
        if tried is not None and np.ndim(scores) == 3:
            return search_by(scoring, Cs, scores, tried, values.removesuffix("s"))
    return search_by(scoring, Cs, scores)

"""The predictions of a model beside the truth, for a report: rows in memory, or block by block."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.report.subject import Subject, describe_rows


def judged(
    model: Any, dataset: Any, threads: int | None = None, *, trained_on: bool = False, **about: Any
) -> Subject:
    """The subject of a report on a `Dataset`; `about` are other fields of a `Subject`."""
    X, y = dataset.X, dataset.y
    if hasattr(X, "blocks"):
        predicted, score, y = _by_blocks(model, X, y, threads)
    else:
        predicted, score = _applied(model, X, threads)
    return Subject(
        model,
        rows=describe_rows(X, dataset.source, trained_on),
        y=None if y is None else np.asarray(y),
        predicted=predicted,
        score=score,
        weight=dataset.weight,
        qid=dataset.qid,
        encoder=dataset.encoder,
        **about,
    )


def _applied(model: Any, X: Any, threads: int | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Predictions, and scores where a model has them. Labels are made of scores once they are
    there: computing them twice would take twice as long."""
    if not hasattr(model, "decision_function"):
        return np.asarray(model.predict(X, threads)), None
    score = np.asarray(model.decision_function(X, threads))
    if hasattr(model, "labels"):
        return np.asarray(model.labels(score)), score
    return np.asarray(model.predict(X, threads)), score


def _by_blocks(model: Any, X: Any, y: Any, threads: int | None) -> tuple[Any, Any, Any]:
    """The same over a source; its own labels where there are no others."""
    found = [(*_applied(model, block.X, threads), block.y) for block in X.blocks()]
    predicted, scores, labels = zip(*found)
    if y is None and all(part is not None for part in labels):
        y = np.concatenate(labels)
    score = None if scores[0] is None else np.concatenate(scores)
    return np.concatenate(predicted), score, y

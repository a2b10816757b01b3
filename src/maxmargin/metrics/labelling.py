"""How good labels and scores of classes are, counted by weight."""

from __future__ import annotations

import numpy as np

from maxmargin.losses.measures import number_taken


def accuracy(y: np.ndarray, labels: np.ndarray, weight: np.ndarray | None) -> float:
    """The share of rows whose label is right."""
    return float(np.average(labels == y, weights=weight))


def fbeta(true: np.ndarray, labelled: np.ndarray, weight: np.ndarray | None, beta: float) -> float:
    """``(1 + beta^2) a / (a + b + beta^2 n+)``; 0 where nothing is positive or labelled so."""
    s = np.ones(true.size) if weight is None else np.asarray(weight, dtype=np.float64)
    below = float(s[labelled].sum()) + beta**2 * float(s[true].sum())
    return (1 + beta**2) * float(s[true & labelled].sum()) / below if below > 0 else 0.0


def roc_area(positive: np.ndarray, scores: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Chance that a positive row scores above a negative one, ties counting half; nan if one-sided.

    area = sum over positives of (weight of negatives below + 1/2 of those level) / (W+ W-)
    """
    weight = np.ones(len(scores)) if weight is None else np.asarray(weight, dtype=np.float64)
    _, level = np.unique(scores, return_inverse=True)
    up = np.bincount(level, weight * positive)
    down = np.bincount(level, weight * ~positive)
    below = np.cumsum(down) - down
    pairs = float(up.sum() * down.sum())
    return float(up @ (below + 0.5 * down)) / pairs if pairs > 0 else float("nan")


def measured(
    name: str,
    true: np.ndarray,
    scores: np.ndarray,
    labelled: np.ndarray,
    weight: np.ndarray | None,
    beta: float = 1.0,
    k: int | float | None = None,
) -> float:
    """A measure of `maxmargin.losses.measures`, precision or recall for one binary problem."""
    if name in ("precision", "recall"):
        s = np.ones(true.size) if weight is None else np.asarray(weight, dtype=np.float64)
        of = float(s[labelled if name == "precision" else true].sum())
        return float(s[true & labelled].sum()) / of if of > 0 else 0.0
    if name in ("f1", "fbeta"):
        return fbeta(true, labelled, weight, 1.0 if name == "f1" else beta)
    s = np.ones(true.size) if weight is None else np.asarray(weight, dtype=np.float64)
    positives = float(s[true].sum())
    if not positives > 0:
        weighed = " of positive weight" if np.any(true) else ""
        raise ValueError(f"no row{weighed} is positive; measure {name!r} needs positives")
    if name == "roc_auc":
        area = roc_area(true, scores, weight)
        if area != area:
            weighed = "" if np.all(true) else " of positive weight"
            raise ValueError(f"no row{weighed} is negative; measure 'roc_auc' needs both classes")
        return area
    taken = positives if name == "prbep" else number_taken(name, k, s)
    found = weight_found(true, scores, s, taken)
    return found / (taken if name == "precision_at_k" else positives)


def weight_found(true: np.ndarray, scores: np.ndarray, weight: np.ndarray, taken: float) -> float:
    """Weight of positives among the `taken` highest scores; rows of equal score share a place."""
    places, place = np.unique(-scores, return_inverse=True)
    rows = np.bincount(place, weight, places.size)
    positives = np.bincount(place, weight * true, places.size)
    before = np.concatenate(([0.0], np.cumsum(rows)[:-1]))
    share = np.clip((taken - before) / np.where(rows > 0, rows, 1.0), 0.0, 1.0)
    return float(share @ positives)

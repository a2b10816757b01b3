"""What a certificate is about, and what its problem weighs, for every kind of machine."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.refute.arithmetic import Long, Value, long
from tests.refute.problem import Problem

SMALL = 400  # dual variables that the independent solver takes on


@dataclass(frozen=True)
class Claim:
    """What a certificate is about: the value of its machine, and by `others` values of other
    machines; `exact` gives those of machines outside a basis too."""

    certificate: Any
    value: Value
    others: Callable[[], list[Value]]
    exact: Callable[[], list[Value]] | None = None


def weights_of(problem: Problem) -> np.ndarray:
    """s_i: weights of rows times those of classes; "balanced" classes weigh the same in all."""
    weight = np.ones(problem.n, dtype=Long) if problem.weight is None else long(problem.weight)
    by_class = problem.options.get("class_weight")
    if by_class is None:
        return weight
    classes, codes = np.unique(problem.y, return_inverse=True)
    if by_class == "balanced":
        total = np.array([weight[codes == k].sum() for k in range(len(classes))])
        factors = total.sum() / (len(classes) * np.where(total > 0, total, 1))
    else:
        factors = long([by_class.get(c, 1.0) for c in classes.tolist()])
    return weight * factors[codes]


def signs_of(problem: Problem, estimator: Any) -> list[np.ndarray]:
    """The labels of every binary problem, -1, 0 or +1."""
    classes, codes = np.unique(problem.y, return_inverse=True)
    if len(classes) == 2:
        return [np.where(codes == 1, 1, -1)]
    if problem.options.get("multi_class") == "ovo":
        pairs = itertools.combinations(range(len(classes)), 2)
        return [np.where(codes == a, 1, np.where(codes == b, -1, 0)) for a, b in pairs]
    return [np.where(codes == k, 1, -1) for k in range(len(classes))]


def C_of(problem: Problem, estimator: Any) -> float:
    return estimator.C_ if problem.kind.endswith("-cv") else estimator.C


def turned(problem: Problem) -> int:
    """-1 where the first of two classes is the positive one."""
    return -1 if problem.options.get("pos_label") == np.unique(problem.y).tolist()[0] else 1

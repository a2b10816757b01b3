"""The losses by their definitions: all pairs, all labellings."""

from __future__ import annotations

import itertools

import numpy as np


def ranks(p, y, C=1.0, qid=None, weight=None):
    """Value and subgradient of the ranking loss from every pair."""
    n = len(p)
    qid = np.zeros(n, dtype=int) if qid is None else np.asarray(qid)
    s = np.ones(n) if weight is None else np.asarray(weight, dtype=float)
    pairs = {q: [] for q in np.unique(qid)}
    for i, j in itertools.permutations(range(n), 2):
        if qid[i] == qid[j] and y[i] > y[j] and s[i] * s[j] > 0:
            pairs[qid[i]].append((i, j))
    counted = [q for q in pairs if pairs[q]]
    N = sum(s[i] for i in range(n) if qid[i] in counted)
    R, grad = 0.0, np.zeros(n)
    for q in counted:
        m = sum(s[i] * s[j] for i, j in pairs[q])
        c = C * N / (len(counted) * m)
        for i, j in pairs[q]:
            if p[i] - p[j] < 1:
                R += c * s[i] * s[j] * (1 - (p[i] - p[j]))
                grad[i] -= c * s[i] * s[j]
                grad[j] += c * s[i] * s[j]
    return R, grad


def delta(measure, ybar, y, beta=1.0, k=None):
    """Delta of a labelling, None where the measure does not allow it."""
    a = np.sum((ybar > 0) & (y > 0))
    b = np.sum((ybar > 0) & (y < 0))
    positives = np.sum(y > 0)
    if measure == "error":
        return np.mean(ybar != y)
    if measure in ("f1", "fbeta"):
        square = 1.0 if measure == "f1" else beta**2
        return 1 - (1 + square) * a / (a + b + square * positives)
    if measure == "prbep":
        return 1 - a / positives if a + b == positives else None
    if k <= positives:  # the precision of k or more
        return 1 - a / (a + b) if a + b >= k else None
    return 1 - a / positives if a + b <= k else None  # the recall of k or fewer


def measures(measure, p, y, C=1.0, beta=1.0, k=None):
    """Value of the loss of a measure from every labelling."""
    best = -np.inf
    for signs in itertools.product((-1.0, 1.0), repeat=len(y)):
        ybar = np.array(signs)
        d = delta(measure, ybar, y, beta, k)
        if d is not None:
            wrong = ybar != y
            best = max(best, len(y) * d - np.sum(y[wrong] * p[wrong]))
    return C * best

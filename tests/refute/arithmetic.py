"""Objectives by their definitions, in numpy's longest float, each with the rounding it may have.

    hinge      1/2 ||w||^2 + sum_i C_i max(0, 1 - y_i p_i)
    ranks      1/2 ||w||^2 + sum over pairs y_i > y_j of c_ij max(0, 1 - (p_i - p_j))
    measures   1/2 ||w||^2 + C max over labellings of [n Delta - sum of y_i s_i p_i where they err]

`rounding` bounds what the same sums lose in float64: a sum of m products is off by at most m units
in the last place of the sum of their magnitudes (Higham, Accuracy and Stability, section 3.1), and
a hinge passes that on where its margin is violated or nearly so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Long = np.longdouble
UNIT = Long(np.finfo(np.float64).eps)
TINY = Long(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Value:
    """A number, and how far a plain float64 evaluation of it may be off."""

    value: np.longdouble
    rounding: np.longdouble


@dataclass(frozen=True)
class Scores:
    """Predictions p of a machine with their rounding, and its squared norm with its own."""

    p: np.ndarray
    slack: np.ndarray
    norm2: np.longdouble
    norm_slack: np.longdouble

    def plus(self, loss: Value) -> Value:
        """1/2 ||w||^2 + loss"""
        value = self.norm2 / 2 + loss.value
        rounding = self.norm_slack / 2 + loss.rounding + 4 * UNIT * np.abs(value) + TINY
        return Value(value, rounding)


def long(array) -> np.ndarray:
    return np.asarray(array).astype(Long)


def linear_scores(X: np.ndarray, w: np.ndarray, free: bool = False) -> Scores:
    """Of ``<w, x>``; the constant feature of an intercept is a column of X, the last, and a free
    one is not in ``||w||^2``."""
    terms = X.shape[1] + 4
    own = long(w)[:-1] if free else long(w)
    X, w = long(X)[:, w != 0], long(w)[w != 0]  # no weight, no share: of infinite features too
    slack = terms * UNIT * (np.abs(X) @ np.abs(w))
    return Scores(X @ w, slack, own @ own, terms * UNIT * (own @ own))


def kernel_scores(K: np.ndarray, error: np.ndarray, rows: np.ndarray, beta: np.ndarray) -> Scores:
    """Of ``sum_j beta_j k(z_j, x)``: K holds k(x_i, z_j), `rows` the kernel of z with itself (and
    its rounding errors, in pairs with `error`)."""
    beta = long(beta)
    size = np.abs(beta)
    inner, inner_error = rows
    slack = (len(beta) + 4) * UNIT * (np.abs(K) @ size) + error @ size
    norm2 = beta @ inner @ beta
    lost = (2 * len(beta) + 4) * UNIT * (size @ np.abs(inner) @ size) + size @ inner_error @ size
    return Scores(K @ beta, slack, norm2, lost)


def kernel_matrix(name: str, A, B, gamma=1.0, degree=3, coef0=0.0) -> tuple[np.ndarray, np.ndarray]:
    """Kernel values of rows of A and B, and the rounding errors of a float64 evaluation.

    Distances are sums of squared differences: nothing cancels.
    """
    A, B = long(A), long(B)
    gamma, terms = Long(gamma), A.shape[1] + 4
    if name in ("rbf", "laplacian"):
        squares = np.zeros((len(A), len(B)), dtype=Long)
        for a, b in zip(A.T, B.T):
            squares += (a[:, None] - b[None, :]) ** 2
        exponent = gamma * (squares if name == "rbf" else np.sqrt(squares))
        K = np.exp(-exponent)
        return K, UNIT * (terms * exponent + 4) * K
    products, sizes = A @ B.T, np.abs(A) @ np.abs(B).T
    if name == "linear":
        return products, terms * UNIT * sizes
    base, size = gamma * products + Long(coef0), gamma * sizes + Long(coef0)
    return base**degree, (terms + degree) * degree * UNIT * size**degree


# ---------------------------------------------------------------- losses of predictions


def hinge(scores: Scores, y: np.ndarray, cost: np.ndarray) -> Value:
    y, cost = long(y), long(cost)
    margin = 1 - y * scores.p
    slack = scores.slack + 2 * UNIT
    near = margin + slack > 0
    loss = np.sum(cost * np.maximum(0, margin))
    return Value(loss, np.sum((cost * slack)[near]) + len(y) * UNIT * loss)


PARAMETER_OF = {
    "epsilon_insensitive": "epsilon",
    "squared_epsilon_insensitive": "epsilon",
    "huber": "delta",
    "quantile": "quantile",
    "expectile": "quantile",
}
PLAIN = {  # f(r) and f'(r)
    "squared_hinge": (lambda r, x: np.maximum(0, r) ** 2, lambda r, x: 2 * np.maximum(0, r)),
    "logistic": (
        lambda r, x: np.maximum(r, 0) + np.log1p(np.exp(-np.abs(r))),
        lambda r, x: np.where(r > 0, 1, np.exp(-np.abs(r))) / (1 + np.exp(-np.abs(r))),
    ),
    "epsilon_insensitive": (
        lambda r, x: np.maximum(0, np.abs(r) - x),
        lambda r, x: np.sign(r) * (np.abs(r) > x),
    ),
    "squared_epsilon_insensitive": (
        lambda r, x: np.maximum(0, np.abs(r) - x) ** 2,
        lambda r, x: 2 * np.sign(r) * np.maximum(0, np.abs(r) - x),
    ),
    "huber": (
        lambda r, x: np.where(np.abs(r) <= x, r**2 / 2, x * np.abs(r) - x**2 / 2),
        lambda r, x: np.clip(r, -x, x),
    ),
    "squared": (lambda r, x: r**2 / 2, lambda r, x: r),
    "quantile": (
        lambda r, x: np.maximum(x * r, (x - 1) * r),
        lambda r, x: np.where(r > 0, x, x - 1) * (r != 0),
    ),
    "expectile": (
        lambda r, x: np.where(r > 0, x, 1 - x) * r**2,
        lambda r, x: 2 * np.where(r > 0, x, 1 - x) * r,
    ),
}


@dataclass(frozen=True)
class ResidualLoss:
    """``sum_i c_i f(r_i)``, ``r_i = t_i - sign_i p_i``; x is the parameter of f."""

    name: str
    target: np.ndarray
    cost: np.ndarray
    x: float = 0.0
    sign: np.ndarray | int = 1

    def residuals(self, p: np.ndarray) -> np.ndarray:
        return self.target - self.sign * p

    def value(self, scores: Scores) -> Value:
        r, x = self.residuals(scores.p), Long(self.x)
        slack = scores.slack + 4 * UNIT * (np.abs(self.target) + np.abs(scores.p))
        value, slope = PLAIN[self.name]
        losses = self.cost * value(r, x)
        steep = np.maximum(*(np.abs(slope(r + side * slack, x)) for side in (-1, 1)))
        lost = np.sum(self.cost * (steep * slack + 8 * UNIT * (np.abs(x * r) + x**2)))
        return Value(np.sum(losses), lost + (len(r) + 8) * UNIT * np.sum(losses))


def pair_costs(y, C, qid=None, weight=None) -> np.ndarray:
    """c_ij of every pair that should be in order: C N / (Q m_q) s_i s_j, else 0.

    m_q is the weight of the pairs of query q, Q the number of queries with pairs, N the weight of
    their rows.
    """
    y = np.asarray(y, dtype=np.float64)
    s = np.ones(len(y), dtype=Long) if weight is None else long(weight)
    query = np.zeros(len(y), dtype=int) if qid is None else np.unique(qid, return_inverse=True)[1]
    products = np.outer(s, s) * ((y[:, None] > y[None, :]) & (query[:, None] == query[None, :]))
    counted = [(rows, products[rows].sum()) for rows in (query == q for q in np.unique(query))]
    counted = [(rows, m) for rows, m in counted if m > 0]
    N = sum((s[rows].sum() for rows, _ in counted), start=Long(0))
    for rows, m in counted:
        products[rows] *= Long(C) * N / (len(counted) * m)
    return products


def ranks(scores: Scores, cost: np.ndarray) -> Value:
    margin = 1 - (scores.p[:, None] - scores.p[None, :])
    slack = scores.slack[:, None] + scores.slack[None, :] + 2 * UNIT
    near = (cost > 0) & (margin + slack > 0)
    loss = np.sum(cost * np.maximum(0, margin))
    return Value(loss, np.sum(cost[near] * slack[near]) + len(margin) * UNIT * loss)


# ---------------------------------------------------------------- measures of whole labellings

COPIES = 100  # weights that are whole numbers count copies, up to so many a row on average
SUMS = 1e-12  # what rounding may do to a sum of weights
WHOLE = 1e-14  # what rounding may do to a whole number, the product of two weights


class Measure:
    """The loss of a measure: the worst labelling by the table (a, b) it has, all tables tried.

    a is the weight of the positives labelled positive, b that of the negatives labelled so. For a
    given table the worst labelling keeps the positives of largest p and takes the negatives of
    largest p. So the value of a table is n Delta(a, b) plus a concave function of a and one of b,
    both linear but for kinks between two rows. Delta is convex in a, and concave in b (F_beta,
    precision) or free of b (recall), and linear where a + b is given. Hence the worst table has a
    between two rows and b between two rows or stationary, or a + b = k and one of both between two
    rows. Where weights are whole numbers labellings label whole copies of a row, and b is next to
    the stationary point; elsewhere they may label any part of a row.
    """

    def __init__(self, name: str, y, C: float, beta=1.0, k=None, weight=None) -> None:
        self.name, self.C, self.beta = name, Long(C), Long(1.0 if name == "f1" else beta)
        self.s = np.ones(len(y), dtype=Long) if weight is None else long(weight)
        self.y = np.asarray(y)
        copies = np.rint(self.s)
        is_whole = bool(np.all(np.abs(self.s - copies) <= WHOLE * copies))
        self.s = copies if is_whole else self.s
        self.whole = is_whole and self.s.sum() <= COPIES * len(y)
        self.positives = self.s[self.y > 0].sum()
        self.n = self.s.sum()
        if k is not None and 0 < k < 1:
            k = max(1, round(k * float(self.n))) if is_whole else k * self.n
        if k is not None and self.positives < k <= self.positives * (1 + SUMS):
            k = self.positives  # a share of all rows that is as many, but for rounding
        self.k = None if k is None else Long(k)

    def loss(self, scores: Scores) -> Value:
        loss, _ = self.worst(scores.p)
        passed_on = self.C * np.sum(self.s * scores.slack)
        sums = self.C * (self.n + np.sum(self.s * np.abs(scores.p)))
        return Value(loss, passed_on + (len(self.y) + 8) * UNIT * sums)

    def worst(self, p: np.ndarray) -> tuple[np.longdouble, np.ndarray]:
        """The loss, and its subgradient in p."""
        kept, dropped_by = self._class(p, self.y > 0)
        taken, taken_by = self._class(p, self.y < 0)
        a, b = self._tables(kept, taken, p)
        with np.errstate(divide="ignore", invalid="ignore"):
            delta = self._delta(a, b)
        values = self.n * delta
        values -= dropped_by(self.positives)[0] - dropped_by(a)[0]
        values += taken_by(b)[0]
        values = np.where(np.isnan(values), -np.inf, values)
        best = int(np.argmax(values))
        if not values[best] > 0:  # the true labels are a labelling too, of loss 0
            return Long(0), np.zeros(len(p), dtype=Long)
        grad = dropped_by(a[best])[1] - dropped_by(self.positives)[1] + taken_by(b[best])[1]
        return self.C * values[best], self.C * grad

    def _class(self, p, rows):
        """Weights of the largest 0, 1, 2 ... rows of a class, and a function of a weight that gives
        sum s p over the largest rows of that weight, or (for one number) also its gradient."""
        order = np.flatnonzero(rows & (self.s > 0))
        order = order[np.argsort(-p[order], kind="stable")]
        share = self.s[order]
        weights = np.concatenate([[Long(0)], np.cumsum(share)])
        sums = np.concatenate([[Long(0)], np.cumsum(share * p[order])])

        def of(weight):
            place = np.clip(np.searchsorted(weights, weight, side="right") - 1, 0, len(order))
            rest = weight - weights[place]
            following = np.append(p[order], Long(0))[place]
            grad = None
            if np.ndim(weight) == 0:
                grad = np.zeros(len(p), dtype=Long)
                np.add.at(grad, order[:place], share[:place])
                if place < len(order):
                    grad[order[place]] += rest
            return sums[place] + rest * following, grad

        return weights, of

    def _tables(self, kept, taken, p):
        if self.name in ("precision_at_k", "recall_at_k", "prbep"):
            total = self.positives if self.name == "prbep" else self.k
            edge = self._edge(kept, taken, total)
            if self.name == "prbep":
                return edge
        else:
            edge = np.zeros(0, dtype=Long), np.zeros(0, dtype=Long)
        a, b = (m.ravel() for m in np.meshgrid(kept, taken, indexing="ij"))
        parts = [edge, (a, b), *self._stationary(kept, taken, p)]
        a, b = (np.concatenate(columns) for columns in zip(*parts))
        if self.k is not None:
            slack = 4 * UNIT * self.k
            allowed = a + b >= self.k - slack if self._few() else a + b <= self.k + slack
            a, b = a[allowed], b[allowed]
        return a, b

    def _edge(self, kept, taken, total):
        """Tables with a + b = total where one of them lies between two rows."""
        a, b = np.concatenate([kept, total - taken]), np.concatenate([total - kept, taken])
        slack = 4 * UNIT * total
        inside = (a >= -slack) & (a <= kept[-1] + slack) & (b >= -slack) & (b <= taken[-1] + slack)
        return np.clip(a[inside], 0, kept[-1]), np.clip(b[inside], 0, taken[-1])

    def _few(self) -> bool:
        return bool(self.k <= self.positives)

    def _stationary(self, kept, taken, p):
        """Tables that are best in b inside a row: n c a / (a + b + e)^2 = -p."""
        if self.name == "fbeta" or self.name == "f1":
            c, e = 1 + self.beta**2, self.beta**2 * self.positives
        elif self.k is not None and self._few():
            c, e = Long(1), Long(0)
        else:
            return []
        order = np.sort(p[(self.y < 0) & (self.s > 0)])[::-1]
        low, high = taken[:-1], taken[1:]
        falling = order < 0
        a = np.repeat(kept, falling.sum())
        slope, low, high = (np.tile(v[falling], len(kept)) for v in (-order, low, high))
        b = np.sqrt(self.n * c * a / slope) - a - e
        inside = (b > low) & (b < high)
        a, b = a[inside], b[inside]
        return [(a, np.floor(b)), (a, np.ceil(b))] if self.whole else [(a, b)]

    def _delta(self, a, b):
        if self.name in ("f1", "fbeta"):
            square = self.beta**2
            return 1 - (1 + square) * a / (a + b + square * self.positives)
        if self.k is not None and self._few():
            return 1 - a / (a + b)
        return 1 - a / self.positives

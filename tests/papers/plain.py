"""The algorithm boxes of the papers in plain numpy, for small data: nothing fast, nothing shared.

The deviations of the library are here too, each named where it is (see the heads of the solvers).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations

import numpy as np


def hinge(w: np.ndarray, X: np.ndarray, y: np.ndarray, C: float) -> tuple[float, np.ndarray]:
    """R(w) and a subgradient in w."""
    margin = 1 - y * (X @ w)
    return C * np.maximum(margin, 0).sum(), -C * X.T @ (y * (margin > 0))


def reduced_problem(planes: list[tuple[np.ndarray, float]]) -> tuple[np.ndarray, float]:
    """The minimum of 1/2 ||w||^2 + max(0, max_j <a_j, w> + b_j), by trying every active set."""
    A, b = np.array([a for a, _ in planes]), np.array([b for _, b in planes])
    best, value = np.zeros(len(b)), 0.0
    indices = range(len(b))
    for active in chain.from_iterable(combinations(indices, k) for k in range(1, len(b) + 1)):
        S = list(active)
        H = A[S] @ A[S].T
        for bound in (False, True):  # whether the weights add up to 1
            border = np.ones((len(S), int(bound)))
            system = np.block([[H, border], [border.T, np.zeros((int(bound), int(bound)))]])
            right = np.append(b[S], np.ones(int(bound)))
            beta = np.linalg.lstsq(system, right, rcond=None)[0][: len(S)]
            if beta.min() < -1e-10 or beta.sum() > 1 + 1e-10:
                continue
            D = beta @ b[S] - 0.5 * beta @ H @ beta
            if value < D:
                value, best = D, np.zeros(len(b))
                best[S] = beta
    return -best @ A, value


def line_minimum(w: np.ndarray, d: np.ndarray, X: np.ndarray, y: np.ndarray, C: float) -> float:
    """argmin_{k >= 0} P(w + k d): the slope rises at each kink, which are sorted."""
    A0, B0, B, R = d @ d, w @ d, -C * y * (X @ d), C * (1 - y * (X @ w))
    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = np.sort([k for k in -R / B if np.isfinite(k) and k > 0])

    def slope(k: float) -> float:
        return k * A0 + B0 + B[k * B + R > 0].sum()

    if slope(0.0) >= 0 or A0 == 0:
        return 0.0
    for low, high in zip([0.0, *kinks], [*kinks, np.inf]):
        middle = 0.5 * (low + high) if np.isfinite(high) else low + 1.0
        root = middle - slope(middle) / A0
        if root <= low:
            return low
        if root <= high:
            return root
    raise AssertionError("the slope of a convex function changes its sign")


def ocas(X: np.ndarray, y: np.ndarray, C: float, mu: float = 0.1) -> Iterator[tuple[float, float]]:
    """Algorithm 1 of Franc and Sonnenburg: P(w_b) and the reduced objective after each iteration.

    Deviation: line 5 comes first, with the plane at w_c = 0, so that line 3 has a plane to solve.
    """
    w_b = w_c = np.zeros(X.shape[1])
    planes: list[tuple[np.ndarray, float]] = []
    while True:
        R, a = hinge(w_c, X, y, C)
        planes.append((a, R - a @ w_c))  # line 5
        w_t, D = reduced_problem(planes)  # line 3
        w_b = w_b + line_minimum(w_b, w_t - w_b, X, y, C) * (w_t - w_b)  # line 4
        w_c = (1 - mu) * w_b + mu * w_t  # equation (8)
        yield 0.5 * w_b @ w_b + hinge(w_b, X, y, C)[0], D


def cpa(X: np.ndarray, y: np.ndarray, C: float) -> Iterator[tuple[float, float]]:
    """Algorithm 1 of Joachims (1 of Joachims and Yu): P(w_t) and the reduced objective.

    Deviation: the first constraint, that of w = 0, comes before the first reduced problem.
    """
    w_t, planes = np.zeros(X.shape[1]), []
    while True:
        R, a = hinge(w_t, X, y, C)  # lines 5 to 7: the most violated constraint
        planes.append((a, R - a @ w_t))  # line 8
        w_t, D = reduced_problem(planes)  # line 4
        yield 0.5 * w_t @ w_t + hinge(w_t, X, y, C)[0], D


def most_violated_pairs(p: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """c+ and c- of Algorithm 2 of Joachims: the pairs within the margin that row i is in."""
    order, n = np.argsort(-p), len(p)  # line 5
    plus, minus = np.zeros(n), np.zeros(n)
    for r in np.unique(y):  # line 7
        n_r, j, b = int(np.sum(y == r)), 0, 0
        for a, i in enumerate(order[y[order] == r]):
            while j < n and p[i] - p[order[j]] < 1:
                if y[order[j]] < r:
                    b += 1
                    minus[order[j]] += n_r - a
                j += 1
            plus[i] += b
    return plus, minus


def projected(K: np.ndarray, basis: list[int]) -> np.ndarray:
    """Coordinates of phi(x_i) projected onto the span of rows `basis`: project() of CPSP."""
    return np.linalg.solve(np.linalg.cholesky(K[np.ix_(basis, basis)]), K[basis]).T


def cpsp(
    K: np.ndarray, y: np.ndarray, C: float, basis: list[int], mu: float = 0.1
) -> Iterator[tuple[float, float]]:
    """Algorithm 3 of Joachims and Yu with given basis vectors: P(w_b) and D after each iteration.

    Deviations: the basis grows before the plane is added (lines 15 to 18 first), and the plane is
    that of OCAS rather than of CPA. Planes are kept by their subgradient in the predictions, so
    that projecting them anew onto a larger span (line 17) is a product with Z.
    """
    n = len(y)
    p_b = p_c = np.zeros(n)
    subgradients: list[tuple[np.ndarray, float]] = []
    for k in range(1, len(basis) + 1):
        Z = projected(K, basis[:k])  # lines 15 to 18
        margin = 1 - y * p_c
        subgrad = -C * y * (margin > 0)
        subgradients.append((subgrad, C * np.maximum(margin, 0).sum() - subgrad @ p_c))
        w_t, D = reduced_problem([(Z.T @ s, b) for s, b in subgradients])  # lines 4 to 7
        w_b = np.linalg.lstsq(Z, p_b, rcond=None)[0]
        w_b = w_b + line_minimum(w_b, w_t - w_b, Z, y, C) * (w_t - w_b)
        p_b = Z @ w_b
        p_c = (1 - mu) * p_b + mu * Z @ w_t
        yield 0.5 * w_b @ w_b + C * np.maximum(1 - y * p_b, 0).sum(), D


def trainer_pass(
    X: np.ndarray, y: np.ndarray, C: float, alpha: np.ndarray, w: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Algorithm 2 of Matsushima et al. on rows as the reader brings them: alpha and w after each.

    Deviation: each row is visited when it arrives, before anything can evict it.
    """
    alpha, w = alpha.copy(), w.copy()
    for i, x in enumerate(X):
        G = y[i] * (w @ x) - 1
        step = np.clip(alpha[i] - G / (x @ x), 0, C) - alpha[i]
        alpha[i] += step
        w = w + step * y[i] * x
        yield alpha.copy(), w.copy()


def one_variable_steps(K: np.ndarray, y: np.ndarray, C: float) -> Iterator[np.ndarray]:
    """Algorithm 1 of Steinwart et al. with k(x, x) = 1: y_i a_i after each step."""
    Q, a = y[:, None] * K * y[None, :], np.zeros(len(y))
    while True:
        g = 1 - Q @ a
        d = np.clip(g + a, 0, C) - a
        i = int(np.argmax(d * (g - d / 2)))  # Procedure 1, by Lemma 1
        a[i] += d[i]
        yield y * a


def two_variable_steps(K: np.ndarray, y: np.ndarray, C: float) -> Iterator[np.ndarray]:
    """Algorithm 2 of Steinwart et al. with every pair tried (WSS 0): y_i a_i after each step."""
    n = len(y)
    Q = y[:, None] * K * y[None, :]
    a = np.zeros(n)
    while True:
        g = 1 - Q @ a
        steps = [
            (pair_gain(d, (i, j), g, Q), i, j, d)
            for i, j in combinations(range(n), 2)
            for d in pair_steps((i, j), a, g, Q, C)
        ]
        _, i, j, d = max(steps, key=lambda step: step[0])
        a[[i, j]] += d
        yield y * a


def pair_gain(d: np.ndarray, pair: tuple[int, int], g: np.ndarray, Q: np.ndarray) -> float:
    S = list(pair)
    return float(d @ g[S] - 0.5 * d @ Q[np.ix_(S, S)] @ d)


def pair_steps(
    pair: tuple[int, int], a: np.ndarray, g: np.ndarray, Q: np.ndarray, C: float
) -> Iterator[np.ndarray]:
    """The free optimum of two variables if it is in the box, else the best on each edge of it."""
    S = list(pair)
    free = np.linalg.solve(Q[np.ix_(S, S)], g[S])
    if np.all((a[S] + free >= 0) & (a[S] + free <= C)):
        yield free
        return
    for fixed, other in ((0, 1), (1, 0)):
        for bound in (0.0, C):
            d = np.zeros(2)
            d[fixed] = bound - a[S[fixed]]
            i, j = S[other], S[fixed]
            d[other] = np.clip(a[i] + (g[i] - Q[i, j] * d[fixed]) / Q[i, i], 0, C) - a[i]
            yield d

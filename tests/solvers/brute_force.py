"""Kernel values the slow way, to compare with."""

import numpy as np
import scipy.sparse as sp


def kernel_block(kernel, A, B):
    """``k(a, b)`` for rows a of A and b of B."""
    A, B = (M.toarray() if sp.issparse(M) else np.asarray(M, dtype=np.float64) for M in (A, B))
    if kernel.name == "linear":
        return A @ B.T
    if kernel.name == "poly":
        return (kernel.gamma * A @ B.T + kernel.coef0) ** kernel.degree
    squares = np.array([((A - b) ** 2).sum(axis=1) for b in B]).T
    return np.exp(-kernel.gamma * (squares if kernel.name == "rbf" else np.sqrt(squares)))

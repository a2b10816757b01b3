"""Where the next basis vector comes from: four ways, behind one `next`.

    free       a pre-image of the residual, anywhere in the space of the data     (the paper's CPSP)
    training   of 59 random rows the one that says most about the residual        (CPSP(tr))
    nystroem   random rows                                                        (Williams, Seeger)
    cholesky   the row furthest from the span: an incomplete Cholesky factor      (Fine, Scheinberg)

The last two look at no labels and no residual: the rivals of the paper's comparison.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.subspace.kernel_values import diagonal, is_wide
from maxmargin.solvers.subspace.preimages import (
    KERNELS_WITH_PREIMAGES,
    PreImageOptions,
    Residual,
    pre_image,
    sample_of,
)
from maxmargin.solvers.subspace.span import Subspace
from maxmargin.solvers.subspace.span_residual import SpanResidual

BASES = ("free", "training", "nystroem", "cholesky")
TRAINING_SAMPLE = 59  # one of so many is among the best 5 % with probability 0.95
TRIES = 20  # vectors in a row that depend on the basis, before the basis counts as complete
RANDOM_TRIES = 1000  # the same for rows that nothing but chance picked: they are cheap to refuse


class Choice(Protocol):
    """A source of basis vectors."""

    guided: bool  # whether it looks at the residual, so that cutting planes come between vectors
    tries: int

    def next(self, subspace: Subspace, subgrad: np.ndarray) -> np.ndarray | None:
        """A candidate for the residual of ``sum_i l_i phi(x_i)``; None if there is no more."""

    def appended(self, z: np.ndarray) -> None:
        """The last candidate was taken, its column of Z is z."""


class FreeVectors:
    """Pre-images of the residual."""

    guided, tries = True, TRIES

    def __init__(self, options: PreImageOptions, random: np.random.Generator) -> None:
        self._options, self._random = options, random

    def next(self, subspace: Subspace, subgrad: np.ndarray) -> np.ndarray | None:
        kind = Residual if subspace.products is None else SpanResidual
        residual = kind(subspace, sample_of(subspace, subgrad, self._options.rows, self._random))
        if len(residual.rows) == 0:
            return None
        b, quotient = pre_image(residual, self._options, self._random)
        if not math.sqrt(quotient) > residual.nothing:
            return None
        return subspace.rounded(residual.back(b))

    def appended(self, z: np.ndarray) -> None:
        """Nothing to note."""


class TrainingRows:
    """The best of a few random rows that were not chosen yet."""

    guided, tries = True, TRIES

    def __init__(self, n: int, options: PreImageOptions, random: np.random.Generator) -> None:
        self._options, self._random = options, random
        self._left = np.arange(n)

    def next(self, subspace: Subspace, subgrad: np.ndarray) -> np.ndarray | None:
        residual = Residual(
            subspace, sample_of(subspace, subgrad, self._options.rows, self._random)
        )
        if len(self._left) == 0 or len(residual.rows) == 0:
            return None
        count = min(TRAINING_SAMPLE, len(self._left))
        places = self._random.choice(len(self._left), count, replace=False)
        candidates = dense_rows(subspace.X, self._left[places])
        best = int(np.argmax(residual.quotients(residual.place(candidates))))
        self._left = np.delete(self._left, places[best])
        return candidates[best]

    def appended(self, z: np.ndarray) -> None:
        """Nothing to note."""


class RandomRows:
    """Rows in random order."""

    guided, tries = False, RANDOM_TRIES

    def __init__(self, n: int, random: np.random.Generator) -> None:
        self._order, self._at = random.permutation(n), 0

    def next(self, subspace: Subspace, subgrad: np.ndarray) -> np.ndarray | None:
        if self._at == len(self._order):
            return None
        self._at += 1
        return dense_rows(subspace.X, self._order[self._at - 1 : self._at])[0]

    def appended(self, z: np.ndarray) -> None:
        """Nothing to note."""


class FurthestRows:
    """Pivots of an incomplete Cholesky factorisation: the largest ``k(x, x) - ||z(x)||^2``."""

    guided, tries = False, 1

    def __init__(self, subspace: Subspace) -> None:
        self._distances = diagonal(subspace.kernel, subspace.norms)

    def next(self, subspace: Subspace, subgrad: np.ndarray) -> np.ndarray | None:
        furthest = int(np.argmax(self._distances))
        return dense_rows(subspace.X, np.array([furthest]))[0]

    def appended(self, z: np.ndarray) -> None:
        self._distances = self._distances - z**2


def dense_rows(X: Any, rows: np.ndarray) -> np.ndarray:
    """Some rows of X, dense, in float64."""
    part = X[rows]
    return np.asarray(part.toarray() if sp.issparse(part) else part, dtype=np.float64)


def choice_of(basis: str, subspace: Subspace, options: PreImageOptions, seed: int) -> Choice:
    """The source of basis vectors by name."""
    random = np.random.default_rng(seed)
    if basis == "free":
        check_preimages(subspace.kernel)
        if subspace.kernel.name == "rbf" and is_wide(subspace.X):
            subspace.keep_products()
        return FreeVectors(options, random)
    if basis == "training":
        return TrainingRows(subspace.n, options, random)
    if basis == "nystroem":
        return RandomRows(subspace.n, random)
    if basis == "cholesky":
        return FurthestRows(subspace)
    raise ValueError(f"basis must be one of {', '.join(BASES)}; got {basis!r}")


def check_preimages(kernel: Kernel) -> None:
    """Refuses kernels for which there is no method to find free basis vectors."""
    if kernel.name not in KERNELS_WITH_PREIMAGES:
        raise ValueError(
            f"basis='free' needs a kernel with a pre-image method "
            f"({', '.join(KERNELS_WITH_PREIMAGES)}); got kernel={kernel.name!r}, whose functions "
            f"have a kink at every point. Use basis='training', 'nystroem' or 'cholesky', or "
            f"another kernel"
        )

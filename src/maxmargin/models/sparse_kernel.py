"""What is kept of a sparse kernel machine: ``f_p(x) = sum_j beta_jp k(b_j, x)`` on k basis vectors.

Two classes have one problem, positive for ``classes[1]``. More have one each, on the same basis:
the kernel values of a row are computed once for all of them, and the largest f_p wins.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from maxmargin.models.base import Labelling
from maxmargin.models.basis_expansion import BasisExpansion, BoundsOfProblems
from maxmargin.models.contents import Certificates, Classes, Floats, Vectors, Words, stored
from maxmargin.models.kernel import KernelFunction
from maxmargin.solvers.kernel.certificate import SpanCertificate
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.subspace.bounds import Bounds


@dataclass(frozen=True)
class SparseKernelModel(BasisExpansion, Labelling):
    """Basis vectors, their coefficients, and where they came from.

    Parameters
    ----------
    kernel : Kernel
    vectors : array or CSR matrix of shape (k, d)
        The basis vectors b_j, in the numbers of the training data.
    coefficients : array of shape (k, number of problems)
        ``beta_jp``.
    bounds : one `Bounds` for each problem, or none if unknown
    intercept : array of shape (number of problems,), optional
        Added to the scores: the threshold of a machine trained for a measure of their order.
    """

    kind = "sparse-kernel"

    kernel: Kernel = stored(KernelFunction())
    vectors: Any = stored(Vectors())
    coefficients: np.ndarray = stored(Floats(2))
    classes: np.ndarray = stored(Classes())
    _: KW_ONLY
    certificates: tuple[SpanCertificate, ...] = stored(Certificates(SpanCertificate), ())
    bounds: tuple[Bounds, ...] = stored(BoundsOfProblems(), ())
    intercept: np.ndarray | None = stored(Floats(1, optional=True), None)
    solver: str = stored(Words(), "subspace-pursuit")

    def __post_init__(self) -> None:
        classes = len(self.classes)
        problems = 1 if classes == 2 else classes
        if classes < 2:
            raise ValueError(f"{classes} classes; a classifier needs at least two")
        self._check_basis(problems, f"{classes} classes")
        if self.intercept is not None and self.intercept.shape != (problems,):
            raise ValueError(
                f"an intercept of shape {self.intercept.shape} does not fit {problems} problems"
            )

    def margins(self, X: Any, threads: int | None = None) -> np.ndarray:
        """(n,) for two classes, else (n, classes): the largest is the class decided."""
        f = self.problems(X, threads)
        if self.intercept is not None:
            f += self.intercept
        return f[:, 0] if len(self.classes) == 2 else f

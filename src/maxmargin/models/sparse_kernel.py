"""What is kept of a sparse kernel machine: ``f_p(x) = sum_j beta_jp k(b_j, x)`` on k basis vectors.

Two classes have one problem, positive for ``classes[1]``. More have one each, on the same basis:
the kernel values of a row are computed once for all of them, and the largest f_p wins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import useful_threads
from maxmargin.models.files import Kind, Tensors, register_kind
from maxmargin.models.kernel import (
    KernelPredictor,
    _checked,
    _unpack_certificate,
    _unpack_kernel,
    _unpack_vectors,
    columns_of,
    pack_kernel,
    pack_vectors,
)
from maxmargin.models.labels import pack_classes, unpack_classes
from maxmargin.models.linear import pack_origin, unpack_origin
from maxmargin.solvers.kernel.gram import Kernel
from maxmargin.solvers.kernel.two_variable import KernelCertificate
from maxmargin.solvers.subspace.bounds import Bounds
from maxmargin.solvers.subspace.span import kernel_tiles


@dataclass(frozen=True)
class SparseKernelModel(KernelPredictor):
    """Basis vectors, their coefficients, and where they came from.

    Parameters
    ----------
    kernel : Kernel
    vectors : array or CSR matrix of shape (k, d)
        The basis vectors b_j, in the numbers of the training data.
    coefficients : array of shape (k, number of problems)
        ``beta_jp``.
    bounds : one `Bounds` a problem, or none if unknown
    """

    kernel: Kernel
    vectors: Any
    coefficients: np.ndarray
    classes: np.ndarray
    certificates: tuple[KernelCertificate, ...] = ()
    bounds: tuple[Bounds, ...] = ()
    solver: str = "subspace-pursuit"
    parameters: Mapping = field(default_factory=dict)
    feature_names: tuple[str, ...] | None = None
    index_base: int | None = None

    def __post_init__(self) -> None:
        k, classes = self.vectors.shape[0], len(self.classes)
        problems = 1 if classes == 2 else classes
        if classes < 2 or self.coefficients.shape != (k, problems):
            raise ValueError(
                f"coefficients of shape {self.coefficients.shape} do not fit {k} basis vectors "
                f"and {classes} classes"
            )
        for name, found in (("certificates", self.certificates), ("bounds", self.bounds)):
            if len(found) not in (0, problems):
                raise ValueError(f"{len(found)} {name} do not fit {problems} problems")

    @property
    def n_features(self) -> int:
        return self.vectors.shape[1]

    @property
    def n_basis(self) -> int:
        return self.vectors.shape[0]

    @property
    def delta(self) -> float:
        """The largest projection error of a plane that holds a solution up."""
        return float(np.max([b.delta for b in self.bounds])) if self.bounds else math.nan

    @property
    def theorem2_bound(self) -> float:
        """How far the objective can be above that of the exact machine, by theorem 2."""
        return sum(b.theorem2 for b in self.bounds) if self.bounds else math.nan

    @property
    def exact_gap(self) -> float:
        """The same by the dual of the exact problem: closer."""
        return sum(b.exact_gap for b in self.bounds) if self.bounds else math.nan

    @property
    def bounds_are_estimates(self) -> bool:
        """Whether the three hold with a confidence of 99.9 % a problem only."""
        return any(b.estimated for b in self.bounds)

    def decision_function(self, X, threads: int | None = None) -> np.ndarray:
        """(n,) for two classes, else (n, classes): the largest is the class decided."""
        f = self.problems(X, threads)
        return f[:, 0] if len(self.classes) == 2 else f

    def problems(self, X, threads: int | None = None) -> np.ndarray:
        """``f_p(x)`` for every row and problem: products with the basis, tile by tile."""
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(
                f"X has shape {X.shape}, but the model was trained on {self.n_features} features"
            )
        pool = _core.Pool(useful_threads(threads, X.shape[0] * len(self.coefficients)))
        f = np.zeros((X.shape[0], self.coefficients.shape[1]))
        for rows, vectors, K in kernel_tiles(X, self.vectors, self.kernel, pool):
            f[rows] += K @ self.coefficients[vectors]
        return f


# ---------------------------------------------------------------- the file


def _pack(model: SparseKernelModel) -> tuple[Tensors, dict]:
    tensors: Tensors = {"coefficients": np.asarray(model.coefficients, dtype=np.float64)}
    tensors |= pack_vectors(model.vectors)
    content = {
        "kernel": pack_kernel(model.kernel),
        "classes": pack_classes(model.classes),
        "n_features": int(model.n_features),
        "bounds": [
            [*(None if math.isnan(v) else v for v in distances_of(b)), b.estimated]
            for b in model.bounds
        ],
        **pack_origin(model),
    }
    return tensors, content


def _unpack(tensors: Tensors, content: dict) -> SparseKernelModel:
    coefficients = _checked(tensors, "coefficients", 2, (np.float64,))
    d, certificates = columns_of(content), content.get("certificates")
    if not isinstance(certificates, list):
        raise ValueError("its certificates are missing")
    kernel = _unpack_kernel(content.get("kernel"))
    if isinstance(kernel, str):
        raise ValueError("its kernel is 'precomputed', for which there are no basis vectors")
    origin = unpack_origin(content)
    origin["certificates"] = tuple(_unpack_certificate(packed) for packed in certificates)
    names = origin["feature_names"]
    if names is not None and len(names) != d:
        raise ValueError("its feature names are not one string a feature")
    return SparseKernelModel(
        kernel,
        _unpack_vectors(tensors, kernel, len(coefficients), d),
        coefficients,
        unpack_classes(content.get("classes")),
        bounds=_unpack_bounds(content.get("bounds")),
        **origin,
    )


def distances_of(bounds: Bounds) -> tuple[float, float, float]:
    return bounds.delta, bounds.theorem2, bounds.exact_gap


def _unpack_bounds(packed: object) -> tuple[Bounds, ...]:
    """Three numbers a problem, and whether they are estimates: files without that word may be."""

    def is_bound(value: object) -> bool:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return value is None or (number and math.isfinite(value) and value >= 0)  # type: ignore[arg-type,operator]

    def is_packed(item: object) -> bool:
        listed = isinstance(item, list) and len(item) in (3, 4) and all(map(is_bound, item[:3]))
        return listed and all(type(word) is bool for word in item[3:])  # type: ignore[index]

    if not (isinstance(packed, list) and all(map(is_packed, packed))):
        raise ValueError("its bounds are not three numbers a problem")
    found = []
    for item in packed:
        delta, theorem2, exact_gap = (math.nan if v is None else float(v) for v in item[:3])
        estimated = item[3] if len(item) == 4 else True
        found.append(Bounds(delta, theorem2, exact_gap, estimated))
    return tuple(found)


register_kind(Kind("sparse-kernel", SparseKernelModel, _pack, _unpack))

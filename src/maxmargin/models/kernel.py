"""What is kept of a kernel machine: ``f_p(x) = sum_j beta_jp k(z_j, x)``, one column a problem.

Two classes have one problem, positive for ``classes[1]``. More classes have one each ("ovr", the
largest f_p wins) or one a pair ("ovo", votes decide). There is no intercept.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import useful_threads
from maxmargin.models.files import Kind, Tensors, register_kind
from maxmargin.models.labels import pack_classes, unpack_classes
from maxmargin.models.linear import _pack_value, _unpack_value, unpack_tol
from maxmargin.problem import Status
from maxmargin.solvers.kernel import gram as kernels
from maxmargin.solvers.kernel.coding import Coding, coding_of
from maxmargin.solvers.kernel.gram import Kernel, KernelCallable, Points
from maxmargin.solvers.kernel.two_variable import KernelCertificate


class KernelPredictor(ABC):
    """How the scores of a kernel machine, on any basis, become labels."""

    classes: np.ndarray
    certificates: tuple[KernelCertificate, ...]

    @abstractmethod
    def decision_function(self, X, threads: int | None = None) -> np.ndarray:
        """(n,) for two classes, else one column a class."""

    @property
    def certificate(self) -> KernelCertificate | None:
        """All problems as one."""
        return combined(self.certificates) if self.certificates else None

    def labels(self, scores: np.ndarray) -> np.ndarray:
        """The class each row of `decision_function` speaks for."""
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else np.argmax(scores, axis=1)
        return self.classes[codes]

    def predict(self, X, threads: int | None = None) -> np.ndarray:
        """The label of each row."""
        return self.labels(self.decision_function(X, threads))


@dataclass(frozen=True)
class KernelModel(KernelPredictor):
    """Support vectors, their coefficients, and how predictions become classes.

    Parameters
    ----------
    kernel : Kernel, callable or "precomputed"
    vectors : array or CSR matrix of shape (m, d); None for a precomputed kernel
        The rows z_j. Points without a coefficient are not kept.
    coefficients : array of shape (m, number of problems)
        ``beta_jp``.
    support : array of shape (m,)
        Where the rows z_j were in the training data: the columns of a precomputed test kernel.
    n_features : int
        Columns of X; with a precomputed kernel the number of training rows.
    """

    kernel: Kernel | KernelCallable | str
    vectors: Any
    coefficients: np.ndarray
    support: np.ndarray
    classes: np.ndarray
    n_features: int
    multi_class: str = "ovr"
    certificates: tuple[KernelCertificate, ...] = ()
    solver: str = "two-variable"
    parameters: Mapping = field(default_factory=dict)
    feature_names: tuple[str, ...] | None = None
    index_base: int | None = None

    def __post_init__(self) -> None:
        m, k = len(self.support), len(self.classes)
        problems = 1 if k == 2 else (k if self.multi_class == "ovr" else k * (k - 1) // 2)
        if k < 2 or self.coefficients.shape != (m, problems):
            raise ValueError(
                f"coefficients of shape {self.coefficients.shape} do not fit {m} support vectors "
                f"and {k} classes"
            )
        if len(self.certificates) not in (0, problems):
            raise ValueError(
                f"{len(self.certificates)} certificates do not fit {problems} problems"
            )

    @property
    def coding(self) -> Coding:
        return coding_of(len(self.classes), self.multi_class)

    def decision_function(self, X, threads: int | None = None) -> np.ndarray:
        """(n,) for two classes, else (n, k): the largest is the class decided."""
        return self.coding.scores(self.problems(X, threads))

    def problems(self, X, threads: int | None = None) -> np.ndarray:
        """``f_p(x)`` for every row and problem, by tiles on the support vectors."""
        if X.ndim != 2 or X.shape[1] != self.n_features:
            what = "training rows" if self.kernel == "precomputed" else "features"
            raise ValueError(
                f"X has shape {X.shape}, but the model was trained on {self.n_features} {what}"
            )
        if len(self.support) == 0:
            return np.zeros((X.shape[0], self.coefficients.shape[1]))
        if isinstance(self.kernel, str):
            return np.asarray(X[:, self.support] @ self.coefficients)
        if not isinstance(self.kernel, Kernel):
            f = np.zeros((X.shape[0], self.coefficients.shape[1]))
            for begin, end in kernels.tiles(X.shape[0]):
                values = np.asarray(self.kernel(X[begin:end], self.vectors))
                f[begin:end] = values @ self.coefficients
            return f
        work = X.shape[0] * len(self.support)
        pool = _core.Pool(useful_threads(threads, work))
        dense = not sp.issparse(X) and not sp.issparse(self.vectors)
        centre = kernels.centre_of(self.vectors) if dense and self.kernel.of_distance else None
        points = Points(self.vectors, centre)
        return kernels.expand(X, points, self.kernel, self.coefficients, pool)


def combined(certificates) -> KernelCertificate:
    """All problems as one: objectives add up, and the least good status stands."""
    statuses = [c.status for c in certificates]
    missed = [s for s in statuses if s is not Status.OPTIMAL]
    status = next((s for s in missed if s is not Status.RULE_MET), [Status.OPTIMAL, *missed][-1])
    return KernelCertificate(
        sum(c.primal for c in certificates),
        sum(c.dual for c in certificates),
        status,
        sum(c.n_iter for c in certificates),
        max(c.seconds for c in certificates),
        clipped_gap=sum(c.clipped_gap for c in certificates),
        scale=sum(c.scale for c in certificates),
        tol=certificates[0].tol,
    )


# ---------------------------------------------------------------- the file


def _pack(model: KernelModel) -> tuple[Tensors, dict]:
    if callable(model.kernel) and not isinstance(model.kernel, Kernel):
        raise ValueError(
            f"cannot save a model whose kernel is the Python function {model.kernel!r}: files hold "
            f"no code; use a kernel by name or 'precomputed'"
        )
    tensors: Tensors = {
        "coefficients": np.asarray(model.coefficients, dtype=np.float64),
        "support": np.asarray(model.support, dtype=np.int64),
    }
    if model.vectors is not None:
        tensors |= pack_vectors(model.vectors)
    kernel = model.kernel
    content = {
        "kernel": {"name": kernel} if isinstance(kernel, str) else pack_kernel(kernel),
        "classes": pack_classes(model.classes),
        "n_features": int(model.n_features),
        "multi_class": model.multi_class,
        "certificates": [certificate.as_dict() for certificate in model.certificates],
        "solver": model.solver,
        "parameters": {name: _pack_value(value) for name, value in model.parameters.items()},
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "index_base": model.index_base,
    }
    return tensors, content


def pack_vectors(vectors: Any) -> Tensors:
    """Rows of numbers, dense or as CSR."""
    if not sp.issparse(vectors):
        return {"vectors": np.asarray(vectors)}
    rows = vectors.tocsr()
    return {
        "vectors.data": rows.data,
        "vectors.indices": rows.indices.astype(np.int64),
        "vectors.starts": rows.indptr.astype(np.int64),
    }


def pack_kernel(kernel: Kernel) -> dict:
    return {
        "name": kernel.name,
        "gamma": float(kernel.gamma),
        "degree": int(kernel.degree),
        "coef0": float(kernel.coef0),
    }


def _unpack(tensors: Tensors, content: dict) -> KernelModel:
    coefficients = _checked(tensors, "coefficients", 2, (np.float64,))
    support = _checked(tensors, "support", 1, (np.int64,))
    n_features, multi_class = columns_of(content), content.get("multi_class")
    if multi_class not in ("ovr", "ovo"):
        raise ValueError(f"its coding is {multi_class!r}, not ovr or ovo")
    if len(support) != len(coefficients) or np.any(support < 0):
        raise ValueError("its support vectors and coefficients do not match")
    kernel = _unpack_kernel(content.get("kernel"))
    vectors = _unpack_vectors(tensors, kernel, len(support), n_features)
    if kernel == "precomputed" and np.any(support >= n_features):
        raise ValueError("its support vectors lie outside the training rows")
    certificates, parameters = content.get("certificates"), content.get("parameters")
    names, base, solver = (content.get(k) for k in ("feature_names", "index_base", "solver"))
    if not isinstance(certificates, list) or not isinstance(parameters, dict):
        raise ValueError("its certificates or parameters are missing")
    if names is not None and not (
        isinstance(names, list)
        and len(names) == n_features
        and all(isinstance(name, str) for name in names)
    ):
        raise ValueError("its feature names are not one string a feature")
    if base not in (None, 0, 1) or isinstance(base, bool) or not isinstance(solver, str):
        raise ValueError(f"its index base {base!r} or its solver {solver!r} cannot be right")
    return KernelModel(
        kernel,
        vectors,
        coefficients,
        support,
        unpack_classes(content.get("classes")),
        n_features,
        multi_class,
        tuple(_unpack_certificate(packed) for packed in certificates),
        solver,
        {name: _unpack_value(name, value) for name, value in parameters.items()},
        None if names is None else tuple(names),
        base,
    )


def is_finite(value: Any) -> bool:
    """Whether a value from a file is a number that float64 holds."""
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:
        return False


def columns_of(content: dict) -> int:
    """The number of features, if a matrix can have as many columns."""
    n_features = content.get("n_features")
    if type(n_features) is not int or not 1 <= n_features < 2**62:
        raise ValueError(f"its number of features is {n_features!r}, not a positive whole number")
    return n_features


def _checked(tensors: Tensors, name: str, ndim: int, dtypes: tuple) -> np.ndarray:
    tensor = tensors.get(name)
    if tensor is None or tensor.ndim != ndim or tensor.dtype not in dtypes:
        found = "missing" if tensor is None else f"{tensor.dtype} of shape {tensor.shape}"
        raise ValueError(f"its {name} is {found}, not {ndim}-d {np.dtype(dtypes[0])}")
    if tensor.dtype.kind == "f" and not np.isfinite(tensor).all():
        raise ValueError(f"its {name} holds NaN or infinity")
    return tensor


def _unpack_kernel(packed: object) -> Kernel | str:
    if not isinstance(packed, dict):
        raise ValueError("its kernel is missing")
    if packed.get("name") == "precomputed":
        return "precomputed"
    gamma: Any = packed.get("gamma")
    coef0: Any = packed.get("coef0")
    degree = packed.get("degree")
    if not (is_finite(gamma) and is_finite(coef0)):
        raise ValueError(f"its kernel has gamma {gamma!r} and coef0 {coef0!r}, not two numbers")
    if type(degree) is not int or not 0 <= degree < 2**31:
        raise ValueError(f"its kernel has the degree {degree!r}, not a whole number")
    return Kernel(str(packed.get("name")), float(gamma), degree, float(coef0))


def _unpack_vectors(tensors: Tensors, kernel, m: int, d: int):
    floats = (np.float64, np.float32)
    if kernel == "precomputed":
        return None
    if "vectors" in tensors:
        vectors = _checked(tensors, "vectors", 2, floats)
        if vectors.shape != (m, d):
            raise ValueError(f"its vectors have shape {vectors.shape}, not {(m, d)}")
        return vectors
    data = _checked(tensors, "vectors.data", 1, floats)
    indices = _checked(tensors, "vectors.indices", 1, (np.int64,))
    starts = _checked(tensors, "vectors.starts", 1, (np.int64,))
    whole = len(starts) == m + 1 and len(data) == len(indices)
    if not (
        whole
        and starts[0] == 0
        and starts[-1] == len(data)
        and np.all(np.diff(starts) >= 0)
        and np.all((indices >= 0) & (indices < d))
    ):
        raise ValueError("its sparse vectors contradict themselves")
    return sp.csr_matrix((data, indices, starts), shape=(m, d))


def _unpack_certificate(packed: object) -> KernelCertificate:
    try:
        values = {
            name: float(packed[name])  # type: ignore[index]
            for name in ("primal", "dual", "seconds", "clipped_gap", "scale")
        }
        status, n_iter = Status(packed["status"]), int(packed["n_iter"])  # type: ignore[index]
        tol = unpack_tol(packed.get("tol"))  # type: ignore[attr-defined]
    except (TypeError, KeyError, ValueError, OverflowError) as error:
        raise ValueError(f"its certificate is damaged ({error!r})") from error
    if not np.isfinite(list(values.values())).all():
        raise ValueError("its certificate holds NaN or infinity")
    return KernelCertificate(status=status, n_iter=n_iter, tol=tol, **values)


register_kind(Kind("kernel", KernelModel, _pack, _unpack))

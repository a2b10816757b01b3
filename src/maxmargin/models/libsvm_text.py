"""Kernel models in LIBSVM's text format, for its svm-predict (svm_type c_svc)."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.atomic_files import write_atomically
from maxmargin.models.kernel import KernelModel
from maxmargin.solvers.kernel.coding import OneVsOne
from maxmargin.solvers.kernel.gram import Kernel


def write(model: KernelModel, path: str | os.PathLike[str]) -> None:
    """Writes a model that svm-predict reads.

    LIBSVM knows two classes or one-vs-one, integer labels, and the kernels rbf, poly and linear.
    """
    if not isinstance(model, KernelModel):
        raise ValueError(
            f"a {type(model).__name__} cannot be written as LIBSVM text, which here holds kernel "
            "models: save it as .safetensors"
        )
    if model.calibration is not None:
        raise ValueError(
            "LIBSVM's format holds no calibration of this kind: save as .safetensors, or fit "
            "without probability"
        )
    kernel = _kernel_lines(model)
    labels = _labels(model)
    groups, rows = _vectors(model)
    pairs = len(labels) * (len(labels) - 1) // 2
    rho = np.zeros(pairs) if model.offsets is None else -model.offsets
    with write_atomically(path) as file:
        out = io.TextIOWrapper(file, encoding="ascii", newline="\n")
        out.write(f"svm_type c_svc\n{kernel}")
        out.write(f"nr_class {len(labels)}\ntotal_sv {sum(len(g) for g in groups)}\n")
        out.write(f"rho {' '.join(f'{value:.17g}' for value in rho + 0.0)}\n")
        out.write(f"label {' '.join(map(str, labels))}\n")
        out.write(f"nr_sv {' '.join(str(len(g)) for g in groups)}\nSV\n")
        for line in _vector_lines(model.vectors, groups, rows):
            out.write(line)
        out.flush()
        out.detach()


def _kernel_lines(model: KernelModel) -> str:
    kernel = model.kernel
    if not isinstance(kernel, Kernel) or kernel.name == "laplacian":
        name = kernel.name if isinstance(kernel, Kernel) else kernel
        raise ValueError(
            f"LIBSVM has no kernel {name!r}; its format holds rbf, poly and linear kernels"
        )
    if kernel.name == "rbf":
        return f"kernel_type rbf\ngamma {kernel.gamma!r}\n"
    if kernel.name == "linear":
        return "kernel_type linear\n"
    return (
        f"kernel_type polynomial\ndegree {kernel.degree}\n"
        f"gamma {kernel.gamma!r}\ncoef0 {kernel.coef0!r}\n"
    )


def _labels(model: KernelModel) -> list[int]:
    """Class labels in LIBSVM's order: a positive prediction means the first of a pair."""
    if len(model.classes) > 2 and model.multi_class == "ovr":
        raise ValueError(
            "LIBSVM's format holds one-vs-one models only; this one is one-vs-rest: "
            "fit with multi_class='ovo'"
        )
    try:
        labels = [int(label) for label in model.classes]
        whole = all(label == value for label, value in zip(labels, model.classes))
    except (TypeError, ValueError):
        whole = False
    if not whole:
        raise ValueError(f"LIBSVM's labels are integers; got the classes {list(model.classes)}")
    return labels[::-1] if len(labels) == 2 else labels


def _vectors(model: KernelModel) -> tuple[list[np.ndarray], np.ndarray]:
    """Support vectors grouped by class, and LIBSVM's k - 1 coefficients of each."""
    beta = model.coefficients
    if len(model.classes) == 2:
        positive = beta[:, 0] > 0
        return [np.flatnonzero(positive), np.flatnonzero(~positive)], beta
    coding = OneVsOne(len(model.classes))
    k = coding.n_classes
    class_of = np.full(beta.shape[0], -1)
    rows = np.zeros((beta.shape[0], k - 1))
    for p, (a, b) in enumerate(coding.pairs):
        first, second = beta[:, p] > 0, beta[:, p] < 0
        class_of[first], class_of[second] = a, b
        rows[first, b - 1] = beta[first, p]
        rows[second, a] = beta[second, p]
    return [np.flatnonzero(class_of == c) for c in range(k)], rows


def _vector_lines(vectors: Any, groups: list[np.ndarray], rows: np.ndarray) -> Iterator[str]:
    for group in groups:
        for j in group:
            coefficients = " ".join(repr(float(v)) for v in rows[j])
            features = " ".join(f"{i + 1}:{v!r}" for i, v in _entries(vectors, j))
            yield f"{coefficients} {features}\n"


def _entries(vectors: Any, j: int) -> Iterator[tuple[int, float]]:
    if sp.issparse(vectors):
        row = vectors[j].tocoo()
        order = np.argsort(row.col)
        pairs = zip(row.col[order], row.data[order])
    else:
        columns = np.flatnonzero(vectors[j])
        pairs = zip(columns, vectors[j][columns])
    for i, v in pairs:
        yield int(i), float(v)

"""Kernel models of LIBSVM, read from its text format.

    svm_type c_svc                  classification by pairs of classes
    kernel_type rbf                 with gamma, degree and coef0 where the kernel has them
    nr_class, total_sv, rho, label, nr_sv
    SV
    0.5 ... 1:0.2 3:1               k - 1 coefficients, then the entries of the support vector

A pair (i, j) of classes, in the order of `label`, predicts i where ``sum_s c_s k(z_s, x) - rho`` is
positive. Vectors of class i have their coefficient for the pair with j at place j - 1, those of
class j at place i.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.models.kernel import KernelModel
from maxmargin.solvers.kernel.coding import OneVsOne
from maxmargin.solvers.kernel.gram import Kernel

KERNEL_NAMES = {"rbf": "rbf", "linear": "linear", "polynomial": "poly"}
MOST_COLUMNS = 2**31


def looks_like(start: bytes) -> bool:
    """Whether a file beginning so is a LIBSVM model."""
    return start.startswith(b"svm_type ")


def read(path: str | os.PathLike[str]) -> KernelModel:
    """Reads a classifier; ValueError naming the file where it is not one."""
    with open(path, encoding="ascii", errors="replace") as file:
        try:
            header = _header(file)
            return _model(header, *_vectors(file, header))
        except (ValueError, KeyError, IndexError, OverflowError) as error:
            told = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else error
            raise ValueError(f"{os.fspath(path)} is no LIBSVM classifier: {told}") from error


def _header(file: Any) -> dict[str, list[str]]:
    header: dict[str, list[str]] = {}
    for line in file:
        words = line.split()
        if words == ["SV"]:
            return header
        if not words or words[0] in header:
            raise ValueError(f"unexpected line {line.strip()[:60]!r} before SV")
        header[words[0]] = words[1:]
    raise ValueError("it ends before SV")


def _vectors(file: Any, header: dict[str, Any]) -> tuple[np.ndarray, sp.csr_matrix]:
    """Coefficients (total_sv, k - 1) and the vectors."""
    k, total = int(header["nr_class"][0]), int(header["total_sv"][0])
    coefficients: list[list[float]] = []
    starts, indices, values = [0], [], []
    for line in file:
        words = line.split()
        if not words:
            continue
        coefficients.append([float(word) for word in words[: k - 1]])
        before = 0
        for word in words[k - 1 :]:
            index, _, value = word.partition(":")
            if not before < int(index) < MOST_COLUMNS:
                raise ValueError(f"entry {word[:40]!r}: features must be numbered from 1 and grow")
            before = int(index)
            indices.append(before - 1)
            values.append(float(value))
        starts.append(len(indices))
    if len(coefficients) != total:
        raise ValueError(f"it has {len(coefficients)} support vectors, not total_sv = {total}")
    d = max(indices, default=0) + 1
    beta = np.array(coefficients, dtype=np.float64).reshape(total, k - 1)
    data = np.array(values, dtype=np.float64)
    if not (np.isfinite(beta).all() and np.isfinite(data).all()):
        raise ValueError("it holds NaN or infinity")
    places, ends = np.array(indices, dtype=np.int64), np.array(starts, dtype=np.int64)
    return beta, sp.csr_matrix((data, places, ends), shape=(total, d))


def _model(header: dict[str, Any], beta: np.ndarray, vectors: sp.csr_matrix) -> KernelModel:
    if header["svm_type"] != ["c_svc"]:
        raise ValueError(f"its svm_type is {' '.join(header['svm_type'])}, expected c_svc")
    labels = np.array([int(word) for word in header["label"]], dtype=np.int64)
    k = len(labels)
    sizes = [int(word) for word in header["nr_sv"]]
    rho = np.array([float(word) for word in header["rho"]])
    if k < 2 or len(np.unique(labels)) != k or int(header["nr_class"][0]) != k:
        raise ValueError(f"its labels {labels.tolist()} are not nr_class different numbers")
    if len(sizes) != k or min(sizes) < 0 or sum(sizes) != len(beta):
        raise ValueError("its nr_sv do not add up to total_sv")
    if len(rho) != k * (k - 1) // 2 or not np.isfinite(rho).all():
        raise ValueError(f"it has {len(rho)} offsets rho for {k} classes")
    coefficients, offsets = _by_pairs(labels, sizes, rho, beta)
    wide = vectors.shape[1] > 4 * max(vectors.nnz // max(vectors.shape[0], 1), 1)
    return KernelModel(
        _kernel(header),
        vectors if wide else vectors.toarray(),
        coefficients,
        np.arange(len(beta)),
        np.sort(labels),
        vectors.shape[1],
        multi_class="ovo",
        offsets=offsets if offsets.any() else None,
        solver="LIBSVM",
        index_base=1,
    )


def _kernel(header: dict[str, Any]) -> Kernel:
    name = " ".join(header["kernel_type"])
    if name not in KERNEL_NAMES:
        raise ValueError(f"its kernel_type is {name}, expected {', '.join(KERNEL_NAMES)}")
    gamma = float(header.get("gamma", ["1"])[0])
    coef0 = float(header.get("coef0", ["0"])[0])
    if not (math.isfinite(gamma) and math.isfinite(coef0)):
        raise ValueError("its gamma or coef0 is not finite")
    return Kernel(KERNEL_NAMES[name], gamma, int(header.get("degree", ["3"])[0]), coef0)


def _by_pairs(
    labels: np.ndarray, sizes: list[int], rho: np.ndarray, beta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and offsets of our problems: positive for the first class of a sorted pair, with
    two classes for the second."""
    k = len(labels)
    first = np.concatenate([[0], np.cumsum(sizes)])
    rank = np.argsort(np.argsort(labels))
    ours = {pair: p for p, pair in enumerate(OneVsOne(k).pairs)}
    coefficients = np.zeros((len(beta), len(ours)))
    offsets = np.zeros(len(ours))
    for p, (i, j) in enumerate(OneVsOne(k).pairs):  # in the order of the file
        a, b = int(rank[i]), int(rank[j])
        sign = 1.0 if a < b else -1.0
        sign = -sign if k == 2 else sign
        at = ours[min(a, b), max(a, b)]
        of_i, of_j = slice(first[i], first[i + 1]), slice(first[j], first[j + 1])
        coefficients[of_i, at] = sign * beta[of_i, j - 1]
        coefficients[of_j, at] = sign * beta[of_j, i]
        offsets[at] = -sign * rho[p]
    return coefficients, offsets

"""Arrays put together by hand: whatever they say, a fit is right or refuses with a ValueError.

Loops of scipy and of the core trust row starts and columns, so a false one ends the process. The
fits run in a process of their own for that reason.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import (
    KernelSVC,
    KernelSVCCV,
    LinearSVC,
    LinearSVCCV,
    MeasureSVC,
    OrdinalSVC,
    RankSVM,
    SparseKernelSVC,
    StreamSVC,
)
from maxmargin.data import ArrayRows, ArraySource

ESTIMATORS = {
    "LinearSVC": lambda: LinearSVC(),
    "LinearSVCCV": lambda: LinearSVCCV(Cs=[0.1, 1.0], cv=2),
    "KernelSVC": lambda: KernelSVC(),
    "KernelSVCCV": lambda: KernelSVCCV(Cs=[1.0], gammas=[0.5], cv=2),
    "SparseKernelSVC": lambda: SparseKernelSVC(n_basis=3),
    "RankSVM": lambda: RankSVM(),
    "OrdinalSVC": lambda: OrdinalSVC(),
    "MeasureSVC": lambda: MeasureSVC(),
    "StreamSVC": lambda: StreamSVC(),
}

FITS_ON_FALSE_MATRICES = """
    import numpy as np, scipy.sparse as sp
    from test_unsafe_arrays import ESTIMATORS

    def false_matrices():
        def csr(indices, starts, kind=sp.csr_matrix):
            X = kind((6, 4))
            X.data, X.indices = np.ones(6), np.array(indices, np.int32)
            X.indptr = np.array(starts, np.int32)
            return X
        order = [1, 0, 1, 0, 1, 0]  # rows out of order: scipy would be asked to sort them
        yield "starts far outside", csr(order, [0, 2, 10**9, 10**9, 10**9, 10**9, 10**9])
        yield "starts decrease", csr(order, [0, 2, 10**8, 2, 4, 5, 6])
        yield "starts negative", csr(order, [0, 2, -(10**8), 2, 4, 5, 6])
        yield "columns far outside", csr([1, 0, 10**9, 0, 1, 0], [0, 2, 3, 4, 5, 5, 6])
        yield "columns negative", csr([1, 0, -(10**9), 0, 1, 0], [0, 2, 3, 4, 5, 5, 6])
        yield "too few starts", csr(order, [0, 2, 6])
        yield "csc", csr([10**9] * 6, [0, 2, 3, 4, 6], sp.csc_matrix)
        X = sp.coo_matrix((6, 4))
        X.data, X.coords = np.ones(6), (np.full(6, 10**9), np.arange(6) % 4)
        yield "coo", X

    y = np.array([0, 1, 0, 1, 0, 1])
    for name, make in ESTIMATORS.items():
        if name not in __NAMES__:
            continue
        for fault, X in false_matrices():
            print(name, fault, end=": ", flush=True)
            try:
                make().fit(X, y)
                print("believed")
            except ValueError as error:
                print("refused")
        fitted = make().fit(np.eye(6, 4) + 1.0, y)
        for fault, X in false_matrices():
            print(name, fault, "at prediction", end=": ", flush=True)
            try:
                getattr(fitted, "decision_function", fitted.predict)(X)
                print("believed")
            except ValueError:
                print("refused")
"""


@pytest.mark.parametrize("names", [list(ESTIMATORS)[:4], list(ESTIMATORS)[4:]], ids=str)
def test_false_sparse_matrices_are_refused_by_every_estimator(names):
    program = textwrap.dedent(FITS_ON_FALSE_MATRICES).replace("__NAMES__", repr(names))
    here = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=here)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (lines[-1:], done.stderr[-2000:])
    assert len(lines) == 2 * 8 * len(names)
    assert [line for line in lines if not line.endswith(": refused")] == []


def test_rows_are_put_in_order_only_once_all_of_them_are_known_to_be_safe():
    X = sp.csr_matrix((3, 4))
    X.data, X.indices = np.ones(4), np.array([1, 0, 0, 7], np.int32)
    X.indptr = np.array([0, 2, 3, 4], np.int32)
    with pytest.raises(ValueError, match=r"row 2 .* column 7"):
        ArrayRows(X)
    with pytest.raises(ValueError, match=r"row 2 .* column 7"):
        ArraySource(X)


def misaligned(values) -> np.ndarray:
    values = np.asarray(values)
    bytes_ = np.zeros(values.nbytes + 1, np.uint8)
    moved = bytes_[1:].view(values.dtype).reshape(values.shape)
    moved[...] = values
    assert not moved.flags.aligned
    return moved


def read_only(values) -> np.ndarray:
    values = np.array(values)
    values.flags.writeable = False
    return values


LAYOUTS = {
    "misaligned": misaligned,
    "big-endian": lambda values: np.asarray(values).astype(values.dtype.newbyteorder(">")),
    "reversed": lambda values: np.ascontiguousarray(values[::-1])[::-1],
    "read-only": read_only,
}


def moved_csr(move, X: sp.csr_matrix) -> sp.csr_matrix:
    moved = sp.csr_matrix(X.shape, dtype=X.dtype)
    moved.data, moved.indices, moved.indptr = map(move, (X.data, X.indices, X.indptr))
    return moved


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_how_arrays_lie_in_memory_changes_no_answer(kind, name, layout):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3)) * (rng.random((12, 3)) < 0.7)
    y = np.arange(12) % 2
    move = LAYOUTS[layout]
    moved = move(X) if kind == "dense" else moved_csr(move, sp.csr_matrix(X))
    plain = X if kind == "dense" else sp.csr_matrix(X)
    given = {} if name in ("OrdinalSVC", "RankSVM") else {"sample_weight": np.linspace(1, 2, 12)}
    moved_given = {key: move(values) for key, values in given.items()}
    ours = ESTIMATORS[name]().fit(moved, move(y), **moved_given)
    theirs = ESTIMATORS[name]().fit(plain, y, **given)
    assert np.array_equal(ours.predict(moved), theirs.predict(plain))


@pytest.mark.parametrize("solver", ["ocas", "newton"])
@pytest.mark.parametrize("from_disk", [False, True])
def test_float32_of_another_order_of_bytes_is_float32(solver, from_disk):
    """It became float64, and a feature map computed other numbers from it."""
    X, y, kinds = np.array([[0.7], [0.3], [0.5]], np.float32), np.array([0, 1, 1]), set()

    def squares(rows):
        kinds.add(rows.dtype)
        return np.hstack([rows, rows * rows])

    moved = X.astype(X.dtype.newbyteorder(">"))
    given = ArraySource(moved, y) if from_disk else moved
    model = LinearSVC(solver=solver, features=squares)
    model.fit(*([given] if from_disk else [given, y])).predict(moved)
    assert kinds == {np.dtype(np.float32)}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("X", [np.float64(1.0), np.array(1.0), np.zeros(3), np.zeros((2, 2, 2))])
def test_what_has_no_rows_and_columns_is_refused(name, X):
    with pytest.raises(ValueError):
        ESTIMATORS[name]().fit(X, np.array([0, 1, 0])[: np.shape(X)[0] if np.ndim(X) else 1])

"""The data sets, one file each. To add one: write the file, add its `DATA` to `SETS`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.datasets import a9a, covtype, ijcnn1, imdb, mnist, news20, synthetic
from benchmarks.datasets.base import DataSet
from benchmarks.datasets.drawn import DRAWN, HELD_OUT
from benchmarks.datasets.small import SMALL

REAL = [a9a.DATA, ijcnn1.DATA, covtype.DATA, imdb.DATA, mnist.DATA, news20.DATA]
MADE_UP = [synthetic.DENSE, synthetic.SPARSE]
SETS: dict[str, DataSet] = {
    data.name: data for data in (*REAL, *MADE_UP, *SMALL, *DRAWN, *HELD_OUT)
}


def default_names(folder: Path | None) -> list[str]:
    """The real sets that are there, or the made-up ones if none is."""
    return [data.name for data in REAL if data.present(folder)] or [data.name for data in MADE_UP]


def load(
    name: str, folder: Path | None, cache: Path, rows: int | None = None, float32: bool = False
) -> tuple[sp.csr_matrix, np.ndarray]:
    """CSR rows with int32 indices, and y in {-1, +1}. Text is read once, then kept as .npz.

    `rows` keeps that many rows, drawn with a fixed seed.
    """
    if name not in SETS:
        raise SystemExit(f"no data set {name!r}; there are: {', '.join(SETS)}")
    data = SETS[name]
    if not data.present(folder):
        raise SystemExit(
            f"data set {name!r} needs {', '.join(data.files)} (plain, .xz, .bz2 or .gz) in "
            f"{folder or 'a folder given by --data or MAXMARGIN_DATA'}"
        )
    X, y = cached(data, folder, cache)
    if rows is not None and rows < X.shape[0]:
        kept = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:rows])
        X, y = X[kept], y[kept]
    X = X.astype(np.float32 if float32 else np.float64)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    X.sort_indices()
    return X, y


def cached(data: DataSet, folder: Path | None, cache: Path) -> tuple[sp.csr_matrix, np.ndarray]:
    path = cache / f"{data.name}.npz"
    if path.is_file():
        with np.load(path) as kept:
            parts = (kept["data"], kept["indices"], kept["indptr"])
            return sp.csr_matrix(parts, tuple(kept["shape"])), kept["y"]
    X, y = data.build(folder)
    X.sort_indices()
    cache.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)
    partial.rename(path)
    return X, y


__all__ = ["DRAWN", "HELD_OUT", "REAL", "SETS", "SMALL", "DataSet", "default_names", "load"]

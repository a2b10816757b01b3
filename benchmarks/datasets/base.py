"""Reading public data files, compressed or not."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

OPENERS: dict[str, Callable[..., Any]] = {
    "": open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
    ".gz": gzip.open,
}


@dataclass(frozen=True)
class DataSet:
    """A binary problem. `build` reads the `files` of a folder (or makes the data up: no files)."""

    name: str
    files: tuple[str, ...]
    build: Callable[[Path | None], tuple[sp.csr_matrix, np.ndarray]]
    about: str

    def present(self, folder: Path | None) -> bool:
        return not self.files or (
            folder is not None and all(locate(folder, name) is not None for name in self.files)
        )


def locate(folder: Path, name: str) -> Path | None:
    """The file `name` in the folder, plain or compressed; None if it is not there."""
    for suffix in OPENERS:
        path = folder / (name + suffix)
        if path.is_file():
            return path
    return None


def open_file(folder: Path | None, name: str):
    path = locate(folder, name) if folder is not None else None
    if path is None:
        raise FileNotFoundError(f"no {name} (plain, .xz, .bz2 or .gz) in {folder}")
    return OPENERS[path.suffix if path.suffix in OPENERS else ""](path, "rb")


def read_svmlight(folder: Path | None, name: str) -> tuple[sp.csr_matrix, np.ndarray]:
    """Rows and raw labels, by scikit-learn: no code of ours lies between the file and the peers."""
    from sklearn.datasets import load_svmlight_file

    with open_file(folder, name) as file:
        X, y = load_svmlight_file(file, dtype=np.float64)
    return X, y


def read_idx(folder: Path | None, name: str) -> np.ndarray:
    """An idx-ubyte array (MNIST)."""
    with open_file(folder, name) as file:
        raw = file.read()
    dimensions = raw[3]
    shape = tuple(np.frombuffer(raw, ">i4", dimensions, 4))
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def binary(y: np.ndarray) -> np.ndarray:
    """-1 and +1 for the smaller and the larger of two labels."""
    labels = np.unique(y)
    if len(labels) != 2:
        raise ValueError(f"expected two labels; found {len(labels)}")
    return np.where(y == labels[1], 1.0, -1.0)


def svmlight(name: str, about: str) -> DataSet:
    def build(folder: Path | None) -> tuple[sp.csr_matrix, np.ndarray]:
        X, y = read_svmlight(folder, f"{name}.svm")
        return X, binary(y)

    return DataSet(name, (f"{name}.svm",), build, about)

"""Twenty newsgroups, word counts as they are: class 1 against the rest. LIBSVM page, `news20`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.datasets.base import DataSet, read_svmlight

POSITIVE = 1


def build(folder: Path | None) -> tuple[sp.csr_matrix, np.ndarray]:
    X, y = read_svmlight(folder, "news20.svm")
    return X, np.where(y == POSITIVE, 1.0, -1.0)


DATA = DataSet("news20", ("news20.svm",), build, "15935 x 62061, word counts, 5 % positive")

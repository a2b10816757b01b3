"""A problem as plain data: what an estimator is given, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import scipy.sparse as sp


def spread(X: np.ndarray) -> np.ndarray:
    """Every other row and column of something larger."""
    n, d = X.shape
    wider = np.ones((2 * n, 2 * d), dtype=X.dtype)
    wider[::2, ::2] = X
    return wider[::2, ::2]


def read_only(X: np.ndarray) -> np.ndarray:
    X = np.array(X)
    X.flags.writeable = False
    return X


def with_long_indices(X: np.ndarray) -> sp.csr_matrix:
    matrix = sp.csr_matrix(X)
    matrix.indices, matrix.indptr = (v.astype(np.int64) for v in (matrix.indices, matrix.indptr))
    return matrix


def out_of_order(X: np.ndarray) -> sp.csr_matrix:
    """Entries of each row from last to first, the zeros among them too."""
    n, d = X.shape
    indices = np.tile(np.arange(d)[::-1], n)
    return sp.csr_matrix((X[:, ::-1].ravel(), indices, np.arange(n + 1) * d), shape=(n, d))


LAYOUTS = {
    "C": lambda X: np.array(X, order="C"),
    "F": lambda X: np.array(X, order="F"),
    "csr": sp.csr_matrix,
    "strided": spread,
    "reversed": lambda X: np.array(X[::-1, ::-1])[::-1, ::-1],
    "swapped": lambda X: X.astype(X.dtype.newbyteorder()),
    "read-only": read_only,
    "csc": sp.csc_matrix,
    "csr64": with_long_indices,
    "unsorted": out_of_order,
}


@dataclass(frozen=True)
class Problem:
    """Rows, labels and options for one kind of estimator.

    `layout` says how X is handed over: as one of `LAYOUTS`, or in a file of a format. `options` are
    the estimator's parameters, and some of our own: `stop_after` (the callback ends the fit at its
    k-th call), `warm_from` (a first fit with this C, which the second starts from) and `warm_rows`
    (on rows times this number), `again` (a second fit on other threads gives the same), and
    `as_large` (what only large problems see happens to this one: `thresholds`).
    """

    kind: str
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None
    qid: np.ndarray | None = None
    layout: str = "C"
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def rows(self) -> Any:
        """X as the estimator gets it, where it is no file."""
        if self.layout in LAYOUTS:
            return LAYOUTS[self.layout](self.X)
        return np.array(self.X)

    @property
    def is_timed(self) -> bool:
        """Whether a clock is meant to end the fit, so that no two runs are alike."""
        return self.options.get("max_time", 1.0) < 1.0

    def only(self, rows: np.ndarray) -> Problem:
        """The same problem of fewer rows."""
        pick = [None if v is None else v[rows] for v in (self.y, self.weight, self.qid)]
        return Problem(self.kind, self.X[rows], *pick, self.layout, self.options)

    def as_test(self, name: str, faults: list[str]) -> str:
        """A pytest test that fails as long as the fault is there."""
        lines = [
            "import numpy as np",
            "",
            "from tests.refute.judge import judge",
            "from tests.refute.problem import Problem",
            "",
            "",
            f"def test_{name.replace('-', '_')}():",
            *(f"    # {fault}" for fault in faults),
            "    problem = Problem(",
        ]
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray):
                lines.append(
                    f"        {f.name}=np.array({value.tolist()}, dtype={value.dtype.str!r}),"
                )
            elif value is not None:
                lines.append(f"        {f.name}={value!r},")
        return "\n".join([*lines, "    )", "    assert judge(problem).faults == []", ""])

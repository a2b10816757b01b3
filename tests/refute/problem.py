"""A problem as plain data: what an estimator is given, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Problem:
    """Rows, labels and options for one kind of estimator.

    `layout` says how X is handed over: "C", "F", "csr", or the format of a file. `options` are the
    estimator's parameters, and some of our own: `stop_after` (the callback ends the fit at its k-th
    call), `warm_from` (a first fit with this C, which the second starts from) and `as_large` (what
    only large problems see happens to this one: `thresholds`).
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
        if self.layout == "csr":
            return sp.csr_matrix(self.X)
        return np.array(self.X, order="F" if self.layout == "F" else "C")

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

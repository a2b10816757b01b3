"""Every loss on every kind of rows: the objective that dense rows in memory have, or a reason.

``python -m tests.contract.every_loss`` writes the table into the page of the documentation.
"""

from __future__ import annotations

import inspect
import pathlib
import tempfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

import maxmargin
import maxmargin.distributed
from maxmargin import data
from tests.contract.machines import Rows, classes, grades, queries, values, write_svmlight

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "losses.md"
BEGIN, END = "<!-- every loss: begin -->", "<!-- every loss: end -->"
TOL, AGREEMENT = 1e-5, 3e-5
WORKS = "yes"


@dataclass(frozen=True)
class OfLoss:
    """A loss: the estimator that minimises it, and the rows it needs."""

    estimator: str
    rows: Any
    parameters: dict[str, Any] = field(default_factory=dict)


def _classes() -> Rows:
    return classes((-1, 1))


LOSSES = {
    **{
        name: OfLoss("LinearSVC", _classes, {"loss": name})
        for name in ("hinge", "squared_hinge", "logistic")
    },
    **{
        name: OfLoss("LinearSVR", values, {"loss": name})
        for name in (
            *("epsilon_insensitive", "squared_epsilon_insensitive", "huber", "squared"),
            *("quantile", "expectile"),
        )
    },
    "pairs of a query in order": OfLoss("RankSVM", queries),
    "labels in order": OfLoss("OrdinalSVC", grades),
    **{
        name: OfLoss("MeasureSVC", _classes, {"measure": name, **more})
        for name, more in {
            "f1": {},
            "fbeta": {"beta": 2.0},
            "prbep": {},
            "precision_at_k": {"k": 20},
            "recall_at_k": {"k": 0.3},
            "roc_auc": {},
            "error": {},
        }.items()
    },
}
IN_A_SPAN = {
    "LinearSVC": "SparseKernelSVC",
    "LinearSVR": "SparseKernelSVR",
    "RankSVM": "SparseKernelRankSVM",
    "OrdinalSVC": "SparseKernelOrdinalSVC",
    "MeasureSVC": "SparseKernelSVC",
}
KINDS = ("CSR", "file", "row store", "features", "subspace", "Dask", "Dask, features")


class Refused(Exception):
    """A combination that there is not, and why."""


def made(loss: OfLoss, module: Any = maxmargin, **more: Any) -> Any:
    if not hasattr(module, loss.estimator):
        raise Refused(f"no `{module.__name__}.{loss.estimator}`")
    return getattr(module, loss.estimator)(C=0.3, tol=TOL, **{**loss.parameters, **more})


def objective(estimator: Any) -> float:
    assert estimator.certificate_.status == "optimal"
    return estimator.certificate_.primal


def on_dense(loss: OfLoss, intercept: bool = True) -> float:
    given, more = loss.rows(), {}
    estimator = getattr(maxmargin, loss.estimator)
    if not intercept and "fit_intercept" in inspect.signature(estimator).parameters:
        more = {"fit_intercept": False}
    return objective(made(loss, **more).fit(given.X, given.y, **given.more))


def on_rows(kind: str, loss: OfLoss, client: Any) -> float:
    """The objective on rows of a kind; `Refused` where there is none."""
    given = loss.rows()
    if kind == "CSR":
        return objective(made(loss).fit(sp.csr_matrix(given.X), given.y, **given.more))
    if kind == "features":  # a place of its own for every column: only names and signs change
        model = made(loss, features="hashing:16").fit(given.X, given.y, **given.more)
        assert model.coef_.shape[-1] == 2**16
        return objective(model)
    if kind == "subspace":
        return objective(spanning(loss, given))
    if kind == "Dask":
        return objective(on_cluster(loss, given, client))
    if kind == "Dask, features":
        return objective(on_cluster(loss, given, client, features="hashing:16"))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.svm"
        write_svmlight(path, given)
        if kind == "row store":
            data.write_store(data.open_source(path), path.with_suffix(".arrow"))
            path = path.with_suffix(".arrow")
        return objective(made(loss).fit(path))


def spanning(loss: OfLoss, given: Rows) -> Any:
    """A machine on basis vectors that span all that a linear kernel can do."""
    parameters = dict(loss.parameters)
    if "measure" in parameters:
        parameters["loss"] = parameters.pop("measure")
    make = getattr(maxmargin, IN_A_SPAN[loss.estimator])
    return make(
        given.X.shape[1], C=0.3, kernel="linear", basis="cholesky", tol=TOL, **parameters
    ).fit(given.X, given.y, **given.more)


def on_cluster(loss: OfLoss, given: Rows, client: Any, **parameters: Any) -> Any:
    import dask.array as da

    def cut(values: np.ndarray) -> Any:
        return da.from_array(values, chunks=(30, *values.shape[1:]))

    more = {name: cut(values) for name, values in given.more.items()}
    model = made(loss, maxmargin.distributed, client=client, **parameters)
    return model.fit(cut(given.X), cut(given.y), **more)


def answers(name: str, client: Any) -> dict[str, str]:
    """For each kind of rows: works, or why it is refused; AssertionError where it differs."""
    loss = LOSSES[name]
    told = {}
    for kind in KINDS:
        expected = on_dense(loss, intercept=kind != "subspace")
        try:
            found = on_rows(kind, loss, client)
        except Refused as reason:
            told[kind] = f"no: {reason}"
            continue
        assert abs(found - expected) <= AGREEMENT * expected, (name, kind, found, expected)
        told[kind] = WORKS
    return told


def line_of(name: str, told: dict[str, str]) -> str:
    """A line of the table."""
    title = f"`{name}`" if " " not in name else name
    by = f"`{LOSSES[name].estimator}`"
    return " | ".join([f"| {title}", by, WORKS, *(told[kind] for kind in KINDS)]) + " |"


def head() -> list[str]:
    columns = ["loss", "by", "dense", *KINDS]
    return ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]


def on_page() -> list[str]:
    """The table as the documentation has it."""
    text = PAGE.read_text()
    return text[text.index(BEGIN) + len(BEGIN) : text.index(END)].strip().splitlines()


def write() -> None:
    import distributed

    with distributed.Client(processes=False, n_workers=1, dashboard_address=None) as client:
        lines = [*head(), *(line_of(name, answers(name, client)) for name in LOSSES)]
    text = PAGE.read_text()
    before, after = text[: text.index(BEGIN)], text[text.index(END) :]
    PAGE.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + after)


if __name__ == "__main__":
    write()

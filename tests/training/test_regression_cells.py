"""Kernel regressions in cells: the regressions of their rows, saved, tuned, and from disk."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import KernelSVR, KernelSVRCV, load
from maxmargin.data.stream.array_source import ArraySource
from maxmargin.models import RegressionCellModel, load_model
from maxmargin.solvers.kernel.cells import cut

RANDOM = np.random.default_rng(0)
X = RANDOM.random((900, 3))
Y = np.sin(8 * X[:, 0]) + X[:, 1] + 0.2 * RANDOM.normal(size=900)
WEIGHT = RANDOM.integers(0, 3, 900).astype(float)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared", "quantile", "expectile"])
def test_each_cell_is_the_regression_of_its_rows(loss):
    options = {"C": 5.0, "gamma": 4.0, "loss": loss, "quantile": 0.3}
    model = KernelSVR(cells=250, **options).fit(X, Y, WEIGHT)
    _, cells = cut(X, 250)
    assert model.n_cells_ == len(cells) > 2 and model.certificate_.status == "optimal"
    assert model.certificate_.primal == sum(c.primal for c in model.certificates_)
    for number, rows in enumerate(cells):
        here = rows[WEIGHT[rows] > 0]
        alone = KernelSVR(**options).fit(X[here], Y[here], WEIGHT[here])
        assert model.certificates_[number].primal == pytest.approx(alone.certificate_.primal, 1e-9)
        assert np.allclose(model.predict(X[rows]), alone.predict(X[rows]), atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_several_quantiles_are_sorted_saved_and_the_same_from_disk(tmp_path, form):
    options = {"C": 5.0, "gamma": 4.0, "loss": "quantile", "quantile": [0.1, 0.5, 0.9]}
    rows = form(X)
    model = KernelSVR(cells=250, non_crossing=True, **options).fit(rows, Y)
    found = model.predict(rows)
    assert found.shape == (900, 3) and np.all(np.diff(found, axis=1) >= 0)
    assert np.mean((found[:, :1] <= Y[:, None]) & (Y[:, None] <= found[:, 2:])) > 0.7
    model.save(tmp_path / "model")
    assert isinstance(load_model(tmp_path / "model"), RegressionCellModel)
    assert np.array_equal(load(tmp_path / "model").predict(rows), found)
    source = ArraySource(rows, Y, block_bytes=4000)
    there = KernelSVR(cells=250, non_crossing=True, **options).fit(source)
    assert np.array_equal(there.predict(rows), found)


def test_tuned_cells():
    model = KernelSVRCV(cells=400, cv=3, loss="squared").fit(X, Y)
    assert len(model.C_) == len(model.gamma_) == model.n_cells_ > 1
    assert -0.2 < model.best_score_ < 0 and model.score(X, Y) > 0.8


def test_a_cell_that_weighs_nothing_is_zero():
    weight = (X[:, 0] < 0.4).astype(float)
    model = KernelSVR(C=5.0, gamma=4.0, cells=60).fit(X, Y, weight)
    empty = [c for c in model.model_.cells if c.vectors.shape[0] == 0]
    assert empty and model.certificate_.status == "optimal"
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cells": 0}, "cells must be"),
        ({"cells": 100, "offset": 1.0}, "cells have no offset: leave out cells=100, or offset=1"),
        ({"cells": 100, "kernel": "precomputed"}, "cells must be None"),
    ],
)
def test_what_cells_refuse(options, message):
    rows = np.eye(900) if options.get("kernel") == "precomputed" else X
    with pytest.raises(ValueError, match=message):
        KernelSVR(**options).fit(rows, Y)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("cells.sizes", lambda t: t + 1, "contradict"),
        ("cells.parameters", lambda t: -t, "not positive"),
        ("cells.coefficients", lambda t: t[:, :0], "number of functions"),
        ("tree.children", lambda t: t * 0, "not a tree"),
    ],
)
def test_damaged_files_are_refused(name, change, message):
    model = KernelSVR(C=5.0, gamma=2.0, cells=300).fit(X, Y).to_model()
    tensors, content = model.pack()
    tensors[name] = np.ascontiguousarray(change(tensors[name]))
    with pytest.raises(ValueError, match=message):
        RegressionCellModel.unpack(tensors, content)

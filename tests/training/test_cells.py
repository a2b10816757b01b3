"""Kernel machines in cells: cuts, machines, files, and what happens at their edges."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning

from maxmargin import KernelSVC, KernelSVCCV, KernelSVR, _core, load
from maxmargin.models import CellModel, load_model, save
from maxmargin.models.files import load as load_file
from maxmargin.parameters import Options
from maxmargin.solvers.kernel.cells import LEAST_SHARE, cut
from maxmargin.training.each_cell import CellProgress, train_each
from maxmargin.training.kernel import KernelPlan

MOONS = make_moons(600, noise=0.25, random_state=0)
THREE = make_classification(600, 6, n_informative=4, n_classes=3, random_state=1)


# ---------------------------------------------------------------- cuts


@pytest.mark.parametrize("sparse", [False, True])
def test_cells_are_bounded_on_both_sides_and_rows_fall_where_they_trained(sparse):
    X = np.random.default_rng(0).normal(size=(3000, 4)) ** 3
    rows = sp.csr_matrix(X) if sparse else X
    tree, cells = cut(rows, 200)
    sizes = [len(cell) for cell in cells]
    assert max(sizes) <= 200 and min(sizes) >= int(LEAST_SHARE * 200)
    assert sorted(np.concatenate(cells)) == list(range(3000))
    found = tree.route(rows)
    for number, cell in enumerate(cells):
        assert np.all(found[cell] == number)
    assert np.array_equal(tree.route(rows[5:6]), found[5:6])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_row_falls_into_a_cell_by_rounding(dtype):
    """Thresholds were those of rows, and of float32 rows in float32: saved and read again, or given
    other forms of the same rows, a machine sent these rows elsewhere."""
    X = np.random.default_rng(0).normal(size=(300, 3)).astype(dtype)
    for rows in (X, sp.csr_matrix(X)):
        tree, _ = cut(rows, 7)
        assert tree.directions.dtype == np.float64
        places = [tree.route(form) for form in (X, np.asfortranarray(X), sp.csr_matrix(X))]
        assert all(np.array_equal(places[0], other) for other in places[1:])


def test_equal_rows_and_equal_centres_end_cutting():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0]], [500, 3], axis=0)
    tree, cells = cut(X, 50)
    assert sorted(map(len, cells)) == [3, 500]
    assert np.array_equal(np.unique(tree.route(X)), [0, 1])
    tree, cells = cut(np.ones((300, 2)), 50)
    assert tree.n_cells == 1 and len(cells[0]) == 300


def test_a_row_far_from_all_cells_has_one():
    tree, _ = cut(MOONS[0], 100)
    far = tree.route(np.array([[1e12, -1e12], [0.0, 1e300]]))
    assert np.all((far >= 0) & (far < tree.n_cells))


def test_overlap_borrows_the_nearest_rows_and_leaves_routes_alone():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    plain, cells = cut(X, 700)
    overlapping, larger = cut(X, 700, overlap=0.2)
    assert np.array_equal(plain.route(X), overlapping.route(X))
    for few, many in zip(cells, larger):
        assert set(few) < set(many) and len(many) == len(few) + int(0.2 * len(few))


# ---------------------------------------------------------------- machines


def test_each_cell_is_the_machine_of_its_rows():
    X, y = MOONS
    model = KernelSVC(C=5.0, gamma=2.0, cells=200).fit(X, y)
    tree, cells = cut(X, 200)
    assert model.n_cells_ == len(cells) > 2
    scores = model.decision_function(X)
    for number, rows in enumerate(cells):
        alone = KernelSVC(C=5.0, gamma=2.0).fit(X[rows], y[rows])
        here = tree.route(X) == number
        assert np.allclose(scores[here], alone.decision_function(X[here]), atol=1e-9)
        assert model.certificates_[number].primal == alone.certificate_.primal


def test_the_certificate_of_the_whole_is_the_sum_over_cells():
    X, y = MOONS
    model = KernelSVC(C=5.0, gamma=2.0, cells=200).fit(X, y)
    assert model.certificate_.primal == sum(c.primal for c in model.certificates_)
    assert model.certificate_.dual == sum(c.dual for c in model.certificates_)
    assert model.certificate_.status == "optimal"
    primal = 0.0
    cell_of = model.model_.tree.route(X)
    for number, cell in enumerate(model.model_.cells):
        here = cell_of == number
        f = model.decision_function(X[here])
        D = ((cell.vectors[:, None] - cell.vectors[None]) ** 2).sum(axis=2)
        beta = cell.coefficients[:, 0]
        signs = np.where(y[here] == 1, 1.0, -1.0)
        primal += 0.5 * beta @ np.exp(-2.0 * D) @ beta
        primal += 5.0 * np.maximum(0, 1 - signs * f).sum()
    assert primal == pytest.approx(model.certificate_.primal, rel=1e-9)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_tuned_cells_learn_several_classes_and_survive_a_file(tmp_path, multi_class):
    X, y = THREE
    model = KernelSVCCV(cells=250, cv=3, multi_class=multi_class).fit(X, y)
    assert model.score(X, y) > 0.8 and 0.6 < model.best_score_ <= 1.0
    assert len(model.C_) == len(model.gamma_) == model.n_cells_
    path = tmp_path / "cells.safetensors"
    model.save(path)
    again = load(path)
    assert isinstance(load_model(path), CellModel)
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert again.certificate_.primal == model.certificate_.primal


def test_threads_and_batches_change_nothing():
    X, y = THREE
    one = KernelSVCCV(cells=250, cv=3, n_jobs=1).fit(X, y)
    two = KernelSVCCV(cells=250, cv=3, n_jobs=2).fit(X, y)
    assert np.array_equal(one.decision_function(X), two.decision_function(X))
    one_by_one = np.vstack([two.decision_function(X[i : i + 1]) for i in range(20)])
    assert np.allclose(one_by_one, two.decision_function(X[:20]), atol=1e-10)


def test_a_cell_of_one_class_is_a_constant():
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(-5, 0.3, (100, 2)), random.normal(5, 1.0, (100, 2))])
    y = np.repeat(["far", "left"], 100)
    y[100:] = np.where(X[100:, 0] > 5, "left", "right")
    model = KernelSVC(cells=100, gamma=1.0).fit(X, y)
    constant = model.model_.constant_cells
    assert len(constant) == 1 and model.model_.cells[constant[0]].coefficients.size == 0
    assert list(model.predict([[-5.0, -5.0], [-5e6, 0.0]])) == ["far", "far"]
    assert model.score(X, y) > 0.95
    two = KernelSVC(cells=100, gamma=1.0).fit(X, np.repeat([0, 1], 100))
    assert two.model_.constant_cells == [0, 1]
    assert np.array_equal(np.unique(two.decision_function(X)), [-1.0, 1.0])


def test_sparse_rows_and_weights_in_cells():
    X, y = THREE
    dense = KernelSVC(cells=250, gamma=0.1).fit(X, y, sample_weight=np.where(y == 0, 2.0, 1.0))
    rows = sp.csr_matrix(X)
    sparse = KernelSVC(cells=250, gamma=0.1).fit(rows, y, np.where(y == 0, 2.0, 1.0))
    by_class = KernelSVC(cells=250, gamma=0.1, class_weight={0: 2.0}).fit(X, y)
    assert sparse.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=1e-3)
    assert by_class.certificate_.primal == dense.certificate_.primal


def test_progress_counts_cells_and_a_callback_ends_the_fit():
    seen = []
    model = KernelSVCCV(
        cells=100, cv=3, callback=lambda p: seen.append(p) or len(seen) == 2, n_jobs=1
    )
    with pytest.warns(UserWarning):
        model.fit(*MOONS)
    assert all(isinstance(p, CellProgress) for p in seen)
    assert [p.done for p in seen[:2]] == [1, 2] and seen[0].total == model.n_cells_
    assert model.certificate_.status == "callback"
    assert np.isfinite(model.decision_function(MOONS[0])).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("machine", [KernelSVC(gamma=0.1), KernelSVR(gamma=0.1)])
def test_cells_that_a_callback_was_not_told_of_have_not_begun(machine, n_jobs):
    """They had what they had when the stop came, which was another model every time."""
    model = clone(machine).set_params(cells=50, n_jobs=n_jobs, callback=lambda p: p.done == 3)
    with pytest.warns(ConvergenceWarning, match="the callback asked to stop"):
        model.fit(MOONS[0], np.random.default_rng(0).integers(0, 2, 600))
    ends = [certificate.status for certificate in model.certificates_]
    begun = [bool(np.any(cell.coefficients)) for cell in model.model_.cells]
    assert ends == ["optimal"] * 3 + ["callback"] * (model.n_cells_ - 3)
    assert begun == [True] * 3 + [False] * (model.n_cells_ - 3)


def test_a_cell_that_fails_ends_the_fit_at_once():
    def train_one(k, plan, stop):
        if k == 1:
            raise MemoryError("no memory for cell 1")
        while not stop.poll():
            time.sleep(0.001)
        return SimpleNamespace(cell=SimpleNamespace(is_constant=False))

    with pytest.raises(MemoryError, match="cell 1"):
        train_each(train_one, [1] * 4, KernelPlan(options=Options(threads=2)), _core.Stop())


@pytest.mark.parametrize("machine", [KernelSVC(gamma=0.1), KernelSVR(gamma=0.1)])
def test_cells_whose_time_is_over_were_not_interrupted(machine):
    """ "interrupted: the best model so far is saved" was said, and nobody had."""
    model = clone(machine).set_params(cells=100, max_time=1e-6, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model.fit(*MOONS)
    assert model.certificate_.status == "max_time"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cells": 0}, "cells must be a positive whole number"),
        ({"cells": 2.5}, "cells must be"),
        ({"cells": 100, "kernel": "precomputed"}, "cells must be None where the kernel"),
        ({"cells": 100, "cell_overlap": 0.5}, "cell_overlap must be"),
        ({"cells": 500, "memory": 1000}, "memory"),
    ],
)
def test_what_cells_refuse(options, message):
    X = np.eye(600) if options.get("kernel") == "precomputed" else MOONS[0]
    with pytest.raises(ValueError, match=message):
        KernelSVC(**options).fit(X, MOONS[1])


def test_a_splitter_is_refused_with_cells():
    with pytest.raises(ValueError, match="cv must be a whole number"):
        KernelSVCCV(cells=100, cv=[(np.arange(10), np.arange(10, 20))]).fit(*MOONS)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("tree.children", lambda t: t * 0, "not a tree"),
        ("tree.directions", lambda t: t[:, :1], "number of features"),
        ("cells.sizes", lambda t: t + 1, "contradict"),
        ("cells.parameters", lambda t: -t, "not positive"),
        ("cells.classes", lambda t: t + 7, "classes that the model does not have"),
    ],
)
def test_damaged_files_are_refused(tmp_path, name, change, message):
    model = KernelSVC(C=5.0, gamma=2.0, cells=200).fit(*MOONS).to_model()
    tensors, content = model.pack()
    tensors[name] = np.ascontiguousarray(change(tensors[name]))
    with pytest.raises(ValueError, match=message):
        CellModel.unpack(tensors, content)
    path = tmp_path / "good.safetensors"
    save(model, path)
    assert load_file(path).n_cells_ == len(model.cells)

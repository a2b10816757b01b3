"""Cells of rows that stay on disk: the same cells, and memory of a few of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

from maxmargin import KernelSVC, KernelSVCCV, data
from maxmargin.data.stream.array_source import ArraySource
from maxmargin.models.cells import check_tree
from maxmargin.solvers.kernel.cells import cut, graft
from maxmargin.training.cell_rows import LEAST_CELLS, Cutting, cut_rows

X, Y = make_classification(3000, 6, n_informative=4, n_classes=3, random_state=2)


@pytest.fixture
def svm_file(tmp_path):
    path = tmp_path / "rows.svm"
    data.save(data.Dataset(X, Y), path)
    return path


def test_a_grafted_tree_routes_as_its_parts_do():
    coarse, parts = cut(X, 1500)
    fine = [cut(X[rows], 200)[0] for rows in parts]
    whole = graft(coarse, fine)
    check_tree(np.column_stack([whole.left, whole.right]))
    found, part = whole.route(X), coarse.route(X)
    first = np.cumsum([0, *(tree.n_cells for tree in fine)])
    for number, tree in enumerate(fine):
        here = part == number
        assert np.array_equal(found[here], first[number] + tree.route(X[here]))
    alone = graft(cut(X, 3000)[0], [cut(X, 200)[0]])
    assert np.array_equal(alone.route(X), cut(X, 200)[0].route(X))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, lambda X: X.astype(np.float32)])
def test_little_memory_sorts_rows_into_parts_and_keeps_all_of_them(form):
    rows = form(X)
    source = ArraySource(rows, block_bytes=4000)
    with cut_rows(source, Cutting(100, memory=1000)) as found:
        assert found.tree.n_cells >= len(X) // 100
        assert sorted(np.concatenate(found.members)) == list(range(len(X)))
        cell_of = found.tree.route(rows)
        for k, members in enumerate(found.members):
            assert len(members) <= 100 and np.all(cell_of[members] == k)
            kept = found.rows_of(k)
            assert kept.dtype == rows.dtype and sp.issparse(kept) == sp.issparse(rows)
            same = kept != rows[members]
            assert (same.nnz if sp.issparse(kept) else same.sum()) == 0
        assert min(map(len, found.members)) * LEAST_CELLS > 100 / LEAST_CELLS


@pytest.mark.parametrize("overlap", [0.0, 0.2])
def test_enough_memory_cuts_as_in_memory(overlap):
    here = KernelSVC(C=2.0, gamma=0.2, cells=400, cell_overlap=overlap).fit(X, Y)
    there = KernelSVC(C=2.0, gamma=0.2, cells=400, cell_overlap=overlap).fit(ArraySource(X, Y))
    assert np.array_equal(here.decision_function(X), there.decision_function(X))
    assert here.certificate_.primal == there.certificate_.primal


def test_little_memory_gives_machines_as_good(svm_file):
    here = KernelSVCCV(cells=300, cv=3).fit(X, Y)
    there = KernelSVCCV(cells=300, cv=3, memory="3MB").fit(svm_file)
    assert there.n_cells_ > 1 and there.certificate_.status == "optimal"
    assert there.score(svm_file) > here.score(X, Y) - 0.03


def test_nothing_is_left_behind(svm_file, tmp_path, monkeypatch):
    place = tmp_path / "aside"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    seen = []
    KernelSVC(cells=500, callback=lambda p: seen.append(len(list(place.iterdir()))) and None).fit(
        svm_file
    )
    assert set(seen) == {1} and not list(place.iterdir())


def test_a_file_that_changes_while_it_is_cut_is_refused(svm_file, monkeypatch):
    source = data.open_source(svm_file)

    def changed():
        raise data.DataError("rows.svm: changed")

    monkeypatch.setattr(source, "check_unchanged", changed)
    with pytest.raises(data.DataError, match="changed"):
        KernelSVC(cells=500).fit(source)


def test_strings_are_refused():
    with pytest.raises(ValueError, match="rows are strings"):
        KernelSVC(cells=10).fit(ArraySource(["ab", "cd"], np.array([0, 1])))

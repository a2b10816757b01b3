"""Reports of several labels a row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import f1_score, hamming_loss, precision_score, roc_auc_score

from maxmargin import LinearSVC, load
from tests.report.test_pages import check_page


@pytest.fixture(scope="module")
def fitted():
    """A machine, rows, and labels of which the last is rare; some rows have none."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 6))
    Y = (X @ rng.normal(size=(6, 3)) + rng.normal(size=(300, 3)) > [0.3, 0.8, 2.5]).astype(int)
    return LinearSVC(loss="logistic").fit(X[:200], Y[:200]), X[200:], Y[200:]


def test_figures_are_those_of_scikit_learn(fitted):
    machine, X, Y = fitted
    made = machine.report(X, Y)
    check_page(made.html())
    section, predicted = made.sections["labels"], machine.predict(X)
    assert f"{100 * machine.score(X, Y):.2f} % of the rows get exactly" in section.text[0]
    assert f"{100 * hamming_loss(Y, predicted):.2f} % are wrong" in section.text[0]
    assert f"a row has {Y.sum(axis=1).mean():.4g} of the 3 labels" in section.text[1]
    table = {row[0]: row[1:] for row in section.tables[0].rows}
    for j in range(3):
        assert table[str(j)][0] == f"{precision_score(Y[:, j], predicted[:, j]):.4f}"
        assert table[str(j)][2] == f"{f1_score(Y[:, j], predicted[:, j]):.4f}"
        area = roc_auc_score(Y[:, j], machine.decision_function(X)[:, j])
        assert table[str(j)][3] == f"{area:.4f}"
    assert table["all decisions"][2] == f"{f1_score(Y, predicted, average='micro'):.4f}"


def test_decisions_add_up_and_the_worst_label_comes_first(fitted):
    machine, X, Y = fitted
    section = machine.report(X, Y).sections["labels"]
    rows = [[float(n) for n in row[1:]] for row in section.charts[0].table.rows]
    assert [sum(row) for row in rows] == [100.0] * 3
    f1 = [2 * hit / (2 * hit + missed + wrong) for hit, missed, wrong, _ in rows]
    assert f1 == sorted(f1)
    shares = [float(row[1].rstrip(" %")) for row in section.charts[1].table.rows]
    assert shares[0] == 100 * np.mean(Y.sum(axis=1) == 0)
    assert sum(shares) == pytest.approx(100, abs=0.02)


def test_a_weight_of_two_equals_the_row_twice(fitted):
    machine, X, Y = fitted
    weight = 1 + np.arange(100) % 2
    weighted = machine.report(X, Y, sample_weight=weight).sections
    twice = machine.report(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0)).sections
    assert weighted["labels"].text == twice["labels"].text
    assert weighted["labels"].tables == twice["labels"].tables
    assert weighted["curves"].charts[0].alt == twice["curves"].charts[0].alt


def test_labels_may_be_sparse_or_named(fitted):
    pandas = pytest.importorskip("pandas")
    machine, X, Y = fitted
    made = machine.report(X, Y)
    assert machine.report(X, sparse.csr_matrix(Y)).html() == made.html()
    named = machine.report(X, pandas.DataFrame(Y, columns=["cat", "dog", "emu"]))
    assert {row[0] for row in named.sections["data"].tables[1].rows} == {
        *("cat", "dog", "emu", "no label")
    }
    assert "label cat" in named.html() and "against the rest" not in named.html()


def test_a_loaded_machine_reports_and_shows_every_label(fitted, tmp_path):
    machine, X, Y = fitted
    machine.save(tmp_path / "labels.model")
    again = load(tmp_path / "labels.model")
    told = [one.report(X, Y).sections["labels"].tables for one in (again, machine)]
    assert told[0] == told[1]
    assert "answer to 3 problems" in again.report().html()
    assert again._repr_html_().count('<th scope="row">label ') == 3


def test_a_label_that_no_row_has_or_every_row_has_leaves_a_whole_page():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = np.column_stack([X[:, 0] > 0, np.zeros(60), np.ones(60)]).astype(int)
    check_page(LinearSVC().fit(X, Y).report(X, Y).html())
    check_page(LinearSVC().fit(X, Y[:, 0]).report(X, Y[:, :1]).html())

"""Numbers behind the charts, beside scikit-learn's."""

import numpy as np
import pytest
from sklearn import metrics

from maxmargin.report import curves, drawings
from maxmargin.report.charts import Axis, ticks_of


@pytest.fixture
def scored():
    rng = np.random.default_rng(0)
    score = np.round(rng.normal(size=300), 1)  # with ties
    positive = score + rng.normal(size=300) > 0.5
    return positive, score, rng.integers(1, 4, size=300).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
def test_curves_agree_with_scikit_learn(scored, weighted):
    positive, score, weight = scored
    weight = weight if weighted else None
    found = curves.curve(positive, score, weight)
    assert found.roc_area == pytest.approx(
        metrics.roc_auc_score(positive, score, sample_weight=weight)
    )
    average = metrics.average_precision_score(positive, score, sample_weight=weight)
    assert found.average_precision == pytest.approx(average)
    at = found.at(0.0)
    predicted = score > 0
    assert found.recall[at] == pytest.approx(
        metrics.recall_score(positive, predicted, sample_weight=weight)
    )
    assert found.precision[at] == pytest.approx(
        metrics.precision_score(positive, predicted, sample_weight=weight)
    )


def test_one_class_has_no_curve(scored):
    assert curves.curve(np.ones(300, dtype=bool), scored[1]) is None


def test_confusion_agrees_with_scikit_learn(scored):
    positive, score, weight = scored
    labels, counts = curves.confusion(positive, score > 0, weight)
    assert labels.tolist() == [False, True]
    np.testing.assert_allclose(
        counts, metrics.confusion_matrix(positive, score > 0, sample_weight=weight)
    )


def test_ndcg_of_queries_agrees_with_our_metric():
    from maxmargin.metrics import ndcg

    rng = np.random.default_rng(1)
    grades, score = rng.integers(0, 4, 200), np.round(rng.normal(size=200), 1)
    qid = rng.integers(0, 15, 200)
    values = curves.ndcg_of_queries(grades, score, qid, 10)[1]
    assert values.mean() == pytest.approx(ndcg(grades, score, qid=qid, k=10, no_relevant=None))


def test_reliability_counts_every_row(scored):
    positive, score, weight = scored
    means, share, weights = curves.reliability(positive, score, weight)
    assert weights.sum() == weight.sum()
    assert share @ weights == pytest.approx(weight @ positive)
    assert np.all(np.diff(means) >= 0)


def test_shares_count_what_lies_beyond_the_edges():
    values = np.concatenate([np.zeros(2000), [1e9]])
    edges = curves.histogram_edges(values)
    assert curves.shares(values, edges).sum() == pytest.approx(1)


@pytest.mark.parametrize("low, high", [(0, 1), (-3e-9, 5e-9), (1e6, 1.1e6), (-2, 7.3)])
def test_ticks_are_round_and_inside(low, high):
    ticks = ticks_of(Axis("x"), low, high)
    assert 3 <= len(ticks) <= 7
    assert all(low - 1e-9 * abs(low) <= at <= high + 1e-9 * abs(high) for at, _ in ticks)


def test_every_picture_is_a_figure_that_shows_itself(scored):
    pytest.importorskip("matplotlib")
    positive, score, weight = scored
    figures = [
        drawings.roc_curve(positive, score),
        drawings.precision_recall_curve(positive, score, sample_weight=weight),
        drawings.score_histogram(positive, score),
        drawings.calibration_curve(positive, score),
        drawings.confusion_matrix(positive, score > 0),
        drawings.top_weights([1.0, -2.0, 0.0], ["a", "$b$", "c"]),
        drawings.regularisation_path([0.1, 1, 10], np.full((3, 2), 0.2)),
        drawings.ndcg_by_query(positive.astype(int), score, np.arange(300) // 30),
        drawings.residuals(score, score + 1),
        drawings.quantile_coverage(score, np.stack([score - 1, score + 1], axis=1), [0.1, 0.9]),
    ]
    for figure in figures:
        assert figure._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: drawings.roc_curve([1, 1], [0.0, 1.0]), "expected two"),
        (lambda: drawings.roc_curve([0, 1], [0.0]), "do not fit"),
        (lambda: drawings.roc_curve([1, 1], [0.0, 1.0], positive=1), "needs both"),
        (lambda: drawings.top_weights([1.0], ["a", "b"]), "do not fit"),
        (lambda: drawings.quantile_coverage([1.0], [1.0], [0.1, 0.9]), "do not fit"),
        (lambda: drawings.ndcg_by_query([0, 0], [1.0, 2.0]), "no query"),
        (lambda: drawings.regularisation_path([1.0], np.zeros((2, 2))), "do not fit"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()

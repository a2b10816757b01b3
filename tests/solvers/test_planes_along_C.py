"""Planes of one C begin another: fewer iterations, and a bound that holds."""

import numpy as np
import pytest

from maxmargin.models.ranking import RankModel
from maxmargin.parameters import Options
from maxmargin.training.fit import LinearPlan
from maxmargin.training.scores import Measure, train_measure, train_ranking


def rows(n=400, d=6):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=d) + rng.normal(size=n)).round()


def ranked(X, y, C, starts=None, tol=1e-5, keeps=True):
    plan = LinearPlan(C=C, loss="ranks", bias=0.0, solver="ocas", options=Options(tol=tol))
    plan = LinearPlan(**{**vars(plan), "keeps_planes": keeps})
    return train_ranking(X, y, plan, np.arange(len(y)) // 20, None, starts)


@pytest.mark.parametrize("tol", [1e-3, 1e-6])  # planes in float32, and in float64
def test_planes_of_a_neighbour_save_iterations_and_bound_the_same_optimum(tol):
    X, y = rows()
    best = ranked(X, y, 0.4, tol=1e-8).model.certificate
    first = ranked(X, y, 0.1, tol=tol)
    assert first.starts[0].planes
    warm, cold = (ranked(X, y, 0.4, starts, tol=tol) for starts in (first.starts, None))
    certificate = warm.model.certificate
    assert isinstance(warm.model, RankModel)
    assert certificate.status == "optimal"
    assert certificate.dual <= best.primal <= certificate.primal * (1 + 1e-12)
    assert certificate.n_iter < cold.model.certificate.n_iter


def test_planes_are_scaled_with_the_loss():
    X, y = rows(120)
    start = ranked(X, y, 0.1).starts[0]
    for (a, b, error), (a4, b4, error4) in zip(start.planes, start.at(0.4).planes, strict=True):
        np.testing.assert_allclose(a4, 4 * a)
        assert b4 == pytest.approx(4 * b)
        assert error4 == pytest.approx(4 * error)
    assert start.at(0.4).at(0.1).C == 0.1


def test_planes_are_kept_only_where_another_C_follows_and_they_are_few():
    X, y = rows(120)
    assert not ranked(X, y, 0.1, keeps=False).starts[0].planes
    wide = np.random.default_rng(0).normal(size=(30, 200))
    plan = LinearPlan(C=1.0, loss="measures", solver="ocas", keeps_planes=True)
    assert not train_measure(wide, y[:30] > 0, plan, Measure("f1")).starts[0].planes
